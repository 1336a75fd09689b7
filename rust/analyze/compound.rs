//! Where does a word end, and which words is it made of?
//!
//! A compound is a stretch of letters and digits, held together by joiners with a letter or digit
//! on both sides. It is cut into parts at its joiners and where lower case turns to upper (not
//! between letters and digits: `utf8`, `x86` and `B2B` are words, and cutting them cost a point of
//! recall on code). Parts that only case, `_` or `-` separate make an identifier; identifiers
//! that `.`, `/`, `:` and the like separate make a path. Each gives a term: the path, its
//! identifiers, their parts. A whole is written without its joiners, so `parse_args`, `parse-args`
//! and `parseArgs` are one term; between two digits a joiner stays, as a point.

use std::ops::Range;

use super::script::{Class, class_of};
use super::voice::Voices;
use super::{Terms, fold};

/// Bytes of the longest whole: a name somebody may type. What is longer is data, and gives only its
/// parts.
const MAX_WHOLE: usize = 64;

/// Words that French and Italian write before a vowel with an apostrophe.
const ELIDED: [&str; 19] = [
    "l", "d", "j", "m", "n", "s", "t", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "un",
    "all", "dall", "dell", "nell", "sull",
];

/// What stands before a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Joint {
    /// Nothing: a change of case.
    Change,
    /// `_` or `-`.
    Hyphen,
    /// An apostrophe.
    Apostrophe,
    /// `.`, `/`, `\`, `:`, `::`, `@`, `&`, or a comma between digits.
    Point,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
}

fn kind_of(c: char) -> Kind {
    if c.is_numeric() {
        Kind::Digit
    } else if c.is_uppercase() {
        Kind::Upper
    } else {
        Kind::Lower
    }
}

#[derive(Debug, Clone, Copy)]
struct Part {
    start: usize,
    joint: Joint,
}

/// The buffers in which compounds are taken apart.
#[derive(Default)]
pub(super) struct Compound {
    /// The parts in lower case, one after the other.
    lower: String,
    parts: Vec<Part>,
    whole: String,
}

impl Compound {
    /// Takes the compound a text begins with and appends its terms; returns its length in bytes.
    pub(super) fn take(&mut self, text: &str, voices: &mut Voices, terms: &mut Terms) -> usize {
        let end = self.read(text);
        if let [_] = self.parts[..] {
            voices.speak(clipped(&self.lower), terms);
        } else {
            self.speak(voices, terms);
        }
        end + self.take_sign(&text[end..], terms)
    }

    /// Cuts the compound into parts; returns its length in bytes.
    fn read(&mut self, text: &str) -> usize {
        self.lower.clear();
        self.parts.clear();
        let mut joint = Some(Joint::Change);
        let (mut kind, mut uppers, mut previous) = (Kind::Lower, 0, 0);
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let class = class_of(c);
            if class == Class::Word {
                let here = kind_of(c);
                let start = self.lower.len();
                if let Some(joint) = joint.take() {
                    self.parts.push(Part { start, joint });
                } else if (kind, here) == (Kind::Lower, Kind::Upper) {
                    self.cut(start);
                } else if here == Kind::Lower && uppers >= 2 && !is_plural(&text[at..]) {
                    self.cut(previous);
                }
                uppers = if here == Kind::Upper { uppers + 1 } else { 0 };
                (kind, previous) = (here, start);
                fold::lower(c, &mut self.lower);
                at += c.len_utf8();
            } else if class == Class::Mark {
                self.lower.push(c);
                at += c.len_utf8();
            } else if kind == Kind::Digit && groups_thousands(&text[at..]) {
                at += 1;
            } else if let Some((found, length)) = joiner(&text[at..], kind) {
                joint = Some(found);
                at += length;
            } else {
                break;
            }
        }
        at
    }

    fn cut(&mut self, start: usize) {
        self.parts.push(Part {
            start,
            joint: Joint::Change,
        });
    }

    /// Appends the whole of several parts, its identifiers and their parts.
    fn speak(&mut self, voices: &mut Voices, terms: &mut Terms) {
        let count = self.parts.len();
        let is_point = |part: &Part| part.joint == Joint::Point;
        if self.parts[1..].iter().any(is_point) {
            self.speak_whole(0..count, voices, terms);
        }
        let mut from = 0;
        while from < count {
            let rest = &self.parts[from + 1..];
            let to = rest
                .iter()
                .position(is_point)
                .map_or(count, |length| from + 1 + length);
            self.speak_identifier(self.without_clitics(from..to), voices, terms);
            from = to;
        }
    }

    fn speak_identifier(&mut self, parts: Range<usize>, voices: &mut Voices, terms: &mut Terms) {
        if parts.len() > 1 {
            self.speak_whole(parts.clone(), voices, terms);
        }
        for i in parts {
            self.speak_part(i, voices, terms);
        }
    }

    /// Leaves away an elided article before the word (`l'`, `qu'`) and a possessive after it (`'s`):
    /// they belong to its sentence, not to its name.
    fn without_clitics(&self, parts: Range<usize>) -> Range<usize> {
        let Range { mut start, mut end } = parts;
        let hangs = |i: usize| self.parts[i].joint == Joint::Apostrophe;
        if end - start > 1 && hangs(start + 1) && ELIDED.contains(&self.part(start)) {
            start += 1;
        }
        if end - start > 1 && hangs(end - 1) && self.part(end - 1) == "s" {
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

    /// A single letter beside an apostrophe (`don't`, `O'Brien`) is no word of its own.
    fn speak_part(&self, i: usize, voices: &mut Voices, terms: &mut Terms) {
        let elided = self.parts[i].joint == Joint::Apostrophe
            || self
                .parts
                .get(i + 1)
                .is_some_and(|next| next.joint == Joint::Apostrophe);
        let part = self.part(i);
        if !(elided && part.chars().nth(1).is_none()) {
            voices.speak(clipped(part), terms);
        }
    }

    fn speak_whole(&mut self, parts: Range<usize>, voices: &mut Voices, terms: &mut Terms) {
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        for i in parts.clone() {
            let part = self.part(i);
            if i > parts.start
                && self.parts[i].joint != Joint::Change
                && whole.ends_with(char::is_numeric)
                && part.starts_with(char::is_numeric)
            {
                whole.push('.');
            }
            whole.push_str(part);
        }
        if whole.len() <= MAX_WHOLE {
            voices.speak(&whole, terms);
        }
        self.whole = whole;
    }

    /// Takes the `++` or `#` that names a language after its letter, as in C++ and F#.
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

/// Is this lower case only the plural of the capitals before it, as in URLs?
fn is_plural(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('s') && !chars.next().is_some_and(char::is_lowercase)
}

/// Is this a comma before exactly three digits? It is not written, so that 1,000 is 1000.
fn groups_thousands(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    bytes.len() > 3
        && bytes[0] == b','
        && bytes[1..4].iter().all(u8::is_ascii_digit)
        && !bytes.get(4).is_some_and(u8::is_ascii_digit)
}

/// The joiner a text begins with, and its length, if a letter or digit follows it.
fn joiner(rest: &str, before: Kind) -> Option<(Joint, usize)> {
    let first = rest.chars().next()?;
    let (joint, length) = match first {
        '_' => (
            Joint::Hyphen,
            rest.len() - rest.trim_start_matches('_').len(),
        ),
        '-' | '\u{2010}' | '\u{2011}' => (Joint::Hyphen, first.len_utf8()),
        '\'' | '\u{2019}' | '\u{2BC}' => (Joint::Apostrophe, first.len_utf8()),
        ':' if rest.starts_with("::") => (Joint::Point, 2),
        '.' | '/' | '\\' | ':' | '@' | '&' => (Joint::Point, 1),
        ',' if before == Kind::Digit => (Joint::Point, 1),
        _ => return None,
    };
    let next = rest[length..].chars().next()?;
    let joins = class_of(next) == Class::Word && (first != ',' || next.is_numeric());
    joins.then_some((joint, length))
}

/// At most [`MAX_WHOLE`] bytes of a word: what is longer is data, and its beginning tells it apart.
fn clipped(word: &str) -> &str {
    let mut end = word.len().min(MAX_WHOLE);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    &word[..end]
}
