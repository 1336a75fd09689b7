//! Terms of the index that are spelled like a word of a query.

use std::collections::HashMap;

use tantivy::Result;

use super::segment::Segment;

/// Terms that are shorter have too many neighbours.
const SHORTEST: usize = 4;
/// Characters from which a term may differ in two characters instead of one.
const TWO_EDITS: usize = 8;
/// A term may be a stem: a word may have an ending of so many characters besides.
const LONGEST_ENDING: usize = 6;
/// Characters of the shortest stem.
const SHORTEST_STEM: usize = 5;

/// Adds the terms of a segment that differ from a word by one edit, or by two if it is long, with
/// the chunks that have them, live or deleted, in any field. The ending of a word is free, since the
/// index has stems.
///
/// Every term is looked at: a typing error may be in the first letter. A dictionary of 300,000
/// terms takes some 10 ms, and it is read only for a word that no document has.
pub(super) fn collect(
    segment: &Segment,
    word: &[char],
    found: &mut HashMap<String, (usize, u64)>,
) -> Result<()> {
    let limit = edits_allowed(word.len());
    if limit == 0 {
        return Ok(());
    }
    let mut rows = Vec::new();
    let mut term = Vec::new();
    for index in segment.terms.iter().flatten() {
        let mut stream = index.terms().stream()?;
        while stream.advance() {
            let Ok(text) = std::str::from_utf8(stream.key()) else {
                continue;
            };
            if text.len() < SHORTEST || text.len() > 4 * (word.len() + limit) {
                continue;
            }
            term.clear();
            term.extend(text.chars());
            if let Some(edits) = distance(word, &term, limit, &mut rows) {
                let entry = found.entry(text.to_owned()).or_insert((edits, 0));
                entry.1 += u64::from(stream.value().doc_freq);
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

/// Returns how many edits a word of so many characters may have; 0 for a short one.
fn edits_allowed(chars: usize) -> usize {
    match chars {
        0..SHORTEST => 0,
        SHORTEST..TWO_EDITS => 1,
        _ => 2,
    }
}

/// Returns the edits between a word and a term, or between the word without an ending and the term,
/// if there are at most `limit`: insertions, deletions, replacements and swaps of neighbours (optimal
/// string alignment).
///
/// `rows` is scratch space.
fn distance(word: &[char], term: &[char], limit: usize, rows: &mut Vec<usize>) -> Option<usize> {
    let ending = if term.len() < SHORTEST_STEM {
        0
    } else {
        LONGEST_ENDING
    };
    if term.len() > word.len() + limit || term.len() + limit + ending < word.len() {
        return None;
    }
    let width = term.len() + 1;
    rows.clear();
    rows.resize(3 * width, 0);
    let (mut before, mut above, mut row) = (0, width, 2 * width);
    for j in 0..width {
        rows[above + j] = j;
    }
    let mut fewest = limit + 1;
    for (i, a) in word.iter().enumerate() {
        rows[row] = i + 1;
        let mut least = i + 1;
        for (j, b) in term.iter().enumerate() {
            let mut edits = (rows[above + j] + usize::from(a != b))
                .min(rows[above + j + 1] + 1)
                .min(rows[row + j] + 1);
            if i > 0 && j > 0 && *a == term[j - 1] && word[i - 1] == *b {
                edits = edits.min(rows[before + j - 1] + 1);
            }
            rows[row + j + 1] = edits;
            least = least.min(edits);
        }
        if word.len() - (i + 1) <= ending {
            fewest = fewest.min(rows[row + term.len()]);
        }
        if least > limit {
            break;
        }
        (before, above, row) = (above, row, before);
    }
    Some(fewest).filter(|&edits| edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(one: &str, other: &str, limit: usize) -> Option<usize> {
        let [one, other] = [one, other].map(|text| text.chars().collect::<Vec<_>>());
        distance(&one, &other, limit, &mut Vec::new())
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
