//! Phrases and names in texts, by which most texts are told from those that may hold one.
//!
//! Case and spaces of ASCII are simple. What a text with other characters holds is left to a closer
//! look: such a text may hold anything.

/// A name, and the words that say which document it is of, all without case.
pub struct Name {
    /// The name.
    pub name: String,
    /// Words of the document's title or outline.
    pub document: Vec<String>,
}

/// Returns the numbers of the texts that may hold all phrases, which have single spaces and no case.
pub fn may_hold(texts: &[&str], phrases: &[String]) -> Vec<usize> {
    let mut normalized = String::new();
    let mut may_hold = |text: &str| {
        if !text.is_ascii() {
            return true;
        }
        normalize(text, &mut normalized);
        phrases.iter().all(|phrase| occurs(phrase, &normalized))
    };
    (0..texts.len()).filter(|&at| may_hold(texts[at])).collect()
}

/// Returns the numbers of the texts that may hold one of some names.
///
/// Of each text there is what is said about its document. Names are looked for in their order, up to
/// the first of which that lacks a word of the document.
pub fn may_name<'a>(
    texts: impl Iterator<Item = (&'a str, [&'a str; 2])>,
    names: &[Name],
) -> Vec<usize> {
    let may_name = |text: &str, about: [&str; 2]| {
        if !text.is_ascii() {
            return true;
        }
        let text = text.to_ascii_lowercase();
        let about = about.map(|about| (about.is_ascii(), about.to_ascii_lowercase()));
        let says = |word: &String| {
            let says = |(is_ascii, about): &(bool, String)| !is_ascii || about.contains(word);
            about.iter().any(says)
        };
        names
            .iter()
            .take_while(|name| name.document.iter().all(says))
            .any(|name| text.contains(&name.name))
    };
    let numbered = texts.enumerate();
    let found = numbered.filter(|(_, (text, about))| may_name(text, *about));
    found.map(|(at, _)| at).collect()
}

/// Writes a text in ASCII with single spaces and in lower case.
fn normalize(text: &str, normalized: &mut String) {
    normalized.clear();
    for &byte in text.as_bytes() {
        // What separates words in Python.
        if matches!(byte, b'\t'..=b'\r' | 0x1c..=0x1f | b' ') {
            if !normalized.is_empty() && !normalized.ends_with(' ') {
                normalized.push(' ');
            }
        } else {
            normalized.push(char::from(byte.to_ascii_lowercase()));
        }
    }
}

/// Returns whether a text in ASCII holds a phrase that neither begins nor ends within a word.
fn occurs(phrase: &str, text: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (text, phrase) = (text.as_bytes(), phrase.as_bytes());
    let (begins, ends) = (
        phrase.first().is_some_and(is_word),
        phrase.last().is_some_and(is_word),
    );
    let finder = memchr::memmem::Finder::new(phrase);
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| finder.find(rest)) {
        let start = from + found;
        let before = start.checked_sub(1).map(|at| &text[at]);
        let after = text.get(start + phrase.len());
        if !(begins && before.is_some_and(is_word) || ends && after.is_some_and(is_word)) {
            return true;
        }
        from = start + 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_held_in_any_case_and_with_any_spaces_between_ends_of_words() {
        let texts = [
            "NO  space\n\x1fleft",
            "no space lefty, and no space left",
            "no space left_",
            "casino space left",
            "été",
            "",
        ];
        assert_eq!(may_hold(&texts, &["no space left".into()]), [0, 1, 4]);
        assert_eq!(may_hold(&texts, &["no".into(), "lefty,".into()]), [1, 4]);
        assert_eq!(may_hold(&["a --b"], &["--b".into()]), [0]);
        assert_eq!(may_hold(&["xa a a"], &["a a".into()]), [0]);
    }

    #[test]
    fn a_name_is_looked_for_up_to_the_first_whose_document_is_another() {
        let name = |name: &str, document: &[&str]| Name {
            name: name.into(),
            document: document.iter().map(|&word| word.into()).collect(),
        };
        let names = [
            name("git tag", &[]),
            name("tag", &["git"]),
            name("g", &["x", "git"]),
        ];
        let texts = [
            ("GIT TAG", ["", ""]),
            ("tag", ["Git", ""]),
            ("tag", ["", "of git"]),
            ("tag", ["svn", ""]),
            ("tag", ["é", ""]),
            ("g", ["git", ""]),
            ("é", ["svn", ""]),
        ];
        assert_eq!(may_name(texts.into_iter(), &names), [0, 1, 2, 4, 6]);
    }
}
