//! Compounds: identifiers, paths, versions, and words with apostrophes.
//!
//! A compound is a run of letters and digits, with joiners that have a letter or digit on both
//! sides. It is split into parts at its joiners and where lower case changes to upper case. It is
//! not split between letters and digits: `utf8`, `x86` and `B2B` are words, and splitting them
//! cost a point of recall on code. Parts that are separated by case, `_` or `-` only form an
//! identifier; identifiers that are separated by `.`, `/`, `:` and the like form a path. The terms
//! are the path, its identifiers and their parts. A whole is written without its joiners, so that
//! `parse_args`, `parse-args` and `parseArgs` are one term; between two digits the joiner becomes
//! a point.

use std::ops::Range;

use super::fold;
use super::normalize::Normalizer;
use super::script::{Class, class_of};
use super::terms::Terms;

/// Bytes of the longest whole: a name that a person may type. A longer one is data and gives only
/// its parts.
const MAX_WHOLE: usize = 64;

/// French and Italian words that are elided before a vowel.
const ELIDED: [&str; 19] = [
    "l", "d", "j", "m", "n", "s", "t", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "un",
    "all", "dall", "dell", "nell", "sull",
];

/// The separator before a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Joiner {
    /// None: a change of case.
    Case,
    /// `_` or `-`.
    Hyphen,
    /// An apostrophe.
    Apostrophe,
    /// `.`, `/`, `\`, `:`, `::`, `@`, `&`, or a comma between digits.
    Point,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Lower,
    Upper,
    Digit,
}

fn kind_of(c: char) -> CharKind {
    if c.is_numeric() {
        CharKind::Digit
    } else if c.is_uppercase() {
        CharKind::Upper
    } else {
        CharKind::Lower
    }
}

#[derive(Debug, Clone, Copy)]
struct Part {
    start: usize,
    joiner: Joiner,
}

/// Buffers for splitting compounds.
#[derive(Default)]
pub(super) struct Compound {
    /// The parts in lower case, concatenated.
    lower: String,
    parts: Vec<Part>,
    whole: String,
}

impl Compound {
    /// Appends the terms of the compound that a text begins with; returns its length in bytes.
    pub(super) fn take(
        &mut self,
        text: &str,
        normalizer: &mut Normalizer,
        terms: &mut Terms,
    ) -> usize {
        let end = self.read(text);
        if let [_] = self.parts[..] {
            normalizer.append(clipped(&self.lower), terms);
        } else {
            self.append_terms(normalizer, terms);
        }
        end + self.take_sign(&text[end..], terms)
    }

    /// Splits the compound into parts; returns its length in bytes.
    fn read(&mut self, text: &str) -> usize {
        self.lower.clear();
        self.parts.clear();
        let mut joiner = Some(Joiner::Case);
        let (mut kind, mut uppers, mut previous) = (CharKind::Lower, 0, 0);
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let class = class_of(c);
            if class == Class::Word {
                let here = kind_of(c);
                let start = self.lower.len();
                if let Some(joiner) = joiner.take() {
                    self.parts.push(Part { start, joiner });
                    uppers = 0;
                } else if (kind, here) == (CharKind::Lower, CharKind::Upper) {
                    self.split_at(start);
                } else if here == CharKind::Lower && uppers >= 2 && !is_plural(&text[at..]) {
                    self.split_at(previous);
                }
                uppers = if here == CharKind::Upper {
                    uppers + 1
                } else {
                    0
                };
                (kind, previous) = (here, start);
                fold::lower(c, &mut self.lower);
                at += c.len_utf8();
            } else if class == Class::Mark {
                self.lower.push(c);
                at += c.len_utf8();
            } else if kind == CharKind::Digit && groups_thousands(&text[at..]) {
                at += 1;
            } else if let Some((found, length)) = joiner_of(&text[at..], kind) {
                joiner = Some(found);
                at += length;
            } else {
                break;
            }
        }
        at
    }

    fn split_at(&mut self, start: usize) {
        self.parts.push(Part {
            start,
            joiner: Joiner::Case,
        });
    }

    /// Appends the path, its identifiers and their parts.
    fn append_terms(&mut self, normalizer: &mut Normalizer, terms: &mut Terms) {
        let count = self.parts.len();
        let is_point = |part: &Part| part.joiner == Joiner::Point;
        if self.parts[1..].iter().any(is_point) {
            self.append_whole(0..count, normalizer, terms);
        }
        let mut from = 0;
        while from < count {
            let rest = &self.parts[from + 1..];
            let to = rest
                .iter()
                .position(is_point)
                .map_or(count, |length| from + 1 + length);
            self.append_identifier(self.without_clitics(from..to), normalizer, terms);
            from = to;
        }
    }

    fn append_identifier(
        &mut self,
        parts: Range<usize>,
        normalizer: &mut Normalizer,
        terms: &mut Terms,
    ) {
        if parts.len() > 1 {
            self.append_whole(parts.clone(), normalizer, terms);
        }
        for i in parts {
            self.append_part(i, normalizer, terms);
        }
    }

    /// Drops an elided article before a word (`l'`, `qu'`) and a possessive after it (`'s`).
    fn without_clitics(&self, parts: Range<usize>) -> Range<usize> {
        let Range { mut start, mut end } = parts;
        let after_apostrophe = |i: usize| self.parts[i].joiner == Joiner::Apostrophe;
        if end - start > 1 && after_apostrophe(start + 1) && ELIDED.contains(&self.part(start)) {
            start += 1;
        }
        if end - start > 1 && after_apostrophe(end - 1) && self.part(end - 1) == "s" {
            end -= 1;
        }
        start..end
    }

    fn part(&self, i: usize) -> &str {
        let end = self
            .parts
            .get(i + 1)
            .map_or(self.lower.len(), |next| next.start);
        &self.lower[self.parts[i].start..end]
    }

    /// Appends a part, unless it is a single letter beside an apostrophe (`don't`, `O'Brien`).
    fn append_part(&self, i: usize, normalizer: &mut Normalizer, terms: &mut Terms) {
        let elided = self.parts[i].joiner == Joiner::Apostrophe
            || self
                .parts
                .get(i + 1)
                .is_some_and(|next| next.joiner == Joiner::Apostrophe);
        let part = self.part(i);
        if !(elided && part.chars().nth(1).is_none()) {
            normalizer.append(clipped(part), terms);
        }
    }

    fn append_whole(
        &mut self,
        parts: Range<usize>,
        normalizer: &mut Normalizer,
        terms: &mut Terms,
    ) {
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        for i in parts.clone() {
            let part = self.part(i);
            if i > parts.start
                && self.parts[i].joiner != Joiner::Case
                && whole.ends_with(char::is_numeric)
                && part.starts_with(char::is_numeric)
            {
                whole.push('.');
            }
            whole.push_str(part);
        }
        if whole.len() <= MAX_WHOLE {
            normalizer.append(&whole, terms);
        }
        self.whole = whole;
    }

    /// Appends the name of a programming language with its sign, as in C++ and F#; returns the
    /// length of the sign in bytes.
    fn take_sign(&mut self, rest: &str, terms: &mut Terms) -> usize {
        let length = match rest.as_bytes() {
            [b'+', b'+', ..] => 2,
            [b'#', ..] => 1,
            _ => return 0,
        };
        let ends = !rest[length..].starts_with(|c| class_of(c) == Class::Word);
        let name = self.parts.len() - 1;
        if ends && self.part(name).len() == 1 {
            self.whole.clear();
            self.whole.push_str(&self.lower[self.parts[name].start..]);
            self.whole.push_str(&rest[..length]);
            terms.push(&self.whole);
        }
        length
    }
}

/// Returns whether the lower case after capitals is only a plural, as in URLs.
fn is_plural(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('s') && !chars.next().is_some_and(char::is_lowercase)
}

/// Returns whether a text begins with a comma before exactly three digits. It is dropped, so that
/// 1,000 is the term 1000.
fn groups_thousands(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    bytes.len() > 3
        && bytes[0] == b','
        && bytes[1..4].iter().all(u8::is_ascii_digit)
        && !bytes.get(4).is_some_and(u8::is_ascii_digit)
}

/// Returns the joiner that a text begins with and its length, if a letter or digit follows.
fn joiner_of(rest: &str, before: CharKind) -> Option<(Joiner, usize)> {
    let first = rest.chars().next()?;
    let (joiner, length) = match first {
        '_' => (
            Joiner::Hyphen,
            rest.len() - rest.trim_start_matches('_').len(),
        ),
        '-' | '\u{2010}' | '\u{2011}' => (Joiner::Hyphen, first.len_utf8()),
        '\'' | '\u{2019}' | '\u{2BC}' => (Joiner::Apostrophe, first.len_utf8()),
        ':' if rest.starts_with("::") => (Joiner::Point, 2),
        '.' | '/' | '\\' | ':' | '@' | '&' => (Joiner::Point, 1),
        ',' if before == CharKind::Digit => (Joiner::Point, 1),
        _ => return None,
    };
    let next = rest[length..].chars().next()?;
    let joins = class_of(next) == Class::Word && (first != ',' || next.is_numeric());
    joins.then_some((joiner, length))
}

/// Returns at most [`MAX_WHOLE`] bytes of a word: the start of a longer one identifies it.
fn clipped(word: &str) -> &str {
    let mut end = word.len().min(MAX_WHOLE);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    &word[..end]
}
