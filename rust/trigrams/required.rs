//! The trigrams that a text must have to match a pattern.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::column::{GRAM, folded_bytes, hash_of};

/// Alternatives that are kept apart; what has more of them requires nothing.
const ALTERNATIVES: usize = 16;
/// The most trigrams of which a text must have one.
const CHOICES: usize = 512;
/// The most groups of an alternative.
const GROUPS: usize = 64;
/// The most times that a repeated part is written out, and the most parts of it.
const REPEATS: u32 = 8;
const REPEATED_PARTS: usize = 32;

/// The trigrams, by their hashes: a match has all groups of one alternative, and of each group a
/// trigram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Required(Vec<Vec<Vec<u16>>>);

/// A part of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// One of these bytes, in lower case.
    OneOf(Vec<u8>),
    /// Any text, or none.
    Any,
}

impl Required {
    /// Returns what a match of an expression requires, in whatever case.
    pub(crate) fn of(hir: &Hir) -> Required {
        let found = alternatives(hir);
        let groups: Vec<_> = found.iter().map(|parts| groups(parts)).collect();
        match groups.iter().any(Vec::is_empty) {
            true => Required(Vec::new()),
            false => Required(groups),
        }
    }

    /// Returns whether any text may match.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the groups of each alternative.
    pub(crate) fn alternatives(&self) -> &[Vec<Vec<u16>>] {
        &self.0
    }

    /// Returns whether a text with these trigrams may match.
    #[cfg(test)]
    pub(crate) fn may_match(&self, column: &super::column::Column) -> bool {
        let has_one = |group: &Vec<u16>| group.iter().any(|&hash| column.may_have(hash));
        self.is_empty() || self.0.iter().any(|groups| groups.iter().all(has_one))
    }
}

/// Returns the parts of a match, for each alternative.
fn alternatives(hir: &Hir) -> Vec<Vec<Part>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![Vec::new()],
        HirKind::Literal(literal) => vec![literal_parts(&literal.0)],
        HirKind::Class(class) => vec![vec![class_part(class)]],
        HirKind::Capture(capture) => alternatives(&capture.sub),
        HirKind::Repetition(repetition) => match &alternatives(&repetition.sub)[..] {
            repeated if repeated.iter().any(|once| once.len() > REPEATED_PARTS) => {
                vec![vec![Part::Any]]
            }
            [once] if repetition.min > 0 => {
                let repeats = repetition.min.min(REPEATS) as usize;
                let ends = vec![&once[..]; repeats].concat();
                match repetition.max == Some(repetition.min) && repetition.min <= REPEATS {
                    true => vec![ends],
                    // It begins and ends with as many repeats as there are at least.
                    false => vec![[&ends[..], &[Part::Any], &ends].concat()],
                }
            }
            several if repetition.min > 0 => {
                let then_any = |once: &Vec<Part>| [&[Part::Any], &once[..], &[Part::Any]].concat();
                several.iter().map(then_any).collect()
            }
            _ => vec![vec![Part::Any]],
        },
        HirKind::Concat(parts) => {
            let mut found = vec![Vec::new()];
            for part in parts {
                let next = alternatives(part);
                if let [only] = &next[..] {
                    found
                        .iter_mut()
                        .for_each(|before| before.extend_from_slice(only));
                } else if found.len() * next.len() <= ALTERNATIVES {
                    let join = |before: &Vec<Part>| -> Vec<Vec<Part>> {
                        let joined = next.iter().map(|after| [&before[..], after].concat());
                        joined.collect()
                    };
                    found = found.iter().flat_map(join).collect();
                } else {
                    found.iter_mut().for_each(|before| before.push(Part::Any));
                }
            }
            found
        }
        HirKind::Alternation(parts) => {
            let found: Vec<_> = parts.iter().flat_map(alternatives).collect();
            match found.len() <= ALTERNATIVES {
                true => found,
                false => vec![vec![Part::Any]],
            }
        }
    }
}

/// Returns the bytes of a literal; a character whose other case takes other bytes may be any text.
fn literal_parts(literal: &[u8]) -> Vec<Part> {
    let Ok(text) = std::str::from_utf8(literal) else {
        return vec![Part::Any];
    };
    let mut parts = Vec::new();
    for character in text.chars() {
        match bytes_in_each_case(character) {
            Some(bytes) => parts.extend(bytes.into_iter().map(Part::OneOf)),
            None => parts.push(Part::Any),
        }
    }
    parts
}

/// Returns the bytes that each byte of a character may be, in lower case, None if another case of the
/// character has more or fewer of them.
fn bytes_in_each_case(character: char) -> Option<Vec<Vec<u8>>> {
    let mut utf8 = [0; 4];
    if character.is_ascii() {
        let bytes = character.encode_utf8(&mut utf8).as_bytes();
        return Some(folded_bytes(bytes).map(|byte| vec![byte]).collect());
    }
    let mut cases = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
    cases.try_case_fold_simple().ok()?;
    let mut found = vec![Vec::new(); character.len_utf8()];
    for case in cases.iter().flat_map(|range| range.start()..=range.end()) {
        let bytes = case.encode_utf8(&mut utf8).as_bytes();
        if bytes.len() != found.len() {
            return None;
        }
        found
            .iter_mut()
            .zip(bytes)
            .for_each(|(found, &byte)| found.push(byte));
    }
    for bytes in &mut found {
        bytes.sort_unstable();
        bytes.dedup();
    }
    Some(found)
}

/// Returns the bytes of a class of characters of ASCII; another class may be any text.
fn class_part(class: &Class) -> Part {
    let class = match class {
        Class::Unicode(class) => class.to_byte_class(),
        Class::Bytes(class) => Some(class.clone()),
    };
    let Some(class) = class.filter(|class| class.is_ascii()) else {
        return Part::Any;
    };
    let bytes = class.ranges().iter();
    let mut bytes: Vec<u8> = bytes
        .flat_map(|range| range.start()..=range.end())
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    bytes.sort_unstable();
    bytes.dedup();
    Part::OneOf(bytes)
}

/// Returns the groups of trigrams of parts that follow each other.
fn groups(parts: &[Part]) -> Vec<Vec<u16>> {
    let mut groups: Vec<Vec<u16>> = parts.windows(GRAM).filter_map(grams).collect();
    groups.sort_unstable_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    groups.dedup();
    groups.truncate(GROUPS);
    groups
}

/// Returns the hashes of the trigrams of three parts, unless these may be any text or are too many.
fn grams(parts: &[Part]) -> Option<Vec<u16>> {
    let mut grams = vec![0u32];
    for part in parts {
        let Part::OneOf(bytes) = part else {
            return None;
        };
        if grams.len() * bytes.len() > CHOICES {
            return None;
        }
        let longer = grams.iter().flat_map(|gram| {
            let with = move |&byte: &u8| u32::from(byte) | gram << 8;
            bytes.iter().map(with)
        });
        grams = longer.collect();
    }
    let mut hashes: Vec<u16> = grams.into_iter().map(hash_of).collect();
    hashes.sort_unstable();
    hashes.dedup();
    Some(hashes)
}
