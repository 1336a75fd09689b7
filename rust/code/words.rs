//! The words of identifiers and of queries, stemmed lightly.

/// Returns whether a byte is part of an identifier; letters beyond ASCII are.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns the runs of letters, digits and `_` of a text that do not begin with a digit.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()))
}

/// Returns the parts of an identifier in lower case, stemmed: `parseHTTPHeaders` is parse, http, header.
///
/// A part ends before a capital that follows a small letter, before the last of several capitals that
/// a small letter follows, and at everything that is no letter. Single characters are no parts.
pub(super) fn parts(identifier: &str) -> Vec<String> {
    let chars: Vec<char> = identifier.chars().collect();
    let mut parts = Vec::new();
    let mut part = String::new();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(at + 1);
        let begins = c.is_uppercase()
            && (before.is_some_and(|b| !b.is_uppercase())
                || after.is_some_and(|a| a.is_lowercase()));
        if begins || !c.is_alphabetic() {
            push(&mut parts, &mut part);
        }
        if c.is_alphabetic() {
            part.extend(c.to_lowercase());
        }
    }
    push(&mut parts, &mut part);
    parts
}

fn push(parts: &mut Vec<String>, part: &mut String) {
    if part.chars().nth(1).is_some() {
        let stemmed = stem(part).to_owned();
        if !parts.contains(&stemmed) {
            parts.push(stemmed);
        }
    }
    part.clear();
}

/// Endings of nouns and verbs made of one stem, the longest first; those behind them end a stem.
const ENDINGS: [&str; 8] = ["ization", "ation", "ator", "izer", "ion", "ing", "er", "ed"];
const LAST_ENDINGS: [&str; 4] = ["ity", "ize", "y", "e"];

/// Returns a word without its ending, if three letters remain: readers, reading and read are one, as
/// are caching and cache, serialization and serializer, utility and utils.
///
/// The analyzer's stems depend on the language of a text; identifiers are English or near it.
fn stem(word: &str) -> &str {
    let singular = match word.ends_with("ss") {
        true => word,
        false => without(word, &["ies", "s"]),
    };
    let stem = without(singular, &ENDINGS);
    let bytes = stem.as_bytes();
    // logging is made of log, but passing of pass.
    if let [.., _, before, last] = bytes
        && stem.len() < singular.len()
        && stem.len() > 3
        && before == last
        && !b"fls".contains(last)
    {
        return &stem[..stem.len() - 1];
    }
    without(stem, &LAST_ENDINGS)
}

fn without<'a>(word: &'a str, endings: &[&str]) -> &'a str {
    endings
        .iter()
        .filter_map(|ending| word.strip_suffix(ending))
        .find(|rest| rest.chars().nth(2).is_some())
        .unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_taken_apart_at_capitals_and_underscores() {
        assert_eq!(parts("parseHTTPHeaders"), ["pars", "http", "head"]);
        assert_eq!(parts("read_all_files2"), ["read", "all", "fil"]);
        assert_eq!(parts("x"), Vec::<String>::new());
    }

    #[test]
    fn words_of_one_stem_are_one() {
        for same in [
            ["reading", "readers"],
            ["caching", "cache"],
            ["serialization", "serializer"],
            ["serialize", "serializers"],
            ["routing", "router"],
            ["utility", "utils"],
            ["files", "file"],
            ["queries", "query"],
            ["registration", "registry"],
            ["logging", "logs"],
            ["passing", "passes"],
            ["adding", "add"],
        ] {
            assert_eq!(stem(same[0]), stem(same[1]), "{same:?}");
        }
        assert_ne!(stem("parser"), stem("partition"));
    }

    #[test]
    fn a_number_is_no_identifier() {
        assert_eq!(
            identifiers("a_b.c(3, über)").collect::<Vec<_>>(),
            ["a_b", "c", "über"]
        );
    }
}
