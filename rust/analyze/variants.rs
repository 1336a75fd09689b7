//! Spellings of one word that become one: British and American English, and German umlauts that are
//! written out.
//!
//! A rule need not know the word: index and query are spelled by the same rules, so that a word that
//! a rule changes by mistake is still found. Exceptions are words whose stem would else be lost
//! (`precise` and `precision`) or would become another word's.

use std::borrow::Cow;

/// Parts of words, British and American. They are replaced wherever they stand in a word.
const PARTS: [(&str, &str); 60] = [
    ("aemia", "emia"),
    ("aetiolog", "etiolog"),
    ("aluminium", "aluminum"),
    ("analogue", "analog"),
    ("anaesth", "anesth"),
    ("arbour", "arbor"),
    ("archaeo", "archeo"),
    ("ardour", "ardor"),
    ("armour", "armor"),
    ("artefact", "artifact"),
    ("behaviour", "behavior"),
    ("candour", "candor"),
    ("catalogue", "catalog"),
    ("clamour", "clamor"),
    ("colour", "color"),
    ("defence", "defense"),
    ("demeanour", "demeanor"),
    ("dialogue", "dialog"),
    ("encyclopaed", "encycloped"),
    ("endeavour", "endeavor"),
    ("enrolment", "enrollment"),
    ("favour", "favor"),
    ("fervour", "fervor"),
    ("flavour", "flavor"),
    ("foetus", "fetus"),
    ("fulfilment", "fulfillment"),
    ("gynaec", "gynec"),
    ("haemo", "hemo"),
    ("honour", "honor"),
    ("humour", "humor"),
    ("instalment", "installment"),
    ("judgement", "judgment"),
    ("knowledgement", "knowledgment"),
    ("labour", "labor"),
    ("licence", "license"),
    ("manoeuvr", "maneuver"),
    ("marvellous", "marvelous"),
    ("neighbour", "neighbor"),
    ("odour", "odor"),
    ("oedema", "edema"),
    ("oesoph", "esoph"),
    ("oestr", "estr"),
    ("offence", "offense"),
    ("paed", "ped"),
    ("palaeo", "paleo"),
    ("parlour", "parlor"),
    ("plough", "plow"),
    ("pretence", "pretense"),
    ("rancour", "rancor"),
    ("rigour", "rigor"),
    ("rrhoea", "rrhea"),
    ("rumour", "rumor"),
    ("saviour", "savior"),
    ("savour", "savor"),
    ("sceptic", "skeptic"),
    ("skilful", "skillful"),
    ("splendour", "splendor"),
    ("tumour", "tumor"),
    ("vapour", "vapor"),
    ("vigour", "vigor"),
];

/// Whole words, British and American.
const WORDS: [(&str, &str); 46] = [
    ("ageing", "aging"),
    ("calibre", "caliber"),
    ("calibres", "calibers"),
    ("centimetre", "centimeter"),
    ("centimetres", "centimeters"),
    ("centre", "center"),
    ("centred", "centered"),
    ("centres", "centers"),
    ("centring", "centering"),
    ("counsellor", "counselor"),
    ("counsellors", "counselors"),
    ("distil", "distill"),
    ("distils", "distills"),
    ("enquire", "inquire"),
    ("enquired", "inquired"),
    ("enquires", "inquires"),
    ("enquiries", "inquiries"),
    ("enquiring", "inquiring"),
    ("enquiry", "inquiry"),
    ("enrol", "enroll"),
    ("enrols", "enrolls"),
    ("fibre", "fiber"),
    ("fibres", "fibers"),
    ("fulfil", "fulfill"),
    ("fulfils", "fulfills"),
    ("grey", "gray"),
    ("kilometre", "kilometer"),
    ("kilometres", "kilometers"),
    ("litre", "liter"),
    ("litres", "liters"),
    ("metre", "meter"),
    ("metres", "meters"),
    ("millimetre", "millimeter"),
    ("millimetres", "millimeters"),
    ("mould", "mold"),
    ("moulds", "molds"),
    ("practise", "practice"),
    ("practised", "practiced"),
    ("practises", "practices"),
    ("practising", "practicing"),
    ("programme", "program"),
    ("programmes", "programs"),
    ("sombre", "somber"),
    ("theatre", "theater"),
    ("theatres", "theaters"),
    ("wilful", "willful"),
];

/// Verbs whose last letter is doubled before an ending in British English alone.
const DOUBLED: [&str; 26] = [
    "bevel", "cancel", "channel", "dial", "equal", "fuel", "initial", "jewel", "label", "level",
    "libel", "marvel", "model", "panel", "parcel", "pedal", "quarrel", "rival", "shovel", "signal",
    "spiral", "total", "towel", "travel", "tunnel", "unravel",
];
const DOUBLED_ENDINGS: [&str; 4] = ["ed", "ing", "er", "ers"];

/// Endings of verbs in `-ise`, and of what is made of them.
const ISE_ENDINGS: [&str; 11] = [
    "ise",
    "ised",
    "ises",
    "ising",
    "iser",
    "isers",
    "isation",
    "isations",
    "isational",
    "isationally",
    "isable",
];
/// What stands before `-ise` in words that have no other spelling.
const NEVER_IZE: [&str; 39] = [
    "adv", "appra", "appr", "bru", "chast", "circumc", "clockw", "compr", "comprom", "conc", "cru",
    "dem", "desp", "dev", "disgu", "enterpr", "exc", "exerc", "expert", "franch", "improv", "inc",
    "likew", "merchand", "mort", "otherw", "parad", "pra", "prec", "prem", "prom", "repr", "rev",
    "superv", "surpr", "telev", "treat", "turquo", "val",
];
/// A shorter beginning is no verb in `-ise`: rise, wise, noise.
const SHORTEST_BEGINNING: usize = 3;

/// Returns an English word, in lower case without accents, in its American spelling.
pub(super) fn american(word: &str) -> Cow<'_, str> {
    if !word.is_ascii() {
        return Cow::Borrowed(word);
    }
    if let Ok(at) = WORDS.binary_search_by_key(&word, |&(british, _)| british) {
        return Cow::Borrowed(WORDS[at].1);
    }
    if let Some((british, american)) = PARTS.iter().find(|(british, _)| word.contains(british)) {
        return Cow::Owned(word.replacen(british, american, 1));
    }
    undoubled(word)
        .or_else(|| with_z(word))
        .map_or(Cow::Borrowed(word), Cow::Owned)
}

/// Returns a word such as "travelled" with one l.
fn undoubled(word: &str) -> Option<String> {
    DOUBLED_ENDINGS.iter().find_map(|ending| {
        let root = word.strip_suffix(ending)?.strip_suffix('l')?;
        let is_verb = DOUBLED.iter().any(|verb| root.ends_with(verb));
        is_verb.then(|| format!("{root}{ending}"))
    })
}

/// Returns a word such as "organise" or "analysing" with a z.
fn with_z(word: &str) -> Option<String> {
    if let Some(root) = ["yse", "ysed", "yses", "ysing", "yser", "ysers"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending))
        .filter(|root| root.ends_with("al"))
    {
        return Some(format!("{root}yz{}", &word[root.len() + 2..]));
    }
    ISE_ENDINGS.iter().find_map(|ending| {
        let root = word.strip_suffix(ending)?;
        let is_verb = root.len() >= SHORTEST_BEGINNING && !NEVER_IZE.contains(&root);
        is_verb.then(|| format!("{root}iz{}", &ending[2..]))
    })
}

/// Returns a German word, in lower case without accents, with `a`, `o` and `u` for `ae`, `oe` and
/// `ue`: Müller and Mueller are one.
///
/// After a vowel and after q, a u is not the beginning of an umlaut: neue, Bauer, Quelle.
pub(super) fn without_umlauts(word: &str) -> Cow<'_, str> {
    let bytes = word.as_bytes();
    let is_umlaut = |at: usize| match bytes[at..] {
        [b'a' | b'o', b'e', ..] => true,
        [b'u', b'e', ..] => at == 0 || !b"aeiouq".contains(&bytes[at - 1]),
        _ => false,
    };
    if !word.is_ascii() || !(0..bytes.len()).any(is_umlaut) {
        return Cow::Borrowed(word);
    }
    let kept = |&(at, _): &(usize, char)| at == 0 || !is_umlaut(at - 1);
    Cow::Owned(word.char_indices().filter(kept).map(|(_, c)| c).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_or_free_of_repeats() {
        assert!(WORDS.is_sorted());
        for (british, american) in PARTS {
            assert!(!american.contains(british), "{american}");
        }
    }

    #[test]
    fn british_spellings_become_american_ones() {
        for (british, want) in [
            ("licence", "license"),
            ("licences", "licenses"),
            ("favour", "favor"),
            ("unfavourable", "unfavorable"),
            ("organisation", "organization"),
            ("organise", "organize"),
            ("organising", "organizing"),
            ("programme", "program"),
            ("centred", "centered"),
            ("travelling", "traveling"),
            ("labelled", "labeled"),
            ("analyse", "analyze"),
            ("analysing", "analyzing"),
            ("anaemia", "anemia"),
            ("dialogues", "dialogs"),
            ("acknowledgement", "acknowledgment"),
        ] {
            assert_eq!(american(british), want);
            assert_eq!(american(want), want);
        }
    }

    #[test]
    fn words_that_have_one_spelling_keep_it() {
        for word in [
            "promise",
            "precise",
            "exercised",
            "advise",
            "enterprises",
            "rise",
            "wise",
            "noise",
            "hour",
            "four",
            "tour",
            "contour",
            "your",
            "analysis",
            "called",
            "filled",
            "installed",
            "parametre",
            "naïve",
            "practice",
            "premises",
            "raised",
            "supervising",
        ] {
            assert_eq!(american(word), word);
        }
    }

    #[test]
    fn german_umlauts_may_be_written_out() {
        for (word, want) in [
            ("mueller", "muller"),
            ("ueber", "uber"),
            ("aerzte", "arzte"),
            ("oel", "ol"),
            ("loesungen", "losungen"),
            ("neue", "neue"),
            ("bauer", "bauer"),
            ("quelle", "quelle"),
            ("haus", "haus"),
        ] {
            assert_eq!(without_umlauts(word), want);
        }
    }
}
