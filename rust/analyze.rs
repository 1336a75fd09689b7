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
//! Stop words stay in the index, where they may be all a query has; [`Asker`] makes them weigh less.

mod ask;
mod compound;
mod fold;
mod script;
mod voice;

pub use ask::{Asker, Word};
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
    let ends = matches!(
        text[length..],
        [] | [b' ' | b'\n' | b'\t' | b'(' | b')' | b'"' | b',' | b';', ..]
            | [b'.', b' ' | b'\n', ..]
    );
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str, lang: &str) -> Vec<String> {
        terms(text, lang).iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_compound_gives_its_whole_and_its_parts() {
        for (text, want) in [
            ("TS-999", vec!["ts999", "ts", "999"]),
            ("v1.2.3", vec!["v1.2.3", "v1", "2", "3"]),
            ("HTTPServer", vec!["httpserver", "http", "server"]),
            ("__init__", vec!["init"]),
            ("foo.bar::baz", vec!["foobarbaz", "foo", "bar", "baz"]),
            (
                "src/my_lib.rs",
                vec!["srcmylibr", "src", "mylib", "my", "lib", "rs"],
            ),
            ("ann@mail.org", vec!["annmailorg", "ann", "mail", "org"]),
            ("2023-09-11", vec!["2023.09.11", "2023", "09", "11"]),
            ("1,000,000", vec!["1000000"]),
            ("14,2", vec!["14.2", "14", "2"]),
            ("URLs", vec!["url"]),
            ("utf8", vec!["utf8"]),
            ("e-mail", vec!["email", "e", "mail"]),
            (
                "C++, C# and AT&T",
                vec!["c", "c++", "c", "c#", "and", "att", "at", "t"],
            ),
            ("don't", vec!["dont", "don"]),
            ("O'Brien's", vec!["obrien", "brien"]),
        ] {
            assert_eq!(of(text, "en"), want, "{text}");
        }
    }

    #[test]
    fn spellings_of_one_identifier_share_its_whole() {
        let whole = |text| of(text, "en")[0].clone();
        let spellings = [
            "parse_args",
            "parseArgs",
            "ParseArgs",
            "parse-args",
            "parseargs",
            "PARSE_ARGS",
        ];
        assert_eq!(
            spellings.map(whole),
            spellings.map(|_| "parsearg".to_owned())
        );
    }

    #[test]
    fn french_elisions_are_left_away() {
        assert_eq!(of("L’élève qu'il préférait", "fr"), ["elev", "il", "pref"]);
        assert_eq!(of("aujourd'hui", "fr"), ["aujourdhui", "aujourd", "hui"]);
    }

    #[test]
    fn a_vietnamese_word_is_found_with_and_without_its_tones() {
        assert_eq!(of("Đội thủ", "vi"), ["đội", "doi", "thủ", "thu"]);
    }

    #[test]
    fn unspaced_scripts_give_bigrams() {
        for (text, want) in [
            ("黑豹队", vec!["黑豹", "豹队"]),
            ("水", vec!["水"]),
            ("東京2020年", vec!["東京", "2020", "年"]),
            ("人々、ﾗｰﾒﾝ", vec!["人々", "ラー", "ーメ", "メン"]),
            ("한국어", vec!["한국", "국어"]),
            ("ที่นี่", vec!["ที่นี่"]),
        ] {
            assert_eq!(of(text, ""), want, "{text}");
        }
    }

    #[test]
    fn what_does_not_show_does_not_count() {
        assert_eq!(
            of("co\u{AD}operate\u{200B}d \u{FEFF}🚀\u{FE0F}", "en"),
            ["cooper", "🚀"]
        );
    }

    fn text() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            "[a-zA-Z]{1,8}",
            "[a-zA-Z0-9_.:/'@&,#+-]{1,16}",
            "[éàüßİıđơ’ạầ]{1,6}",
            "[漢字かなカー한국กี]{1,6}",
            any::<String>(),
        ];
        proptest::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn any_text_has_terms_that_can_be_kept(text in any::<String>(), lang in "(en|fr|vi|zh|ar|xx|)") {
            let terms = terms(&text, &lang);
            prop_assert_eq!(terms.iter().count(), terms.len() as usize);
            prop_assert!(terms.iter().all(|term| !term.is_empty() && term.len() < 1 << 12));
        }

        #[test]
        fn the_words_of_a_text_have_the_terms_of_the_text(text in text(), lang in "(en|fr|vi|zh)") {
            let whole = of(&text, &lang);
            let apart: Vec<String> = text.split(' ').flat_map(|word| of(word, &lang)).collect();
            prop_assert_eq!(whole, apart);
        }

        #[test]
        fn a_query_asks_for_terms_that_a_document_of_its_words_has(text in text(), lang in "(en|fr|vi|zh)") {
            let document = of(&text, &lang);
            for word in Asker::new(&[lang.as_str(), "de"]).ask(&text) {
                let other = of(&text, "de");
                prop_assert!(document.contains(&word.term) || other.contains(&word.term), "{}", word.term);
            }
        }

        #[test]
        fn a_reused_analyzer_makes_the_same_terms(texts in proptest::collection::vec(text(), 1..5)) {
            let mut analyzer = Analyzer::of_documents("en");
            for text in texts {
                let mut reused = Terms::default();
                analyzer.append(&text, &mut reused);
                prop_assert_eq!(reused, terms(&text, "en"));
            }
        }

        #[test]
        fn composed_and_decomposed_text_have_the_same_terms(text in text(), lang in "(en|fr|vi|zh)") {
            use unicode_normalization::UnicodeNormalization;
            let decomposed: String = text.nfd().collect();
            let composed: String = text.nfc().collect();
            prop_assert_eq!(of(&decomposed, &lang), of(&composed, &lang));
        }
    }
}
