//! Which terms does a word have in a language?

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::Lang;

use super::{Terms, fold};

/// Words whose terms are remembered; the cache starts afresh when it is full. A language's working
/// vocabulary fits, a flood of identifiers does not grow it.
const CACHED_WORDS: usize = 1 << 16;

/// How one language writes its terms.
enum Voice {
    /// The stem of the folded word.
    Stemmed(Stemmer),
    /// The folded word.
    Folded,
    /// The word as written and, where that differs, folded: tones tell words apart, and are often
    /// not typed. A query is taken at its word: with tones it means them, without it may mean any.
    /// (To ask for both as well cost two points of recall@5.)
    Toned,
}

impl Voice {
    /// Languages without a stemmer of their own: where the script is not Latin, Latin words are
    /// mostly English; where nothing is known ("") the text is most often code or English.
    fn of(lang: &str) -> Self {
        Voice::Stemmed(Stemmer::create(match lang {
            "" | "en" | "zh" | "ja" | "ko" | "th" | "lo" | "km" | "my" => Algorithm::English,
            "vi" => return Voice::Toned,
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
            _ => return Voice::Folded,
        }))
    }
}

/// The languages of one analyzer, and the words they have been asked for.
pub(super) struct Voices {
    voices: Vec<Voice>,
    cache: HashMap<Box<str>, (Box<str>, u32), BuildHasherDefault<WordHasher>>,
    folded: String,
    asks: bool,
}

impl Voices {
    /// The voices of a document or, with `asks`, of a query.
    pub(super) fn new<S: AsRef<str>>(langs: &[S], asks: bool) -> Self {
        let mut names: Vec<&str> = langs.iter().map(AsRef::as_ref).collect();
        if names.is_empty() {
            names.push("");
        }
        names.sort_unstable();
        names.dedup();
        Voices {
            voices: names.into_iter().map(Voice::of).collect(),
            cache: HashMap::default(),
            folded: String::new(),
            asks,
        }
    }

    /// Appends the distinct terms of a word that is in lower case, its accents kept.
    pub(super) fn speak(&mut self, word: &str, terms: &mut Terms) {
        if let Some((joined, count)) = self.cache.get(word) {
            return terms.push_joined(joined, *count);
        }
        let distinct = self.terms_of(word);
        let mut made = Terms::default();
        distinct.iter().for_each(|term| made.push(term));
        terms.push_joined(made.joined(), made.len());
        if self.cache.len() >= CACHED_WORDS {
            self.cache.clear();
        }
        self.cache
            .insert(word.into(), (made.joined().into(), made.len()));
    }

    fn terms_of(&mut self, word: &str) -> Vec<String> {
        self.folded.clear();
        fold::unaccented(word, &mut self.folded);
        let mut distinct: Vec<String> = Vec::with_capacity(self.voices.len() + 1);
        let mut add = |term: &str| {
            if !term.is_empty() && !distinct.iter().any(|other| other == term) {
                distinct.push(term.to_owned());
            }
        };
        for voice in &self.voices {
            match voice {
                Voice::Stemmed(stemmer) => add(&stemmer.stem(&self.folded)),
                Voice::Folded => add(&self.folded),
                Voice::Toned => {
                    add(word);
                    if !self.asks {
                        add(&self.folded);
                    }
                }
            }
        }
        distinct
    }
}

/// Multiplies and rotates eight bytes at a time: words are short, and no one gains by making them
/// collide in a cache that is bounded.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// Characters of a text that its language is told from: more of them change nothing.
const DETECTED_CHARS: usize = 4096;

/// The ISO 639-1 code of the text's language, or "" where it is not reliable.
pub fn detect_lang(text: &str) -> &'static str {
    let end = text
        .char_indices()
        .nth(DETECTED_CHARS)
        .map_or(text.len(), |(at, _)| at);
    match whatlang::detect(&text[..end]) {
        Some(info) if info.is_reliable() => iso_639_1(info.lang()),
        _ => "",
    }
}

fn iso_639_1(lang: Lang) -> &'static str {
    match lang {
        Lang::Epo => "eo",
        Lang::Eng => "en",
        Lang::Rus => "ru",
        Lang::Cmn => "zh",
        Lang::Spa => "es",
        Lang::Por => "pt",
        Lang::Ita => "it",
        Lang::Ben => "bn",
        Lang::Fra => "fr",
        Lang::Deu => "de",
        Lang::Ukr => "uk",
        Lang::Kat => "ka",
        Lang::Ara => "ar",
        Lang::Hin => "hi",
        Lang::Jpn => "ja",
        Lang::Heb => "he",
        Lang::Yid => "yi",
        Lang::Pol => "pl",
        Lang::Amh => "am",
        Lang::Jav => "jv",
        Lang::Kor => "ko",
        Lang::Nob => "no",
        Lang::Dan => "da",
        Lang::Swe => "sv",
        Lang::Fin => "fi",
        Lang::Tur => "tr",
        Lang::Nld => "nl",
        Lang::Hun => "hu",
        Lang::Ces => "cs",
        Lang::Ell => "el",
        Lang::Bul => "bg",
        Lang::Bel => "be",
        Lang::Mar => "mr",
        Lang::Kan => "kn",
        Lang::Ron => "ro",
        Lang::Slv => "sl",
        Lang::Hrv => "hr",
        Lang::Srp => "sr",
        Lang::Mkd => "mk",
        Lang::Lit => "lt",
        Lang::Lav => "lv",
        Lang::Est => "et",
        Lang::Tam => "ta",
        Lang::Vie => "vi",
        Lang::Urd => "ur",
        Lang::Tha => "th",
        Lang::Guj => "gu",
        Lang::Uzb => "uz",
        Lang::Pan => "pa",
        Lang::Aze => "az",
        Lang::Ind => "id",
        Lang::Tel => "te",
        Lang::Pes => "fa",
        Lang::Mal => "ml",
        Lang::Ori => "or",
        Lang::Mya => "my",
        Lang::Nep => "ne",
        Lang::Sin => "si",
        Lang::Khm => "km",
        Lang::Tuk => "tk",
        Lang::Aka => "ak",
        Lang::Zul => "zu",
        Lang::Sna => "sn",
        Lang::Afr => "af",
        Lang::Lat => "la",
        Lang::Slk => "sk",
        Lang::Cat => "ca",
        Lang::Tgl => "tl",
        Lang::Hye => "hy",
        Lang::Cym => "cy",
    }
}
