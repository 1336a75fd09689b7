//! Here is a text: what are its terms?
//!
//! One analyzer serves the index and the query, so that what is written one way and asked another
//! meets in the middle:
//!
//! * Words are folded: NFKC, lower case, no accents ([`fold`]), then stemmed by language
//!   ([`voice`]). Folding comes before stemming, so that a query typed without its accents takes
//!   the same stem.
//! * Vietnamese tones tell words apart, so there a word gives two terms: as written, and folded.
//! * Han, kana, Hangul, Thai, Lao, Khmer and Burmese write no spaces: a run gives its overlapping
//!   bigrams, or its one character ([`script`]).
//! * A compound (`parse_args`, `parseArgs`, `TS-999`, `v1.2.3`, `a/b.py`, `don't`) gives itself,
//!   without its joiners, and its parts ([`compound`]).
//!
//! Stop words stay in the index, where they may be all a query has; [`ask`] makes them weigh less.

mod ask;
mod compound;
mod fold;
mod script;
mod voice;

pub use ask::{Word, ask};
pub use voice::detect_lang;

use compound::Compound;
use script::{Class, class_of};
use voice::Voices;

/// The version of the terms this module makes. Another number means that an index must be rebuilt.
pub const VERSION: u32 = 1;

/// The terms of a text, in order, kept as one string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    joined: String,
    count: u32,
}

impl Terms {
    /// How many there are, repeats included.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Each term, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.joined.split_terminator(SEPARATOR)
    }

    /// The terms as one string, each followed by [`SEPARATOR`], which no term holds.
    pub fn joined(&self) -> &str {
        &self.joined
    }

    /// Forgets the terms, keeps the memory.
    pub fn clear(&mut self) {
        self.joined.clear();
        self.count = 0;
    }

    fn push(&mut self, term: &str) {
        self.joined.push_str(term);
        self.joined.push(SEPARATOR);
        self.count += 1;
    }

    /// Appends terms that are joined already.
    fn push_joined(&mut self, joined: &str, count: u32) {
        self.joined.push_str(joined);
        self.count += count;
    }
}

/// What follows each term in [`Terms::joined`].
pub const SEPARATOR: char = '\0';

/// Makes terms in the manner of one or several languages; keeps its buffers and a cache of words.
pub struct Analyzer {
    voices: Voices,
    compound: Compound,
    clean: String,
}

impl Analyzer {
    /// An analyzer of documents in a language (ISO 639-1; "" where it is not known).
    pub fn of_documents(lang: &str) -> Self {
        Self::with_voices(Voices::new(&[lang], false))
    }

    /// An analyzer of queries, which gives each word the distinct stems of all these languages.
    pub fn of_queries<S: AsRef<str>>(langs: &[S]) -> Self {
        Self::with_voices(Voices::new(langs, true))
    }

    fn with_voices(voices: Voices) -> Self {
        Analyzer {
            voices,
            compound: Compound::default(),
            clean: String::new(),
        }
    }

    /// Appends the terms of a text.
    pub fn append(&mut self, text: &str, terms: &mut Terms) {
        if text.is_ascii() {
            return self.scan(text, terms);
        }
        let mut clean = std::mem::take(&mut self.clean);
        fold::clean(text, &mut clean);
        self.scan(&clean, terms);
        self.clean = clean;
    }

    /// Walks over clean text from one run to the next.
    fn scan(&mut self, text: &str, terms: &mut Terms) {
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            if let Some(length) = plain_word(&text.as_bytes()[at..]) {
                self.voices.speak(&text[at..at + length], terms);
                at += length;
                continue;
            }
            at += match class_of(c) {
                Class::Word => self.compound.take(&text[at..], &mut self.voices, terms),
                Class::Unspaced => take_unspaced(&text[at..], terms),
                Class::Symbol => {
                    terms.push(&text[at..at + c.len_utf8()]);
                    c.len_utf8()
                }
                Class::Mark | Class::Other => c.len_utf8(),
            };
        }
    }
}

/// The length of the word a text begins with, if all of it is small ASCII letters and it is no part
/// of a compound: most words, which need no more than to be looked up.
fn plain_word(text: &[u8]) -> Option<usize> {
    const LONGEST: usize = 32;
    let length = text
        .iter()
        .take(LONGEST)
        .take_while(|byte| byte.is_ascii_lowercase())
        .count();
    let ends = match text[length..] {
        [] => true,
        [end, ..] if matches!(end, b' ' | b'\n' | b'\t' | b'(' | b')' | b'"' | b',' | b';') => true,
        [b'.', b' ' | b'\n', ..] => true,
        _ => false,
    };
    (length > 0 && ends).then_some(length)
}

/// The terms of a document's text.
pub fn terms(text: &str, lang: &str) -> Terms {
    let mut terms = Terms::default();
    Analyzer::of_documents(lang).append(text, &mut terms);
    terms
}

/// Takes the run of unspaced script a text begins with; returns its length in bytes.
///
/// A unit is a character with the marks that follow it, as Thai writes its vowels.
fn take_unspaced(text: &str, terms: &mut Terms) -> usize {
    let mut before = None;
    let mut unit = 0;
    let mut end = text.len();
    for (at, c) in text.char_indices().skip(1) {
        match class_of(c) {
            Class::Mark => continue,
            Class::Unspaced => {}
            _ => {
                end = at;
                break;
            }
        }
        if let Some(before) = before {
            terms.push(&text[before..at]);
        }
        before = Some(unit);
        unit = at;
    }
    terms.push(&text[before.unwrap_or(0)..end]);
    end
}
