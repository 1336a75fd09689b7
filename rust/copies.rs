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
    let mut words = Vec::new();
    let texts = candidates
        .iter()
        .map(|candidate| {
            interrupt::check()?;
            Ok(Text::of(candidate, &mut words))
        })
        .collect::<Result<Vec<_>>>()?;
    let counts = Counts::of(&texts);
    let may_copy: Vec<bool> = texts
        .iter()
        .map(|text| may_copy(text, &counts, share))
        .collect();
    if !may_copy.contains(&true) {
        return Ok((0..texts.len()).collect());
    }
    let mut answers = Answers::to(query, candidates);
    let mut originals = Originals::default();
    let mut found = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        interrupt::check()?;
        let mut original = None;
        if may_copy[at] {
            let shingles = distinct(text.shingles.clone());
            if shingles.len() >= FEWEST_SHINGLES {
                let says_no_more = |earlier| answers.are_in(at, earlier);
                original = originals.find(&shingles, share, says_no_more);
            }
        }
        if original.is_none() {
            let whole = text.whole.as_ref().unwrap_or(&text.shingles);
            originals.add(at, distinct(counts.shared(whole)));
        }
        found.push(original.unwrap_or(at));
    }
    Ok(found)
}

/// Returns the numbers of the texts that copy none, in order, each with those of its copies, as
/// [`find_originals`] tells them.
///
/// # Errors
///
/// The interrupt of the thread.
pub fn find_groups(
    query: &str,
    candidates: &[Candidate<'_>],
    share: f64,
) -> Result<Vec<(usize, Vec<usize>)>> {
    let originals = find_originals(query, candidates, share)?;
    let mut copies = vec![Vec::new(); originals.len()];
    for (at, &original) in originals.iter().enumerate() {
        if original != at {
            copies[original].push(at);
        }
    }
    let groups = copies.into_iter().enumerate();
    Ok(groups.filter(|&(at, _)| originals[at] == at).collect())
}

/// Returns whether another text may contain a share of the shingles of a text: as many as occur more
/// than once in all texts. The others contain none of the rest, which occur once each.
fn may_copy(text: &Text, counts: &Counts, share: f64) -> bool {
    let of_text = text.shingles.len();
    of_text >= FEWEST_SHINGLES
        && counts.count_shared(&text.shingles) as f64 >= share * of_text as f64
}

/// A candidate as it is compared.
struct Text {
    /// The shingles of the text in its order.
    shingles: Vec<u64>,
    /// Those of the whole, if it is another text.
    whole: Option<Vec<u64>>,
}

impl Text {
    /// `words` is a buffer.
    fn of(candidate: &Candidate<'_>, words: &mut Vec<u64>) -> Self {
        let mut shingles_of = |text| {
            words.clear();
            add_words(text, words);
            shingles(words)
        };
        let is_part = candidate.whole != candidate.text;
        Text {
            shingles: shingles_of(candidate.text),
            whole: is_part.then(|| shingles_of(candidate.whole)),
        }
    }
}

/// The words of a query that each candidate or its document has, looked up when they are needed: few
/// candidates share most of their text with another.
struct Answers<'a> {
    asked: FxHashSet<u64>,
    candidates: &'a [Candidate<'a>],
    known: FxHashMap<usize, FxHashSet<u64>>,
}

impl<'a> Answers<'a> {
    fn to(query: &str, candidates: &'a [Candidate<'a>]) -> Self {
        Answers {
            asked: content_words(query),
            candidates,
            known: FxHashMap::default(),
        }
    }

    /// Returns whether another candidate has the words of the query that one has.
    fn are_in(&mut self, one: usize, other: usize) -> bool {
        self.look_up(one);
        self.look_up(other);
        self.known[&one].is_subset(&self.known[&other])
    }

    fn look_up(&mut self, at: usize) {
        self.known.entry(at).or_insert_with(|| {
            let Candidate { text, about, .. } = &self.candidates[at];
            let texts = std::iter::once(text).chain(about);
            let mut found: FxHashSet<u64> = texts.flat_map(|text| words(text)).collect();
            found.retain(|word| self.asked.contains(word));
            found
        });
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

/// Slots of a shingle, so that few share one, and all are in the fastest caches.
const SLOTS: usize = 4;

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
        let is_shared = |shingle: &u64| self.is_shared(*shingle);
        shingles.iter().copied().filter(is_shared).collect()
    }

    fn count_shared(&self, shingles: &[u64]) -> usize {
        let count = |&shingle: &u64| usize::from(self.is_shared(shingle));
        shingles.iter().map(count).sum()
    }

    fn is_shared(&self, shingle: u64) -> bool {
        self.slots[self.slot(shingle)] > 1
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
    fn find(
        &self,
        shingles: &[u64],
        share: f64,
        mut meets: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let needed = (share * shingles.len() as f64).ceil() as usize;
        let contains = |of_text: &[u64]| count_shared(shingles, of_text) >= needed;
        self.look_up(shingles, needed)
            .into_iter()
            .find(|text| contains(&self.shingles[text]) && meets(*text))
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

/// Returns hashes of the words of a text, in order; a character of a script without spaces is one.
fn words(text: &str) -> Vec<u64> {
    let mut words = Vec::with_capacity(text.len() / 5);
    add_words(text, &mut words);
    words
}

/// Appends the words of a text.
fn add_words(text: &str, words: &mut Vec<u64>) {
    let mut rest = text;
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let ascii = bytes.iter().position(|byte| !byte.is_ascii());
        // The last word before another character may go on with it.
        let end = ascii.map_or(bytes.len(), |end| {
            let last = bytes[..end]
                .iter()
                .rposition(|b| !b.is_ascii_alphanumeric());
            last.map_or(0, |last| last + 1)
        });
        add_ascii_words(&bytes[..end], words);
        rest = add_other_words(&rest[end..], words);
    }
}

/// Appends the words of a text in ASCII, 64 bytes at a time.
fn add_ascii_words(text: &[u8], words: &mut Vec<u64>) {
    const BLOCK: usize = 64;
    let mut start = None;
    let mut goes_on = 0;
    for (number, block) in text.chunks(BLOCK).enumerate() {
        let mut padded = [0; BLOCK];
        padded[..block.len()].copy_from_slice(block);
        let in_words = word_bytes(&padded);
        // Where words start and end.
        let mut edges = in_words ^ (in_words << 1 | goes_on);
        goes_on = in_words >> (BLOCK - 1);
        while edges != 0 {
            let at = number * BLOCK + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            start = match start {
                None => Some(at),
                Some(start) => {
                    words.push(hash_ascii(text, start, at));
                    None
                }
            };
        }
    }
    words.extend(start.map(|start| hash_ascii(text, start, text.len())));
}

/// Returns a bit for each of 64 ASCII bytes: whether it is a letter or a digit.
fn word_bytes(block: &[u8; 64]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    // The highest bit of each byte of which the others are from `first` to `last`.
    let within = |bytes: u64, first: u8, last: u8| {
        let from = bytes.wrapping_add(ONES * u64::from(0x80 - first));
        let beyond = bytes.wrapping_add(ONES * u64::from(0x7f - last));
        from & !beyond & HIGH
    };
    let (words, _) = block.as_chunks::<8>();
    words.iter().rev().fold(0, |found, bytes| {
        let bytes = u64::from_le_bytes(*bytes);
        let held = within(bytes | LOWER, b'a', b'z') | within(bytes, b'0', b'9');
        // Moves the bits of the eight bytes into the highest byte.
        let bits = (held >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        found << 8 | bits
    })
}

/// The bit that makes eight ASCII letters lower case, and that digits have.
const LOWER: u64 = 0x2020_2020_2020_2020;

/// Returns the hash of the word in `text[start..end]`, which is that of [`Word`].
fn hash_ascii(text: &[u8], mut start: usize, end: usize) -> u64 {
    let eight = |at: usize| {
        let bytes = text.get(at..at + 8).and_then(|bytes| bytes.first_chunk());
        let bytes = bytes.copied().unwrap_or_else(|| {
            let mut padded = [0; 8];
            padded[..text.len() - at].copy_from_slice(&text[at..]);
            padded
        });
        u64::from_be_bytes(bytes) | LOWER
    };
    let mut hash = 0;
    while end - start > 8 {
        hash = mix(hash, eight(start));
        start += 8;
    }
    mix(
        hash,
        eight(start) >> (u64::BITS as usize - 8 * (end - start)),
    )
}

/// Appends the words of a text up to a word's end behind its first character that is not ASCII;
/// returns the rest of the text.
fn add_other_words<'a>(text: &'a str, words: &mut Vec<u64>) -> &'a str {
    let mut word = Word::default();
    let mut is_other = false;
    for (at, c) in text.char_indices() {
        if c.is_ascii_alphanumeric() {
            word.add(c.to_ascii_lowercase());
        } else if c.is_ascii() {
            words.extend(word.take());
            if is_other {
                return &text[at..];
            }
        } else {
            add_character(c, &mut word, words);
            is_other = true;
        }
    }
    words.extend(word.take());
    ""
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

    /// The words of a text, character by character.
    fn words_one_by_one(text: &str) -> Vec<u64> {
        let (mut word, mut words) = (Word::default(), Vec::new());
        for c in text.chars() {
            if c.is_ascii_alphanumeric() {
                word.add(c.to_ascii_lowercase());
            } else {
                add_character(c, &mut word, &mut words);
            }
        }
        words.extend(word.take());
        words
    }

    #[test]
    fn words_are_the_same_in_blocks_and_one_by_one() {
        let ascii: String = (0..128).map(char::from).collect();
        let long = "Whales eat krill, fourteen tonnes01 9Zz ".repeat(5) + &"x".repeat(70);
        for text in [
            "",
            "a",
            "Seals sing",
            "naïve caféteria2 ice",
            "漢字kanji é",
            "Éa.b",
            &ascii,
            &long,
            &format!("{long}é{long}"),
            &format!("{ascii} {LICENCE} été {LICENCE}漢字 end"),
        ] {
            for start in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
                let text = &text[start..];
                assert_eq!(words(text), words_one_by_one(text), "{text}");
            }
        }
    }

    #[test]
    fn texts_that_copy_each_other_are_grouped() {
        let candidate = |text| Candidate {
            text,
            whole: text,
            about: [""; 4],
        };
        let other = "Seals sing below the ice for hours and hear each other from very far away.";
        let candidates = [LICENCE, other, LICENCE, "short", LICENCE].map(candidate);
        let groups = find_groups("", &candidates, 0.9).unwrap_or_default();
        assert_eq!(groups, [(0, vec![2, 4]), (1, vec![]), (3, vec![])]);
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
