//! Terms of the index that are spelled like a word of a query.
//!
//! The terms' file is walked by an automaton that knows the word: a prefix of which no term can be
//! near is left with all the terms below it, so that most of the file is not read.

use std::collections::HashMap;

use memchr::memmem::Finder;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Result, TERMINATED};
use tantivy_fst::Automaton;

use super::segment::Segment;
use super::term_text::TermText;

/// Terms that are shorter have too many neighbours.
const SHORTEST: usize = 4;
/// Characters from which a term may differ in two characters instead of one.
const TWO_EDITS: usize = 8;
/// A term may be a stem: a word may have an ending of so many characters besides.
const LONGEST_ENDING: usize = 6;
/// Characters of the shortest stem.
const SHORTEST_STEM: usize = 5;
/// Characters of the longest word that is looked for.
const LONGEST: usize = 63;
/// Edits that a term may have at most.
const MOST_EDITS: usize = 2;
/// Prefixes of the word that are so near to a term in length that they may be within these edits.
const BAND: usize = 2 * MOST_EDITS + 1;

/// How far a term is from a word: the nearest is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Distance {
    /// The edits between the term and the word without its ending.
    edits: usize,
    /// The characters of that ending.
    ending: usize,
}

/// Adds the terms of a segment that differ from a word by one edit, or by two if it is long, with
/// the chunks that have them, live or deleted, in any field. The ending of a word is free, since the
/// index has stems.
pub(super) fn collect(
    segment: &Segment,
    word: &[char],
    found: &mut HashMap<String, (Distance, u64)>,
) -> Result<()> {
    let limit = edits_allowed(word.len());
    if limit == 0 {
        return Ok(());
    }
    let near = Near { word, limit };
    for index in segment.terms.iter().flatten() {
        let mut stream = index.terms().search(&near).into_stream()?;
        while stream.advance() {
            let Ok(text) = std::str::from_utf8(stream.key()) else {
                continue;
            };
            if let Some(distance) = near.distance(text) {
                let entry = found.entry(text.to_owned()).or_insert((distance, 0));
                entry.1 += u64::from(stream.value().doc_freq);
            }
        }
    }
    Ok(())
}

/// Adds the terms of a segment that have a part of a word, such as a compound, with the chunks that
/// have them.
///
/// Every term is looked at: only for a word that no document has and that is spelled like none.
pub(super) fn collect_compounds(
    segment: &Segment,
    part: &str,
    found: &mut HashMap<String, u64>,
) -> Result<()> {
    let finder = Finder::new(part);
    for (index, text) in segment.terms.iter().zip(&segment.term_texts) {
        let Some(index) = index else { continue };
        let mut add = |term: &[u8], chunks: u32| {
            if let Ok(term) = std::str::from_utf8(term) {
                *found.entry(term.to_owned()).or_default() += u64::from(chunks);
            }
        };
        let text = match text.get() {
            Some(known) => known,
            None => {
                let made = TermText::of(index)?;
                text.get_or_init(|| made)
            }
        };
        if let Some(terms) = text.terms_with(&finder) {
            for term in terms {
                let info = index.terms().get(term)?;
                add(term, info.map_or(0, |info| info.doc_freq));
            }
            continue;
        }
        let mut stream = index.terms().stream()?;
        while stream.advance() {
            if finder.find(stream.key()).is_some() {
                add(stream.key(), stream.value().doc_freq);
            }
        }
    }
    Ok(())
}

/// Returns whether a segment has a term in any field.
pub(super) fn has_term(segment: &Segment, term: &str) -> Result<bool> {
    for index in segment.terms.iter().flatten() {
        if index.terms().term_ord(term.as_bytes())?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds the keys of at most `k` live chunks of a segment, and field, that have a term.
pub(super) fn collect_chunks(
    segment: &Segment,
    term: &str,
    k: usize,
    keys: &mut Vec<i64>,
) -> Result<()> {
    for index in segment.terms.iter().flatten() {
        let Some(info) = index.terms().get(term.as_bytes())? else {
            continue;
        };
        let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
        let mut left = k;
        while left > 0 && postings.doc() != TERMINATED {
            if segment.is_live(postings.doc()) {
                keys.push(segment.key(postings.doc()));
                left -= 1;
            }
            postings.advance();
        }
    }
    Ok(())
}

/// Returns how many edits a word of so many characters may have; 0 for a short one, and for one that
/// nobody types.
fn edits_allowed(chars: usize) -> usize {
    match chars {
        0..SHORTEST => 0,
        SHORTEST..TWO_EDITS => 1,
        TWO_EDITS..=LONGEST => MOST_EDITS,
        _ => 0,
    }
}

/// The terms that are near a word: from which it, or it without an ending, differs by at most `limit`
/// insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
struct Near<'a> {
    word: &'a [char],
    limit: usize,
}

/// What an automaton remembers of the characters of a term so far.
#[derive(Clone, Copy)]
struct State {
    /// The edits between them and the prefixes of the word that have `MOST_EDITS` characters less, up
    /// to `MOST_EDITS` more, and the same before the last character.
    row: [u8; BAND],
    above: [u8; BAND],
    last: char,
    chars: usize,
    /// The bits so far of a character in UTF-8, and the bytes that are missing.
    bits: u32,
    missing: u8,
}

impl Near<'_> {
    /// Returns the distance of a term from the word, if it is near.
    fn distance(&self, term: &str) -> Option<Distance> {
        let mut state = self.start();
        for c in term.chars() {
            state = self.read(&state, c);
        }
        Some(self.fewest(&state)).filter(|distance| distance.edits <= self.limit)
    }

    /// Returns the distance of the term so far from the word.
    fn fewest(&self, state: &State) -> Distance {
        let longest = if state.chars < SHORTEST_STEM {
            0
        } else {
            LONGEST_ENDING
        };
        let whole = self.word.len();
        let endings = (0..=longest.min(whole)).map(|ending| Distance {
            edits: self.edits(state, whole - ending).into(),
            ending,
        });
        endings.min().unwrap_or(Distance {
            edits: usize::MAX,
            ending: 0,
        })
    }

    /// Returns the edits between the term so far and a prefix of the word of so many characters.
    fn edits(&self, state: &State, prefix: usize) -> u8 {
        let at = (prefix + MOST_EDITS).checked_sub(state.chars);
        let edits = at.and_then(|at| state.row.get(at));
        edits.copied().unwrap_or(self.too_many())
    }

    /// More edits than are allowed: further ones make no difference.
    fn too_many(&self) -> u8 {
        self.limit as u8 + 1
    }

    /// Returns whether the next character of a term may be a swap with the last, within the limit.
    ///
    /// Only then the edits before the last character count: without this, all children of a prefix
    /// with as many edits as are allowed are read.
    fn may_swap(&self, state: &State, at: usize) -> bool {
        usize::from(state.above[at]) < self.limit
            && (state.chars + 1 + at)
                .checked_sub(MOST_EDITS + 1)
                .filter(|&letter| letter > 0)
                .is_some_and(|letter| self.word.get(letter) == Some(&state.last))
    }

    fn read(&self, state: &State, c: char) -> State {
        let chars = state.chars + 1;
        let mut next = State {
            row: [self.too_many(); BAND],
            above: state.row,
            last: c,
            chars,
            missing: 0,
            ..*state
        };
        for at in 0..BAND {
            let Some(prefix) = (chars + at).checked_sub(MOST_EDITS) else {
                continue;
            };
            if prefix > self.word.len() {
                break;
            }
            let inserted = state.row.get(at + 1).map_or(u8::MAX, |edits| edits + 1);
            let mut edits = inserted;
            if prefix > 0 {
                let letter = self.word[prefix - 1];
                let left_out = if at > 0 {
                    next.row[at - 1] + 1
                } else {
                    u8::MAX
                };
                edits = edits
                    .min(state.row[at] + u8::from(letter != c))
                    .min(left_out);
                let is_swap = prefix > 1
                    && state.chars > 0
                    && letter == state.last
                    && self.word[prefix - 2] == c;
                if is_swap {
                    edits = edits.min(state.above[at] + 1);
                }
            }
            next.row[at] = edits.min(self.too_many());
        }
        next
    }
}

impl Automaton for &Near<'_> {
    type State = State;

    fn start(&self) -> State {
        let edits = |at: usize| at.checked_sub(MOST_EDITS).map(|prefix| prefix as u8);
        let row = std::array::from_fn(|at| edits(at).unwrap_or(u8::MAX).min(self.too_many()));
        State {
            row,
            above: row,
            last: '\0',
            chars: 0,
            bits: 0,
            missing: 0,
        }
    }

    fn is_match(&self, state: &State) -> bool {
        state.missing == 0 && state.chars >= SHORTEST && self.fewest(state).edits <= self.limit
    }

    fn can_match(&self, state: &State) -> bool {
        state
            .row
            .iter()
            .any(|&edits| usize::from(edits) <= self.limit)
            || (0..BAND).any(|at| self.may_swap(state, at))
    }

    fn accept(&self, state: &State, byte: u8) -> State {
        let (bits, missing) = match byte {
            0..0x80 => (byte.into(), 0),
            0x80..0xC0 => (
                state.bits << 6 | u32::from(byte & 0x3F),
                state.missing.saturating_sub(1),
            ),
            0xC0..0xE0 => (u32::from(byte & 0x1F), 1),
            0xE0..0xF0 => (u32::from(byte & 0x0F), 2),
            _ => (u32::from(byte & 0x07), 3),
        };
        if missing > 0 {
            return State {
                bits,
                missing,
                ..*state
            };
        }
        let c = char::from_u32(bits).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.read(state, c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(one: &str, other: &str, limit: usize) -> Option<usize> {
        let word: Vec<char> = one.chars().collect();
        let near = Near { word: &word, limit };
        let edits = near.distance(other).map(|distance| distance.edits);
        // The automaton walks the bytes of the term to the same end.
        let automaton = &near;
        let mut state = automaton.start();
        for byte in other.bytes() {
            assert!(edits.is_none() || automaton.can_match(&state));
            state = automaton.accept(&state, byte);
        }
        let is_long = other.chars().count() >= SHORTEST;
        assert_eq!(automaton.is_match(&state), is_long && edits.is_some());
        edits
    }

    #[test]
    fn an_insertion_a_deletion_a_replacement_and_a_swap_are_one_edit() {
        for typed in [
            "anacrron", "anacon", "anacrom", "anacorn", "nanacron", "nacron",
        ] {
            assert_eq!(edits(typed, "anacron", 2), Some(1), "{typed}");
        }
        assert_eq!(edits("anacron", "anacron", 1), Some(0));
        assert_eq!(edits("ancarn", "anacron", 2), Some(2));
        assert_eq!(edits("ancarn", "anacron", 1), None);
        assert_eq!(edits("été", "ete", 2), Some(2));
    }

    /// The edits between two words, by the whole table (optimal string alignment).
    fn all_edits(one: &[char], other: &[char]) -> usize {
        let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
        for i in 0..=one.len() {
            for j in 0..=other.len() {
                table[i][j] = match (i, j) {
                    (0, _) | (_, 0) => i + j,
                    _ => {
                        let changed = usize::from(one[i - 1] != other[j - 1]);
                        let fewest = (table[i - 1][j] + 1)
                            .min(table[i][j - 1] + 1)
                            .min(table[i - 1][j - 1] + changed);
                        let is_swap = i > 1
                            && j > 1
                            && one[i - 1] == other[j - 2]
                            && one[i - 2] == other[j - 1];
                        if is_swap {
                            fewest.min(table[i - 2][j - 2] + 1)
                        } else {
                            fewest
                        }
                    }
                };
            }
        }
        table[one.len()][other.len()]
    }

    #[test]
    fn edits_are_those_of_the_whole_table() {
        let letters = |mut number: usize, length: usize| -> String {
            (0..length)
                .map(|_| {
                    let letter = char::from(b"abc"[number % 3]);
                    number /= 3;
                    letter
                })
                .collect()
        };
        for length in 1..=4 {
            for number in 0..3_usize.pow(length as u32) {
                let term = letters(number, length);
                for word in ["abcab", "bac", "aabbccab", "cabb"] {
                    let chars = |text: &str| text.chars().collect::<Vec<char>>();
                    for limit in 1..=MOST_EDITS {
                        let expected = all_edits(&chars(word), &chars(&term));
                        let expected = (expected <= limit).then_some(expected);
                        assert_eq!(edits(word, &term, limit), expected, "{word} {term}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_prefix_with_too_many_edits_is_left_unless_its_last_character_may_be_swapped() {
        let goes_on = |prefix: &str| {
            let word: Vec<char> = "kettle".chars().collect();
            let near = &Near {
                word: &word,
                limit: 1,
            };
            let state = prefix.bytes().fold(near.start(), |s, b| near.accept(&s, b));
            near.can_match(&state)
        };
        assert!(goes_on("kx"));
        assert!(!goes_on("kxy"));
        assert!(goes_on("kte"));
        assert!(!goes_on("kxee"));
    }

    #[test]
    fn the_ending_of_a_word_is_free_if_the_stem_is_long() {
        assert_eq!(edits("configuraton", "configur", 2), Some(0));
        assert_eq!(edits("confgurations", "configur", 2), Some(1));
        assert_eq!(edits("lists", "list", 1), Some(1));
        assert_eq!(edits("listing", "list", 1), None);
    }

    #[test]
    fn a_short_word_may_have_no_edit_and_a_long_one_two() {
        assert_eq!([3, 4, 7, 8].map(edits_allowed), [0, 1, 1, 2]);
    }
}
