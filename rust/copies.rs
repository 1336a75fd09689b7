//! Near-duplicates among texts: copies, mirrors, and paragraphs that many documents repeat.
//!
//! Texts are compared by their shingles, every three words in a row (Broder 1997, "On the
//! resemblance and containment of documents"). A text copies an earlier one that contains a share of
//! its shingles. What differs between two such texts, or is said about their documents, may be what
//! was asked for: a text that has a word of the query which the earlier one lacks copies nothing.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyze::{QueryAnalyzer, is_unspaced};
use crate::error::Result;
use crate::interrupt;

/// Texts with fewer shingles copy nothing: short lines are equal by chance.
const FEWEST_SHINGLES: usize = 8;

/// An odd constant that spreads the bits of a hash (the golden ratio, as in FxHash).
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// A text that may copy an earlier one.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// What may be a copy, such as a chunk.
    pub text: &'a str,
    /// What later texts may be copies of: the text, or a longer one that it is a part of.
    pub whole: &'a str,
    /// What is said about the text's document, such as its title.
    pub about: [&'a str; 4],
}

/// Returns for each text the number of the first one that it copies, or its own.
///
/// A number that is returned is that of a text that copies none. `share` is the share of a text's
/// shingles that the earlier one contains.
///
/// # Errors
///
/// The interrupt of the thread.
pub fn find_originals(query: &str, candidates: &[Candidate<'_>], share: f64) -> Result<Vec<usize>> {
    let asked = Asked::by(query);
    let texts = candidates
        .iter()
        .map(|candidate| {
            interrupt::check()?;
            Ok(Text::of(candidate, &asked))
        })
        .collect::<Result<Vec<_>>>()?;
    let counts = Counts::of(&texts);
    let mut originals = Originals::default();
    let mut found = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        interrupt::check()?;
        let shared = counts.shared(&text.shingles);
        let original = if may_copy(text, shared.len(), share) {
            let shingles = distinct(text.shingles.clone());
            (shingles.len() >= FEWEST_SHINGLES)
                .then(|| {
                    originals.find(&shingles, share, |earlier| {
                        text.answers.is_subset(&texts[earlier].answers)
                    })
                })
                .flatten()
        } else {
            None
        };
        if original.is_none() {
            let shared = match &text.whole {
                None => shared,
                Some(whole) => counts.shared(whole),
            };
            originals.add(at, distinct(shared));
        }
        found.push(original.unwrap_or(at));
    }
    Ok(found)
}

/// Returns whether another text may contain a share of the shingles of a text, of which so many occur
/// more than once in all texts. The others contain none of the rest, which occur once each.
fn may_copy(text: &Text, shared: usize, share: f64) -> bool {
    shared as f64 >= share * text.shingles.len() as f64
}

/// A candidate as it is compared.
struct Text {
    /// The shingles of the text in its order.
    shingles: Vec<u64>,
    /// Those of the whole, if it is another text.
    whole: Option<Vec<u64>>,
    /// The words of the query that it or its document has.
    answers: FxHashSet<u64>,
}

impl Text {
    fn of(candidate: &Candidate<'_>, asked: &Asked) -> Self {
        let words = words(candidate.text);
        let mut answers = FxHashSet::default();
        if asked.bits != 0 {
            let about = candidate.about.iter().flat_map(|about| self::words(about));
            let all = words.iter().copied().chain(about);
            answers.extend(all.filter(|word| asked.contains(*word)));
        }
        let is_part = candidate.whole != candidate.text;
        Text {
            shingles: shingles(&words),
            whole: is_part.then(|| shingles(&self::words(candidate.whole))),
            answers,
        }
    }
}

/// How often each shingle occurs in all texts, at least: shingles that share a slot are counted
/// together.
///
/// Most texts share few shingles with any other. They need neither be sorted nor be looked up.
struct Counts {
    slots: Vec<u8>,
    shift: u32,
}

/// Slots of a shingle, so that few share one.
const SLOTS: usize = 8;

impl Counts {
    fn of(texts: &[Text]) -> Self {
        let all = || {
            let wholes = texts.iter().filter_map(|text| text.whole.as_ref());
            texts.iter().map(|text| &text.shingles).chain(wholes)
        };
        let slots = (SLOTS * all().map(Vec::len).sum::<usize>())
            .next_power_of_two()
            .max(SLOTS);
        let mut counts = Counts {
            slots: vec![0; slots],
            shift: u64::BITS - slots.ilog2(),
        };
        for &shingle in all().flatten() {
            let slot = counts.slot(shingle);
            counts.slots[slot] = counts.slots[slot].saturating_add(1);
        }
        counts
    }

    /// Returns those of some shingles that occur more than once.
    fn shared(&self, shingles: &[u64]) -> Vec<u64> {
        let is_shared = |shingle: &u64| self.slots[self.slot(*shingle)] > 1;
        shingles.iter().copied().filter(is_shared).collect()
    }

    fn slot(&self, shingle: u64) -> usize {
        (shingle >> self.shift) as usize
    }
}

/// The texts that copy none, by those of their shingles that other texts have, too.
#[derive(Default)]
struct Originals {
    /// The last entry of each shingle, and how many it has.
    last: FxHashMap<u64, (usize, usize)>,
    /// A text, and the entry before of the same shingle.
    entries: Vec<(usize, Option<usize>)>,
    /// The shingles of each text, in order.
    shingles: BTreeMap<usize, Vec<u64>>,
}

impl Originals {
    fn add(&mut self, text: usize, shingles: Vec<u64>) {
        for &shingle in &shingles {
            let entry = self.entries.len();
            let before = self.last.get(&shingle).copied();
            let count = before.map_or(0, |(_, count)| count);
            self.last.insert(shingle, (entry, count + 1));
            self.entries.push((text, before.map(|(entry, _)| entry)));
        }
        self.shingles.insert(text, shingles);
    }

    /// Returns the first text that contains a share of some shingles and meets a condition.
    fn find(&self, shingles: &[u64], share: f64, meets: impl Fn(usize) -> bool) -> Option<usize> {
        let needed = (share * shingles.len() as f64).ceil() as usize;
        let contains = |of_text: &[u64]| count_shared(shingles, of_text) >= needed;
        self.look_up(shingles, needed)
            .into_iter()
            .find(|text| meets(*text) && contains(&self.shingles[text]))
    }

    /// Returns texts, among them all that contain so many of some shingles.
    ///
    /// Such a text contains at least one of the `n - needed + 1` shingles that the fewest texts
    /// contain. Only these are looked up, since what many texts have in common, such as a footer,
    /// would lead to all of them (prefix filtering: Chaudhuri, Ganti and Kaushik 2006, "A primitive
    /// operator for similarity joins in data cleaning").
    fn look_up(&self, shingles: &[u64], needed: usize) -> BTreeSet<usize> {
        let count = (shingles.len() + 1).saturating_sub(needed.max(1));
        let known = |shingle| self.last.get(shingle).copied();
        let mut common: Vec<(usize, usize)> = shingles.iter().filter_map(known).collect();
        // Those that no text contains are the rarest, and lead to none.
        let count = count.saturating_sub(shingles.len() - common.len());
        common.sort_by_key(|&(_, texts)| texts);
        let mut texts = BTreeSet::new();
        for &(entry, _) in &common[..count] {
            let mut entry = Some(entry);
            while let Some((text, before)) = entry.map(|at| self.entries[at]) {
                texts.insert(text);
                entry = before;
            }
        }
        texts
    }
}

/// Returns how many numbers two lists in order have in common.
fn count_shared(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
        }
    }
    shared
}

/// The words of a query that are no function words.
struct Asked {
    words: FxHashSet<u64>,
    /// A bit for each word, by which most others are told from them.
    bits: u64,
}

impl Asked {
    fn by(query: &str) -> Self {
        let words = content_words(query);
        let bits = words.iter().fold(0, |bits, word| bits | Asked::bit(*word));
        Asked { words, bits }
    }

    #[inline]
    fn contains(&self, word: u64) -> bool {
        self.bits & Asked::bit(word) != 0 && self.words.contains(&word)
    }

    fn bit(word: u64) -> u64 {
        1 << (word >> (u64::BITS - 6))
    }
}

/// Returns the words of a query that are no function words.
fn content_words(query: &str) -> FxHashSet<u64> {
    static ANALYZER: LazyLock<Mutex<QueryAnalyzer>> =
        LazyLock::new(|| Mutex::new(QueryAnalyzer::new(&[""])));
    let mut analyzer = ANALYZER.lock().unwrap_or_else(PoisonError::into_inner);
    let functions: FxHashSet<u64> = analyzer
        .analyze(query)
        .iter()
        // Other words weigh 1 or more.
        .filter(|term| term.weight < 1.0)
        .flat_map(|term| words(&term.term))
        .collect();
    drop(analyzer);
    words(query)
        .into_iter()
        .filter(|word| !functions.contains(word))
        .collect()
}

/// The lower case of an ASCII letter or digit, 0 for other bytes.
const LOWER: [u8; 256] = {
    let mut lower = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            lower[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    lower
};

/// Returns hashes of the words of a text, in order; a character of a script without spaces is one.
fn words(text: &str) -> Vec<u64> {
    let mut words = Vec::with_capacity(text.len() / 5);
    let mut word = Word::default();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        let lower = LOWER[usize::from(byte)];
        if lower != 0 {
            word.add_ascii(lower);
            at += 1;
        } else if byte.is_ascii() {
            words.extend(word.take());
            at += 1;
        } else {
            let c = text[at..].chars().next().unwrap_or_default();
            add_character(c, &mut word, &mut words);
            at += c.len_utf8();
        }
    }
    words.extend(word.take());
    words
}

/// Adds a character that is not ASCII to a word, or ends the word.
fn add_character(c: char, word: &mut Word, words: &mut Vec<u64>) {
    let is_word = is_unspaced(c);
    if is_word || !c.is_alphanumeric() {
        words.extend(word.take());
        words.extend(is_word.then(|| mix(1, u64::from(c))));
    } else {
        c.to_lowercase().for_each(|c| word.add(c));
    }
}

/// The hash of a word, character by character.
#[derive(Default)]
struct Word {
    hash: u64,
    /// Up to eight ASCII characters that are not in the hash yet: they are mixed at once.
    ascii: u64,
}

impl Word {
    #[inline]
    fn add_ascii(&mut self, c: u8) {
        if self.ascii >> 56 != 0 {
            self.hash = mix(self.hash, self.ascii);
            self.ascii = 0;
        }
        self.ascii = self.ascii << 8 | u64::from(c);
    }

    fn add(&mut self, c: char) {
        if c.is_ascii() {
            return self.add_ascii(c as u8);
        }
        if self.ascii != 0 {
            self.hash = mix(self.hash, self.ascii);
            self.ascii = 0;
        }
        self.hash = mix(self.hash, u64::from(c));
    }

    /// Returns the hash and begins another word; None if there is no word.
    #[inline]
    fn take(&mut self) -> Option<u64> {
        let Word { hash, ascii } = std::mem::take(self);
        match ascii {
            0 => (hash != 0).then_some(hash),
            _ => Some(mix(hash, ascii)),
        }
    }
}

/// Returns hashes of every three words in a row.
fn shingles(words: &[u64]) -> Vec<u64> {
    words
        .windows(3)
        .map(|words| words.iter().fold(1, |hash, &word| mix(hash, word)))
        .collect()
}

/// Returns numbers in order, each once.
fn distinct(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(MIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LICENCE: &str = "Permission is hereby granted, free of charge, to any person obtaining a \
        copy of this software and associated documentation files, to deal in the software without \
        restriction, including without limitation the rights to use, copy, modify and publish it.";

    fn originals(query: &str, texts: &[(&str, &str)], share: f64) -> Vec<usize> {
        let candidates: Vec<Candidate<'_>> = texts
            .iter()
            .map(|&(text, about)| Candidate {
                text,
                whole: text,
                about: [about, "", "", ""],
            })
            .collect();
        find_originals(query, &candidates, share).unwrap_or_default()
    }

    #[test]
    fn a_text_whose_words_in_a_row_an_earlier_one_has_copies_it() {
        let quoted = format!("Ann wrote:\n{}", LICENCE.replace(' ', "\n> "));
        let other = "Seals sing below the ice for hours and hear each other from very far away.";
        let texts = [(quoted.as_str(), ""), (other, ""), (LICENCE, "")];
        assert_eq!(originals("", &texts, 0.9), [0, 1, 0]);
    }

    #[test]
    fn a_text_with_more_words_than_an_earlier_one_is_no_copy() {
        let longer = format!("{LICENCE} Whales eat four tonnes of krill a day in the cold seas.");
        assert_eq!(originals("", &[(LICENCE, ""), (&longer, "")], 0.9), [0, 1]);
    }

    #[test]
    fn a_text_with_a_word_of_the_query_that_the_earlier_one_lacks_is_no_copy() {
        let first = format!("Copyright 2014 Ann Smith. {LICENCE}");
        let second = format!("Copyright 2014 Bea Jones. {LICENCE}");
        let texts = [(first.as_str(), ""), (second.as_str(), "")];
        assert_eq!(originals("the copyright", &texts, 0.9), [0, 0]);
        assert_eq!(originals("copyright of Jones", &texts, 0.9), [0, 1]);
        let texts = [(LICENCE, "zlib"), (LICENCE, "curl"), (LICENCE, "zlib")];
        assert_eq!(originals("licence of curl", &texts, 0.9), [0, 1, 0]);
    }

    #[test]
    fn short_texts_copy_nothing() {
        assert_eq!(
            originals("", &[("see below", ""), ("see below", "")], 0.9),
            [0, 1]
        );
    }

    #[test]
    fn a_text_copies_the_whole_that_an_earlier_one_is_a_part_of() {
        let whole = format!("Whales eat four tonnes of krill a day. {LICENCE}");
        let candidates = [
            Candidate {
                text: "Whales eat four tonnes of krill a day.",
                whole: &whole,
                about: [""; 4],
            },
            Candidate {
                text: LICENCE,
                whole: LICENCE,
                about: [""; 4],
            },
        ];
        assert_eq!(find_originals("", &candidates, 0.9).ok(), Some(vec![0, 0]));
    }

    #[test]
    fn texts_with_a_common_footer_are_looked_up_by_what_is_their_own() {
        let with_footer = |n: usize| {
            let own: String = (0..60).map(|word| format!("w{n}x{word} ")).collect();
            distinct(shingles(&words(&format!("{own}{LICENCE}"))))
        };
        let mut found = Originals::default();
        for n in 0..100 {
            found.add(n, with_footer(n));
        }
        let (other, same) = (with_footer(100), with_footer(7));
        let most = |shingles: &[u64]| shingles.len() * 9 / 10;
        assert_eq!(found.look_up(&other, most(&other)).len(), 0);
        assert_eq!(found.look_up(&same, most(&same)).len(), 1);
        assert_eq!(found.find(&other, 0.9, |_| true), None);
        assert_eq!(found.find(&same, 0.9, |_| true), Some(7));

        let footer = distinct(shingles(&words(LICENCE)));
        assert_eq!(found.find(&footer, 0.9, |_| true), Some(0));
        assert_eq!(found.find(&footer, 0.9, |at| at == 7), Some(7));
    }

    #[test]
    fn texts_have_the_originals_that_comparing_each_with_each_finds() {
        let own = |n: usize| -> String { (0..12).map(|word| format!("w{n}x{word} ")).collect() };
        let texts: Vec<String> = (0..200)
            .map(|n| format!("{} {}", own(n % 23), if n % 3 == 0 { LICENCE } else { "" }))
            .collect();
        let given: Vec<(&str, &str)> = texts.iter().map(|text| (text.as_str(), "")).collect();
        let of_text: Vec<Vec<u64>> = texts
            .iter()
            .map(|t| distinct(shingles(&words(t))))
            .collect();
        for share in [0.1, 0.3, 0.6, 0.9, 1.0] {
            let mut expected: Vec<usize> = Vec::new();
            for (at, own) in of_text.iter().enumerate() {
                let contains = |&earlier: &usize| {
                    let shared = count_shared(own, &of_text[earlier]);
                    expected[earlier] == earlier && shared as f64 >= share * own.len() as f64
                };
                let original = (0..at).find(contains);
                expected.push(original.unwrap_or(at));
            }
            assert_eq!(originals("", &given, share), expected, "{share}");
        }
    }

    #[test]
    fn words_are_equal_in_any_case_and_any_length() {
        assert_eq!(words("Été ÉTÉ été").len(), 3);
        assert_eq!(distinct(words("Été ÉTÉ été")).len(), 1);
        assert_eq!(
            distinct(words("incomprehensible Incomprehensible")).len(),
            1
        );
        let different = "a aa aaaaaaaa aaaaaaaaa aaaaaaaé éaaaaaaa aaaaaaaaaaaaaaaaa 東京";
        assert_eq!(distinct(words(different)).len(), 9);
    }
}
