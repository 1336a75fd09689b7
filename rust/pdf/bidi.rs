//! Text that runs from right to left: its characters in the order in which they are read.

/// A character of a line as far as its order depends on it.
pub trait Placed {
    /// The character.
    fn character(&self) -> char;
    /// The horizontal position of its middle.
    fn middle(&self) -> f32;
    /// The horizontal positions of its edges.
    fn edges(&self) -> (f32, f32);
}

/// Returns whether a character is one of Hebrew, Arabic or another script from right to left.
pub fn is_right_to_left(character: char) -> bool {
    // Digits of these scripts run from left to right.
    character >= '\u{590}'
        && matches!(
            character,
            '\u{590}'..='\u{65f}'
                | '\u{66a}'..='\u{6ef}'
                | '\u{6fa}'..='\u{8ff}'
                | '\u{fb1d}'..='\u{fdff}'
                | '\u{fe70}'..='\u{fefc}'
                | '\u{10800}'..='\u{10fff}'
                | '\u{1e800}'..='\u{1efff}'
        )
}

/// Returns +1 for a letter from right to left, -1 for another letter, else 0.
pub fn leftward(character: char) -> i32 {
    if is_right_to_left(character) {
        1
    } else {
        -i32::from(character.is_alphabetic())
    }
}

/// Returns whether a character is a mark on a letter of Hebrew or Arabic.
pub fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{591}'..='\u{5bd}'
            | '\u{5bf}'
            | '\u{5c1}'..='\u{5c2}'
            | '\u{5c4}'..='\u{5c5}'
            | '\u{5c7}'
            | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}'
            | '\u{670}'
            | '\u{6d6}'..='\u{6dc}'
            | '\u{6df}'..='\u{6e4}'
            | '\u{6e7}'..='\u{6e8}'
            | '\u{6ea}'..='\u{6ed}'
    )
}

/// A character of a line, its number as it was drawn, and whether a space stands before it.
pub type Spaced<T> = (T, usize, bool);

/// Puts the characters of one line into the order in which they are read.
///
/// `is_spaced` tells whether a space stands between two that are beside each other. The order is
/// that of the bidirectional algorithm (Unicode Annex 9) for a line without explicit directions:
/// a line that is read `from_right`, but numbers and words in other scripts within it from the left;
/// or else one that is read from the left, but words in such scripts from the right.
pub fn read_in_order<T: Placed>(
    line: Vec<(usize, T)>,
    from_right: bool,
    is_spaced: impl Fn(&(usize, T), &(usize, T)) -> bool,
) -> Vec<Spaced<T>> {
    let mut line = line;
    sort(&mut line, from_right);
    let mut spaces = vec![false; line.len()];
    for at in 1..line.len() {
        spaces[at] = is_spaced(&line[at - 1], &line[at]);
    }
    turn_runs(&mut line, &mut spaces, from_right);
    put_marks_behind(&mut line, &mut spaces);
    turn_ligatures(&mut line);
    line.into_iter()
        .zip(spaces)
        .map(|((number, character), spaced)| (character, number, spaced))
        .collect()
}

/// Sorts characters from one side; those with one box, such as a ligature, stay as they were drawn.
fn sort<T: Placed>(line: &mut [(usize, T)], from_right: bool) {
    let sign = if from_right { -1.0 } else { 1.0 };
    line.sort_by(|(first, a), (second, b)| {
        (sign * a.middle())
            .total_cmp(&(sign * b.middle()))
            .then(first.cmp(second))
    });
}

/// Turns the runs of a sorted line that are read against its direction.
fn turn_runs<T: Placed>(line: &mut [(usize, T)], spaces: &mut [bool], from_right: bool) {
    let mut start = 0;
    while start < line.len() {
        if !is_against(line[start].1.character(), from_right) {
            start += 1;
            continue;
        }
        let end = run_end(line, spaces, start, from_right);
        sort(&mut line[start..end], !from_right);
        spaces[start + 1..end].reverse();
        if !from_right {
            turn_runs(&mut line[start..end], &mut spaces[start..end], true);
        }
        start = end;
    }
}

/// Returns whether a character is read against the direction of its line.
fn is_against(character: char, from_right: bool) -> bool {
    if from_right {
        character.is_alphanumeric() && !is_right_to_left(character)
    } else {
        is_right_to_left(character)
    }
}

/// Returns where a run against the direction ends: signs within it belong to it, but two numbers
/// with a space between them are two runs.
fn run_end<T: Placed>(
    line: &[(usize, T)],
    spaces: &[bool],
    start: usize,
    from_right: bool,
) -> usize {
    let is_letter = |at: usize| line[at].1.character().is_alphabetic();
    let mut end = start + 1;
    let mut spaced = false;
    for at in start + 1..line.len() {
        let character = line[at].1.character();
        spaced |= spaces[at];
        if is_against(character, from_right) {
            if spaced && from_right && !is_letter(at) && !is_letter(end - 1) {
                break;
            }
            end = at + 1;
            spaced = false;
        } else if leftward(character) != 0 {
            break;
        }
    }
    end
}

/// Puts a mark that stands over the next letter behind it.
fn put_marks_behind<T: Placed>(line: &mut [(usize, T)], spaces: &mut [bool]) {
    for at in 1..line.len() {
        let (mark, letter) = (&line[at - 1].1, &line[at].1);
        let (left, right) = letter.edges();
        let over = left <= mark.middle() && mark.middle() <= right;
        if is_mark(mark.character()) && !is_mark(letter.character()) && over {
            line.swap(at - 1, at);
            spaces[at] = false;
        }
    }
}

/// Puts the two letters of the ligature of lam and alef in order: PDFium turns them with the line
/// if the font names both for one glyph. The letters alef and lam themselves form no ligature.
fn turn_ligatures<T: Placed>(line: &mut [(usize, T)]) {
    for at in 1..line.len() {
        let (first, second) = (&line[at - 1].1, &line[at].1);
        let is_alef = matches!(
            first.character(),
            '\u{622}' | '\u{623}' | '\u{625}' | '\u{627}'
        );
        if is_alef && second.character() == '\u{644}' && first.edges() == second.edges() {
            line.swap(at - 1, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Placed, read_in_order};

    impl Placed for (char, f32) {
        fn character(&self) -> char {
            self.0
        }
        fn middle(&self) -> f32 {
            self.1
        }
        fn edges(&self) -> (f32, f32) {
            (self.1 - 0.5, self.1 + 0.5)
        }
    }

    /// Returns the text of a line that shows these characters from the left; spaces are gaps.
    fn read(shown: &str, from_right: bool) -> String {
        let line = shown
            .chars()
            .enumerate()
            .filter(|(_, character)| *character != ' ')
            .map(|(at, character)| (at, (character, at as f32)))
            .collect();
        let mut text = String::new();
        for ((character, _), _, spaced) in
            read_in_order(line, from_right, |(_, a), (_, b)| (a.1 - b.1).abs() > 1.5)
        {
            if spaced {
                text.push(' ');
            }
            text.push(character);
        }
        text
    }

    #[test]
    fn letters_are_read_from_the_right() {
        assert_eq!(read("רצק בתכמ", true), "מכתב קצר");
    }

    #[test]
    fn numbers_and_foreign_words_within_are_read_from_the_left() {
        assert_eq!(read("ףוס 12/05/2021 םוי", true), "יום 12/05/2021 סוף");
        assert_eq!(
            read("בושח new bridge רשג לע", true),
            "על גשר new bridge חשוב"
        );
        assert_eq!(read("ףוס 7 ,3 םילימ", true), "מילים 3, 7 סוף");
    }

    #[test]
    fn a_hebrew_phrase_in_an_english_line_is_read_from_the_right() {
        assert_eq!(
            read("the word רצק בתכמ means a short letter", false),
            "the word מכתב קצר means a short letter"
        );
    }

    #[test]
    fn lam_stands_before_the_alef_of_its_ligature() {
        let line = vec![
            (0, ('\u{627}', 5.0)),
            (1, ('\u{644}', 5.0)),
            (2, ('\u{645}', 4.0)),
        ];
        let read: String = read_in_order(line, true, |_, _| false)
            .into_iter()
            .map(|((character, _), _, _)| character)
            .collect();
        assert_eq!(read, "\u{644}\u{627}\u{645}");
    }

    #[test]
    fn a_mark_follows_its_letter() {
        let line = vec![
            (0, ('ש', 5.0)),
            (1, ('\u{5c1}', 5.2)),
            (2, ('\u{5b8}', 4.9)),
            (3, ('ל', 4.0)),
        ];
        let read: String = read_in_order(line, true, |_, _| false)
            .into_iter()
            .map(|((character, _), _, _)| character)
            .collect();
        assert_eq!(read, "ש\u{5c1}\u{5b8}ל");
    }
}
