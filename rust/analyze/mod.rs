//! Analysis of text into terms.
//!
//! The index and the query share one analyzer:
//!
//! * A word is folded (NFKC, lower case, no accents: [`fold`]), then stemmed by language
//!   ([`normalize`]). Folding comes first, so that a query typed without accents has the same stem;
//!   a Turkish word, whose endings depend on its accents, has a stem before and one after folding.
//! * Of an English word, the British and the American spelling are one, as are a German umlaut and
//!   its two letters ([`variants`]).
//! * Vietnamese tones distinguish words, so a Vietnamese word gives two terms: as written, and
//!   folded.
//! * Han, kana, Hangul, Thai, Lao, Khmer and Burmese are written without spaces: a run of them
//!   gives its overlapping bigrams, or its single character ([`script`]); the four alphabets among
//!   them give trigrams, too.
//! * A compound (`parse_args`, `parseArgs`, `TS-999`, `v1.2.3`, `a/b.py`, `don't`) gives itself
//!   without its joiners, and its parts ([`compound`]).
//!
//! Stop words are indexed, because a query may consist of them; [`QueryAnalyzer`] reduces their
//! weight.

mod compound;
mod detect;
mod fold;
mod hindi;
mod normalize;
mod query;
mod script;
mod terms;
mod variants;

pub use detect::{detect_lang, document_lang, lang_code};
pub use query::{QueryAnalyzer, QueryTerm};
pub use script::is_unspaced;

use std::ops::Range;

use compound::Compound;
use normalize::Normalizer;
use script::{Class, class_of, is_unspaced_alphabet};
use terms::Terms;

use crate::interner::Interner;

/// The version of the terms that this module makes; an index with another version is rebuilt.
pub const VERSION: u32 = 3;

/// Words whose terms are kept: the working vocabulary of a language fits, and a stream of new
/// identifiers does not grow it.
const CACHED_WORDS: usize = 1 << 16;

/// An analyzer for a language, with reusable buffers and a cache of words. Terms have
/// numbers, which hold until [`Analyzer::trim`] replaces the vocabulary.
pub struct Analyzer {
    normalizer: Normalizer,
    compound: Compound,
    vocabulary: Interner,
    clean: String,
}

impl Analyzer {
    /// Returns an analyzer for documents in a language (ISO 639-1; "" if unknown).
    pub fn for_documents(lang: &str) -> Self {
        Self::new(Normalizer::for_documents(lang))
    }

    /// Returns an analyzer for queries in a language, which gives each word one term.
    pub fn for_queries(lang: &str) -> Self {
        Self::new(Normalizer::for_queries(lang))
    }

    fn new(normalizer: Normalizer) -> Self {
        Analyzer {
            normalizer,
            compound: Compound::default(),
            vocabulary: Interner::default(),
            clean: String::new(),
        }
    }

    /// Appends the numbers of the terms of a text, in order.
    pub fn append(&mut self, text: &str, numbers: &mut Vec<u32>) {
        let mut scanner = Scanner {
            normalizer: &mut self.normalizer,
            compound: &mut self.compound,
            terms: Terms::new(&mut self.vocabulary, numbers),
        };
        if text.is_ascii() {
            return scanner.scan(text);
        }
        fold::clean(text, &mut self.clean);
        scanner.scan(&self.clean);
    }

    /// Returns the term with this number, in UTF-8.
    ///
    /// # Panics
    /// If there is none.
    pub fn term(&self, number: u32) -> &[u8] {
        self.vocabulary.word(number)
    }

    /// Returns the number of a term.
    pub fn number(&mut self, term: &str) -> u32 {
        self.vocabulary.intern(term.as_bytes())
    }

    /// Returns the terms of a text.
    pub fn terms(&mut self, text: &str) -> Vec<String> {
        self.trim();
        let mut numbers = Vec::new();
        self.append(text, &mut numbers);
        let term = |&number| String::from_utf8_lossy(self.term(number)).into_owned();
        numbers.iter().map(term).collect()
    }

    /// Replaces the vocabulary by an empty one if it has become large; returns whether it has.
    pub fn trim(&mut self) -> bool {
        let full = self.normalizer.cached().max(self.vocabulary.len()) >= CACHED_WORDS;
        if full {
            self.vocabulary = Interner::default();
            self.normalizer.clear();
        }
        full
    }
}

/// The parts of an analyzer while it reads a text.
struct Scanner<'a> {
    normalizer: &'a mut Normalizer,
    compound: &'a mut Compound,
    terms: Terms<'a>,
}

impl Scanner<'_> {
    /// Appends the terms of clean text, one run of characters at a time.
    fn scan(&mut self, text: &str) {
        let Scanner {
            normalizer,
            compound,
            terms,
        } = self;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            if let Some(length) = plain_word(&text.as_bytes()[at..]) {
                normalizer.append(&text[at..at + length], terms);
                at += length;
                continue;
            }
            at += match class_of(c) {
                Class::Word => compound.take(&text[at..], normalizer, terms),
                Class::Unspaced => {
                    let run = &text[at..];
                    each_bigram(run, |span| terms.push(&run[span]))
                }
                Class::Symbol => {
                    terms.push(&text[at..at + c.len_utf8()]);
                    c.len_utf8()
                }
                Class::Mark | Class::Other => c.len_utf8(),
            };
        }
    }
}

/// Returns the length of the word that a text begins with, if it consists of lower-case ASCII
/// letters and is no part of a compound. Most words are of this kind and take the fast path.
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

/// Returns the terms of a document's text.
pub fn terms(text: &str, lang: &str) -> Vec<String> {
    Analyzer::for_documents(lang).terms(text)
}

/// Calls a function with each word of a text, folded, in scripts with spaces.
pub fn each_folded_word(text: &str, mut take: impl FnMut(&str)) {
    let (mut clean, mut word, mut folded) = (String::new(), String::new(), String::new());
    fold::clean(text, &mut clean);
    for c in clean.chars().chain([' ']) {
        match class_of(c) {
            Class::Word => fold::lower(c, &mut word),
            Class::Mark => word.push(c),
            _ if word.is_empty() => {}
            _ => {
                folded.clear();
                fold::unaccented(&word, &mut folded);
                word.clear();
                take(&folded);
            }
        }
    }
}

/// Returns the terms of a text in scripts without spaces as spans of characters: each is a bigram, or
/// a character that is alone.
pub fn unspaced_spans(text: &str) -> Vec<(usize, usize)> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        at += match class_of(c) {
            Class::Unspaced => each_bigram(&text[at..], |span| {
                spans.push((at + span.start, at + span.end));
            }),
            _ => c.len_utf8(),
        };
    }
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let character = |byte| starts.partition_point(|&start| start < byte);
    spans
        .iter()
        .map(|&(start, end)| (character(start), character(end)))
        .collect()
}

/// Calls a function with each bigram of the run of unspaced script that a text begins with, or with
/// its single character; returns the length of the run in bytes.
///
/// A unit is a character and the combining marks after it (Thai vowels, for example). Of an alphabet,
/// it is called with each trigram, too.
fn each_bigram(text: &str, mut take: impl FnMut(Range<usize>)) -> usize {
    let is_alphabet = text.starts_with(is_unspaced_alphabet);
    let (mut before, mut two_before) = (None, None);
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
            take(before..at);
        }
        if let Some(start) = two_before.filter(|_| is_alphabet) {
            take(start..at);
        }
        (two_before, before) = (before, Some(unit));
        unit = at;
    }
    take(before.unwrap_or(0)..end);
    if let Some(start) = two_before.filter(|_| is_alphabet) {
        take(start..end);
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str, lang: &str) -> Vec<String> {
        terms(text, lang)
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
    fn spellings_of_one_word_are_one_term() {
        for (one, other, lang) in [
            ("Licences", "license", "en"),
            ("organisational", "organizational", "en"),
            ("FAVOURABLE", "favorable", ""),
            ("programmes", "program", "en"),
            ("non-compete", "noncompete", "en"),
            ("Müller", "Mueller", "de"),
            ("Straße", "strasse", "de"),
            ("Überprüfung", "Ueberpruefung", "de"),
            ("cœur", "coeur", "fr"),
            ("événements", "evenement", "fr"),
            ("week-end", "weekend", "fr"),
        ] {
            assert_eq!(of(one, lang)[0], of(other, lang)[0], "{one}, {other}");
        }
    }

    #[test]
    fn french_elisions_are_dropped() {
        assert_eq!(of("L’élève qu'il préférait", "fr"), ["elev", "il", "pref"]);
        assert_eq!(of("aujourd'hui", "fr"), ["aujourdhui", "aujourd", "hui"]);
    }

    #[test]
    fn a_trimmed_analyzer_makes_the_same_terms() {
        let mut analyzer = Analyzer::for_documents("en");
        assert!(!analyzer.trim());
        let mut numbers = Vec::new();
        for word in 0..CACHED_WORDS {
            analyzer.append(&format!("word{word} rivers"), &mut numbers);
        }
        assert!(analyzer.trim());
        assert_eq!(analyzer.terms("a river: word7"), ["a", "river", "word7"]);
    }

    #[test]
    fn a_vietnamese_word_is_found_with_and_without_its_tones() {
        assert_eq!(of("Đội thủ", "vi"), ["đội", "doi", "thủ", "thu"]);
    }

    #[test]
    fn spans_of_unspaced_scripts_are_those_of_their_terms() {
        let text = "le 東京都 et ที่นี่, 山 (한국)";
        let characters: Vec<char> = text.chars().collect();
        let spanned: Vec<String> = unspaced_spans(text)
            .iter()
            .map(|&(start, end)| characters[start..end].iter().collect())
            .collect();
        let mut unspaced = of(text, "");
        unspaced.retain(|term| !term.is_ascii());
        assert_eq!(spanned, unspaced);
        assert_eq!(spanned, ["東京", "京都", "ที่นี่", "山", "한국"]);
        assert!(unspaced_spans("no such letter, même pas ici").is_empty());
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
            ("อาหาร", vec!["อา", "าห", "อาห", "หา", "าหา", "าร", "หาร"]),
        ] {
            assert_eq!(of(text, ""), want, "{text}");
        }
    }

    #[test]
    fn invisible_characters_are_dropped() {
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

    const LANGS: [&str; 24] = [
        "", "ar", "da", "de", "el", "en", "es", "fa", "fi", "fr", "hi", "hu", "it", "nb", "nl",
        "pl", "pt", "ro", "ru", "sv", "ta", "th", "tr", "vi",
    ];

    proptest! {
        #[test]
        fn a_word_as_it_is_written_finds_the_text_that_holds_it(
            text in text(),
            lang in proptest::sample::select(&LANGS[..]),
            others in proptest::collection::vec(proptest::sample::select(&LANGS[..]), 0..4),
        ) {
            let document = of(&text, lang);
            let mut query = QueryAnalyzer::new(&[&others[..], &[lang]].concat());
            for word in text.split(' ') {
                let terms = query.analyze(word);
                let has = of(word, lang).is_empty() || terms.iter().any(|t| document.contains(&t.term));
                prop_assert!(has, "{word:?} in {lang}: {terms:?}, {document:?}");
            }
        }

        #[test]
        fn a_query_has_one_term_of_each_word_by_each_language(text in text()) {
            let counts = LANGS.map(|lang| Analyzer::for_queries(lang).terms(&text).len());
            prop_assert!(counts.iter().all(|&count| count == counts[0]));
        }

        #[test]
        fn terms_are_never_empty_and_never_long(text in any::<String>(), lang in "(en|fr|vi|zh|ar|xx|)") {
            let terms = terms(&text, &lang);
            prop_assert!(terms.iter().all(|term| !term.is_empty() && term.len() < 1 << 12));
        }

        #[test]
        fn a_text_has_the_terms_of_its_words(text in text(), lang in "(en|fr|vi|zh)") {
            let whole = of(&text, &lang);
            let apart: Vec<String> = text.split(' ').flat_map(|word| of(word, &lang)).collect();
            prop_assert_eq!(whole, apart);
        }

        #[test]
        fn the_terms_of_a_query_are_terms_of_a_document_with_the_same_words(text in text(), lang in "(en|fr|vi|zh)") {
            let document = of(&text, &lang);
            for word in QueryAnalyzer::new(&[lang.as_str(), "de"]).analyze(&text) {
                let other = of(&text, "de");
                prop_assert!(document.contains(&word.term) || other.contains(&word.term), "{}", word.term);
            }
        }

        #[test]
        fn a_reused_analyzer_makes_the_same_terms(texts in proptest::collection::vec(text(), 1..5)) {
            let mut analyzer = Analyzer::for_documents("en");
            for text in texts {
                prop_assert_eq!(analyzer.terms(&text), terms(&text, "en"));
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
