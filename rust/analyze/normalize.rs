//! Normalization of words by language: stemming, folding, tones.

use rust_stemmers::{Algorithm, Stemmer};

use super::terms::Terms;
use super::{fold, hindi, variants};
use crate::interner::WordMap;

/// In a value of [`Cache::words`]: the rest is an index into [`Cache::several`].
const SEVERAL: u32 = 1 << 31;

/// How one language normalizes a word.
enum Rule {
    /// The stem of the folded word.
    Stem(Stemmer),
    /// The stem of the folded word by its script: that of an English word in its American spelling, and
    /// of a word that is not Latin in the language that is most often written so.
    ByScript(Box<Stemmers>),
    /// The stem of the folded German word without the e of a written-out umlaut.
    German(Stemmer),
    /// The folded Hindi stem.
    Hindi,
    /// The folded stem of the word as written, and in a document, if different, the stem of the folded
    /// word: the endings of a Turkish word depend on the accents, which are often not typed.
    Turkish(Stemmer),
    /// The folded word.
    Fold,
    /// The word as written and, if different, folded: tones distinguish words, and are often not
    /// typed. In a query only the word as written counts: with tones it means that word, without
    /// it may mean any. (Adding the folded word to queries cost two points of recall@5.)
    KeepTones,
}

/// The stemmers of a text whose language is not known: of each script's foremost language.
struct Stemmers {
    english: Stemmer,
    arabic: Stemmer,
    greek: Stemmer,
    russian: Stemmer,
    tamil: Stemmer,
}

impl Stemmers {
    fn new() -> Self {
        Stemmers {
            english: Stemmer::create(Algorithm::English),
            arabic: Stemmer::create(Algorithm::Arabic),
            greek: Stemmer::create(Algorithm::Greek),
            russian: Stemmer::create(Algorithm::Russian),
            tamil: Stemmer::create(Algorithm::Tamil),
        }
    }

    fn stem(&self, folded: &str) -> String {
        let first = folded.chars().find(|c| c.is_alphabetic());
        let stemmer = match first {
            Some('\u{370}'..='\u{3FF}') => &self.greek,
            Some('\u{400}'..='\u{4FF}') => &self.russian,
            Some('\u{620}'..='\u{6FF}') => &self.arabic,
            Some('\u{900}'..='\u{97F}') => return hindi::stem(folded).to_owned(),
            Some('\u{B80}'..='\u{BFF}') => &self.tamil,
            _ => return self.english.stem(&variants::american(folded)).into_owned(),
        };
        stemmer.stem(folded).into_owned()
    }
}

impl Rule {
    /// Returns the rule of a language.
    ///
    /// Languages without a stemmer: if the script is not Latin, Latin words in the text are mostly
    /// English; if nothing is known (""), the text is most often code or English.
    fn of(lang: &str) -> Self {
        Rule::Stem(Stemmer::create(match rule_of(lang) {
            "" => return Rule::ByScript(Box::new(Stemmers::new())),
            "de" => return Rule::German(Stemmer::create(Algorithm::German)),
            "hi" => return Rule::Hindi,
            "tr" => return Rule::Turkish(Stemmer::create(Algorithm::Turkish)),
            "vi" => return Rule::KeepTones,
            "ar" => Algorithm::Arabic,
            "da" => Algorithm::Danish,
            "nl" => Algorithm::Dutch,
            "fi" => Algorithm::Finnish,
            "fr" => Algorithm::French,
            "el" => Algorithm::Greek,
            "hu" => Algorithm::Hungarian,
            "it" => Algorithm::Italian,
            "no" => Algorithm::Norwegian,
            "pt" => Algorithm::Portuguese,
            "ro" => Algorithm::Romanian,
            "ru" => Algorithm::Russian,
            "es" => Algorithm::Spanish,
            "sv" => Algorithm::Swedish,
            "ta" => Algorithm::Tamil,
            _ => return Rule::Fold,
        }))
    }

    /// Returns the term of a word, and in a document a second one of some languages.
    fn terms(&self, word: &str, folded: &str, input: Input) -> [String; 2] {
        let mut second = String::new();
        let term = match self {
            Rule::Stem(stemmer) => stemmer.stem(folded).into_owned(),
            Rule::ByScript(stemmers) => stemmers.stem(folded),
            Rule::German(stemmer) => {
                let bare = variants::without_umlauts(folded);
                stemmer.stem(&bare).into_owned()
            }
            Rule::Hindi => hindi::stem(folded).to_owned(),
            Rule::Turkish(stemmer) => {
                if input == Input::Document {
                    second = stemmer.stem(folded).into_owned();
                }
                let mut stem = String::new();
                fold::unaccented(&stemmer.stem(word), &mut stem);
                stem
            }
            Rule::Fold => folded.to_owned(),
            Rule::KeepTones => {
                if input == Input::Document {
                    second = folded.to_owned();
                }
                word.to_owned()
            }
        };
        [term, second]
    }
}

/// Returns the language whose rule a language has; "" is that of unknown ones.
pub(super) fn rule_of(lang: &str) -> &str {
    match lang {
        "en" | "zh" | "ja" | "ko" | "th" | "lo" | "km" | "my" => "",
        "nb" | "nn" => "no",
        _ => lang,
    }
}

/// Makes the terms of words, by the rule of a language, and caches them.
pub(super) struct Normalizer {
    rule: Rule,
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
        Self::new(lang, Input::Document)
    }

    /// Returns a normalizer for queries in a language, which makes one term of each word.
    pub(super) fn for_queries(lang: &str) -> Self {
        Self::new(lang, Input::Query)
    }

    fn new(lang: &str, input: Input) -> Self {
        Normalizer {
            rule: Rule::of(lang),
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
        if word.is_empty() {
            return;
        }
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
        let [mut term, second] = self.rule.terms(word, &self.folded, self.input);
        // A word of which nothing is left, such as an ending alone, is its own term.
        if term.is_empty() {
            term = if self.folded.is_empty() {
                word.to_owned()
            } else {
                self.folded.clone()
            };
        }
        if second.is_empty() || second == term {
            vec![term]
        } else {
            vec![term, second]
        }
    }
}
