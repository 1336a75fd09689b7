//! Normalization of words by language: stemming, folding, tones.

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;

use super::fold;
use super::terms::Terms;

/// Words whose terms are cached; a full cache is cleared. The working vocabulary of a language
/// fits, and a stream of new identifiers does not grow it.
const CACHED_WORDS: usize = 1 << 16;

/// How one language normalizes a word.
enum Rule {
    /// The stem of the folded word.
    Stem(Stemmer),
    /// The folded word.
    Fold,
    /// The word as written and, if different, folded: tones distinguish words, and are often not
    /// typed. In a query only the word as written counts: with tones it means that word, without
    /// it may mean any. (Adding the folded word to queries cost two points of recall@5.)
    KeepTones,
}

impl Rule {
    /// Returns the rule of a language.
    ///
    /// Languages without a stemmer: if the script is not Latin, Latin words in the text are mostly
    /// English; if nothing is known (""), the text is most often code or English.
    fn of(lang: &str) -> Self {
        Rule::Stem(Stemmer::create(match lang {
            "" | "en" | "zh" | "ja" | "ko" | "th" | "lo" | "km" | "my" => Algorithm::English,
            "vi" => return Rule::KeepTones,
            "ar" => Algorithm::Arabic,
            "da" => Algorithm::Danish,
            "nl" => Algorithm::Dutch,
            "fi" => Algorithm::Finnish,
            "fr" => Algorithm::French,
            "de" => Algorithm::German,
            "el" => Algorithm::Greek,
            "hu" => Algorithm::Hungarian,
            "it" => Algorithm::Italian,
            "no" | "nb" | "nn" => Algorithm::Norwegian,
            "pt" => Algorithm::Portuguese,
            "ro" => Algorithm::Romanian,
            "ru" => Algorithm::Russian,
            "es" => Algorithm::Spanish,
            "sv" => Algorithm::Swedish,
            "ta" => Algorithm::Tamil,
            "tr" => Algorithm::Turkish,
            _ => return Rule::Fold,
        }))
    }
}

/// Makes the terms of words, by the rules of one or several languages, and caches them.
pub(super) struct Normalizer {
    rules: Vec<Rule>,
    cache: FxHashMap<Box<str>, (Box<str>, u32)>,
    folded: String,
    input: Input,
}

/// What a normalizer reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Document,
    Query,
}

impl Normalizer {
    /// Returns a normalizer for documents in a language.
    pub(super) fn for_documents(lang: &str) -> Self {
        Self::new(&[lang], Input::Document)
    }

    /// Returns a normalizer for queries in any of these languages.
    pub(super) fn for_queries<S: AsRef<str>>(langs: &[S]) -> Self {
        Self::new(langs, Input::Query)
    }

    fn new<S: AsRef<str>>(langs: &[S], input: Input) -> Self {
        let mut langs: Vec<&str> = langs.iter().map(AsRef::as_ref).collect();
        if langs.is_empty() {
            langs.push("");
        }
        langs.sort_unstable();
        langs.dedup();
        Normalizer {
            rules: langs.into_iter().map(Rule::of).collect(),
            cache: FxHashMap::default(),
            folded: String::new(),
            input,
        }
    }

    /// Appends the distinct terms of a word in lower case with its accents.
    pub(super) fn append(&mut self, word: &str, terms: &mut Terms) {
        if let Some((joined, count)) = self.cache.get(word) {
            return terms.push_joined(joined, *count);
        }
        let mut made = Terms::default();
        for term in self.distinct_terms(word) {
            made.push(&term);
        }
        terms.push_joined(made.joined(), made.len());
        if self.cache.len() >= CACHED_WORDS {
            self.cache.clear();
        }
        self.cache
            .insert(word.into(), (made.joined().into(), made.len()));
    }

    fn distinct_terms(&mut self, word: &str) -> Vec<String> {
        self.folded.clear();
        fold::unaccented(word, &mut self.folded);
        let mut distinct: Vec<String> = Vec::with_capacity(self.rules.len() + 1);
        let mut add = |term: &str| {
            if !term.is_empty() && !distinct.iter().any(|other| other == term) {
                distinct.push(term.to_owned());
            }
        };
        for rule in &self.rules {
            match rule {
                Rule::Stem(stemmer) => add(&stemmer.stem(&self.folded)),
                Rule::Fold => add(&self.folded),
                Rule::KeepTones => {
                    add(word);
                    if self.input == Input::Document {
                        add(&self.folded);
                    }
                }
            }
        }
        distinct
    }
}
