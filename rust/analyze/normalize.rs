//! Normalization of words by language: stemming, folding, tones.

use rust_stemmers::{Algorithm, Stemmer};

use super::terms::Terms;
use super::{fold, variants};
use crate::interner::WordMap;

/// In a value of [`Cache::words`]: the rest is an index into [`Cache::several`].
const SEVERAL: u32 = 1 << 31;

/// How one language normalizes a word.
enum Rule {
    /// The stem of the folded word.
    Stem(Stemmer),
    /// The stem of the folded English word in its American spelling.
    English(Stemmer),
    /// The stem of the folded German word without the e of a written-out umlaut.
    German(Stemmer),
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
            "" | "en" | "zh" | "ja" | "ko" | "th" | "lo" | "km" | "my" => {
                return Rule::English(Stemmer::create(Algorithm::English));
            }
            "de" => return Rule::German(Stemmer::create(Algorithm::German)),
            "vi" => return Rule::KeepTones,
            "ar" => Algorithm::Arabic,
            "da" => Algorithm::Danish,
            "nl" => Algorithm::Dutch,
            "fi" => Algorithm::Finnish,
            "fr" => Algorithm::French,
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
    cache: Cache,
    folded: String,
    input: Input,
}

/// The terms of words, as numbers of a vocabulary.
#[derive(Default)]
struct Cache {
    /// The number of the term of a word, or [`SEVERAL`].
    words: WordMap,
    several: Vec<Box<[u32]>>,
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
            cache: Cache::default(),
            folded: String::new(),
            input,
        }
    }

    /// Returns the number of words whose terms are cached.
    pub(super) fn cached(&self) -> usize {
        self.cache.words.len()
    }

    /// Forgets the numbers of terms, when the vocabulary is replaced.
    pub(super) fn clear(&mut self) {
        self.cache = Cache::default();
    }

    /// Appends the distinct terms of a word in lower case with its accents.
    #[inline]
    pub(super) fn append(&mut self, word: &str, terms: &mut Terms) {
        match self.cache.words.get(word.as_bytes()) {
            Some(number) if number < SEVERAL => terms.push_number(number),
            Some(index) => terms.push_numbers(&self.cache.several[(index ^ SEVERAL) as usize]),
            None => self.append_new(word, terms),
        }
    }

    #[cold]
    fn append_new(&mut self, word: &str, terms: &mut Terms) {
        let distinct = self.distinct_terms(word);
        let numbers: Box<[u32]> = distinct.iter().map(|term| terms.number(term)).collect();
        terms.push_numbers(&numbers);
        let value = match *numbers {
            [number] => number,
            _ => {
                self.cache.several.push(numbers);
                SEVERAL | (self.cache.several.len() as u32 - 1)
            }
        };
        self.cache.words.get_or_insert(word.as_bytes(), value);
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
                Rule::English(stemmer) => add(&stemmer.stem(&variants::american(&self.folded))),
                Rule::German(stemmer) => {
                    add(&stemmer.stem(&variants::without_umlauts(&self.folded)));
                }
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
