//! Whether the characters are text that PDFium took for codes which a font names no character for.

use std::collections::BTreeMap;

/// Codes that were taken for characters, counted by what they would be.
///
/// A font may lack the names though its codes are those of characters. Numbers of glyphs, taken for
/// characters, are control characters, letters without vowels, or letters of many scripts.
#[derive(Default)]
pub struct Guesses {
    all: usize,
    control: usize,
    words: usize,
    ascii: usize,
    vowels: usize,
    letters: usize,
    // Letters beyond ASCII by their block of 256 characters; those of Chinese are one block.
    blocks: BTreeMap<u32, usize>,
}

// Percent of the characters. English has 38 vowels among 100 letters; letters that are each moved
// by 29, as most numbers of glyphs are, 15.
const MOST_CONTROL: usize = 6;
const LEAST_WORDS: usize = 60;
const LEAST_VOWELS: usize = 25;
const LEAST_BLOCK: usize = 70;
const CHINESE: u32 = 0x4e;
const LATIN_1: u32 = 0;

impl Guesses {
    /// Counts a character that is no white space.
    pub fn add(&mut self, character: char) {
        self.all += 1;
        self.control += usize::from(character.is_control());
        self.words += usize::from(character.is_alphanumeric());
        if !character.is_alphabetic() {
            return;
        }
        self.letters += 1;
        if character.is_ascii() {
            self.ascii += 1;
            self.vowels += usize::from("aeiouyAEIOUY".contains(character));
        } else {
            let block = match character {
                // Chinese characters, and kana between them.
                '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' => CHINESE,
                _ => character as u32 >> 8,
            };
            *self.blocks.entry(block).or_default() += 1;
        }
    }

    /// Returns how many of the characters are no text: all of them or none.
    pub fn unreadable(&self) -> usize {
        if self.is_text() { 0 } else { self.all }
    }

    fn is_text(&self) -> bool {
        let share = |part: usize, whole: usize| 100 * part / whole.max(1);
        if share(self.control, self.all) > MOST_CONTROL || share(self.words, self.all) < LEAST_WORDS
        {
            return false;
        }
        if share(self.ascii, self.letters.max(1)) >= 50 {
            return share(self.vowels, self.ascii) >= LEAST_VOWELS;
        }
        self.letters == 0
            || self.blocks.iter().any(|(&block, &count)| {
                block != LATIN_1 && share(count, self.letters) >= LEAST_BLOCK
            })
    }
}

#[cfg(test)]
mod tests {
    use super::Guesses;

    fn is_text(text: &str) -> bool {
        let mut guesses = Guesses::default();
        text.chars()
            .filter(|c| !c.is_whitespace())
            .for_each(|c| guesses.add(c));
        guesses.unreadable() == 0
    }

    #[test]
    fn codes_that_are_characters_are_text() {
        assert!(is_text(
            "Invoice number 2021/17 for the repair of two wooden boats"
        ));
        assert!(is_text("Faktura VAT nr 17/2021, Krzyżanowski i Wspólnicy"));
        assert!(is_text("Счёт за ремонт двух лодок"));
        assert!(is_text(
            "吾輩は猫である。名前はまだ無い。どこで生れたか頓と見当がつかぬ。"
        ));
        assert!(is_text("12.50 1,200 77"));
    }

    #[test]
    fn numbers_of_glyphs_are_not() {
        let moved: String = "Invoice number for the repair of two wooden boats"
            .chars()
            .filter_map(|c| char::from_u32(c as u32 - 29))
            .collect();
        assert!(!is_text(&moved));
        assert!(!is_text(&moved.replace('\u{3}', " ")));
        assert!(!is_text(
            "\u{1}\u{2}\u{3}\u{4}\u{2}\u{5}\u{6}\u{7}\u{8}\u{e}"
        ));
        assert!(!is_text("!\"#$%&'()*+,-./!\"#"));
        assert!(!is_text("ñëîâî è äåëî"));
        assert!(!is_text("ѥӔԱؼܢࡁऔଷఢ෫ฒ"));
    }
}
