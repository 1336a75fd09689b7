//! Language detection.

use std::collections::HashSet;
use std::sync::LazyLock;

use whatlang::{Lang, Script};

use super::query::function_words;

/// Characters that are read to detect a language; more of them did not change the result.
const DETECTED_CHARS: usize = 4096;

/// Returns the ISO 639-1 code of a text's language, or "" if detection is not reliable.
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

/// The languages in Latin letters whose function words are known, with these.
static LISTED: LazyLock<[(&str, HashSet<&str>); 6]> = LazyLock::new(|| {
    ["en", "fr", "vi", "de", "es", "tr"]
        .map(|lang| (lang, function_words(lang).split(' ').collect()))
});
/// The share of function words from which a text is in a language: English manuals have .3.
const FUNCTION_SHARE: f64 = 0.15;
/// Fewer of them prove nothing.
const FEWEST: usize = 3;

/// Returns the ISO 639-1 code of a document's language, or "" without evidence.
///
/// Of Latin letters the detector's word is not enough: by the frequency of three letters, a list of
/// keywords looks like any language. Function words are evidence, for a language and against
/// another; without any, the detector is believed if it says `likely`, the language of most other
/// documents.
pub fn document_lang(text: &str, likely: &str) -> &'static str {
    let end = text
        .char_indices()
        .nth(DETECTED_CHARS)
        .map_or(text.len(), |(at, _)| at);
    let text = &text[..end];
    let Some(info) = whatlang::detect(text) else {
        return "";
    };
    let detected = iso_639_1(info.lang());
    let trusted = |is_proved: bool| {
        if is_proved || detected == likely {
            detected
        } else {
            ""
        }
    };
    if info.script() != Script::Latin {
        return trusted(info.is_reliable());
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .collect();
    let counts = LISTED.each_ref().map(|(lang, functions)| {
        let held = words.iter().filter(|&word| functions.contains(word));
        (held.count(), *lang)
    });
    let (most, lang) = counts.into_iter().max().unwrap_or_default();
    let own = counts.iter().find(|(_, lang)| *lang == detected);
    let is_evident = most >= FEWEST && most as f64 >= FUNCTION_SHARE * words.len() as f64;
    match own {
        Some(&(own, _)) if 2 * own > most => trusted(info.is_reliable() || is_evident),
        Some(_) if is_evident => lang,
        Some(_) => trusted(false),
        None if info.is_reliable() => detected,
        None if is_evident => lang,
        None => trusted(false),
    }
}

/// Returns the ISO 639-1 code of a language by its name, in English or its own, or by its code of
/// three letters, in any case.
pub fn lang_code(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let is_named = |lang: &&Lang| {
        [lang.eng_name(), lang.name(), lang.code()]
            .map(str::to_lowercase)
            .contains(&name)
    };
    match name.as_str() {
        "chinese" => Some("zh"),
        "norwegian" => Some("no"),
        _ => Lang::all()
            .iter()
            .find(is_named)
            .map(|lang| iso_639_1(*lang)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_names() {
        let names = [
            "English",
            "FRANÇAIS",
            "chinese",
            "norwegian",
            "deu",
            "klingon",
            "en",
            "",
        ];
        assert_eq!(
            names.map(lang_code),
            [
                Some("en"),
                Some("fr"),
                Some("zh"),
                Some("no"),
                Some("de"),
                None,
                None,
                None
            ]
        );
    }

    #[test]
    fn the_language_of_a_document_needs_evidence() {
        let keywords =
            "SELECT INSERT DELETE ROLLBACK TRANSACTION TRIGGER VACUUM PRAGMA ATTACH DETACH";
        assert_eq!(document_lang(keywords, ""), "");
        for (text, likely, want) in [
            ("Restart the workers if one of them is not there.", "", "en"),
            (
                "Le serveur est arrêté avant que la sauvegarde ne soit faite.",
                "",
                "fr",
            ),
            (
                "Die Rechnung ist noch nicht bezahlt und wird geprüft.",
                "",
                "de",
            ),
            ("Sunucu kapalı ise bu dosya daha sonra okunur.", "", "tr"),
            ("今天的会议改到下午三点。", "", "zh"),
            ("", "en", ""),
        ] {
            assert_eq!(document_lang(text, likely), want, "{text}");
        }
    }
}
