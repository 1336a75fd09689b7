//! Boundaries within a sentence: clauses, words, graphemes, characters.

use unicode_segmentation::UnicodeSegmentation;

use super::costs::{CLAUSE, GRAPHEME, HANGING, WORD};
use super::punctuation::{Stop, is_closer, is_opener, stop_of};

/// The kind of boundaries that a stretch is searched for, from coarse to fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    Sentence,
    Clause,
    Word,
    Grapheme,
    Character,
}

impl Grain {
    /// Returns the next finer grain.
    pub(super) fn finer(self) -> Option<Grain> {
        match self {
            Grain::Sentence => Some(Grain::Clause),
            Grain::Clause => Some(Grain::Word),
            Grain::Word => Some(Grain::Grapheme),
            Grain::Grapheme => Some(Grain::Character),
            Grain::Character => None,
        }
    }
}

/// Calls `found` with the code points and bytes before each boundary of this grain, and its cost.
pub(super) fn each_boundary(stretch: &str, grain: Grain, mut found: impl FnMut(u32, usize, f32)) {
    match grain {
        Grain::Sentence => {}
        Grain::Clause => each_clause(stretch, found),
        Grain::Word => each_word(stretch, found),
        // In ASCII every character is a grapheme.
        Grain::Grapheme if !stretch.is_ascii() => {
            let mut at = 0;
            for (byte, grapheme) in stretch.grapheme_indices(true) {
                if at > 0 && !grapheme.starts_with(char::is_whitespace) {
                    found(at, byte, GRAPHEME);
                }
                at += grapheme.chars().count() as u32;
            }
        }
        Grain::Grapheme | Grain::Character => {
            for (at, (byte, c)) in (0..).zip(stretch.char_indices()) {
                if at > 0 && !c.is_whitespace() {
                    found(at, byte, GRAPHEME);
                }
            }
        }
    }
}

fn each_clause(stretch: &str, mut found: impl FnMut(u32, usize, f32)) {
    let (mut pause, mut blank, mut here) = (false, false, false);
    for (at, (byte, c)) in (0..).zip(stretch.char_indices()) {
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if at > 0 && !is_closer(c) && (here || pause && blank) {
            found(at, byte, CLAUSE);
        }
        here = matches!(c, '，' | '、' | '；' | '：');
        pause = matches!(c, ',' | ';' | ':' | ')' | '—' | '–') || stop_of(c) != Stop::No;
        blank = false;
    }
}

/// Calls `found` with the boundaries between words.
pub(super) fn each_word(stretch: &str, mut found: impl FnMut(u32, usize, f32)) {
    let mut at = 0;
    let mut before = None::<char>;
    for (byte, word) in stretch.split_word_bound_indices() {
        let first = word.chars().next();
        if let (Some(before), Some(first)) = (before, first)
            && !first.is_whitespace()
        {
            // A boundary within "a/b" or "well-known" costs more. Scripts that are written without
            // spaces have no better one; letters of these scripts have no case.
            let blank = before.is_whitespace();
            let joined = first.is_alphanumeric() && !is_opener(before);
            let unspaced = joined && first.is_alphabetic() && !has_case(first);
            if blank || unspaced {
                found(at, byte, WORD);
            } else if joined {
                found(at, byte, WORD + HANGING);
            }
        }
        before = word.chars().next_back();
        at += word.chars().count() as u32;
    }
}

fn has_case(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase()
}
