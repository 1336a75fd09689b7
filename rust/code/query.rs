//! What a query says about source code: the symbols that it names and its other words.

use super::words::{identifiers, is_word, parts};

/// Words that say nothing of the code that is looked for.
const FUNCTION_WORDS: [&str; 38] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "not", "of", "on", "or", "that",
    "the", "this", "to", "was", "what", "when", "where", "which", "will", "with",
];
/// Words before the first that says what is looked for.
const LEAD_IN: [&str; 9] = [
    "find", "get", "give", "list", "me", "please", "show", "there", "why",
];
/// Words that ask for tests, examples, vendored or generated code.
const ASIDE: [&str; 9] = [
    "test",
    "spec",
    "example",
    "sample",
    "demo",
    "bench",
    "benchmark",
    "mock",
    "fixture",
];
/// Words that ask for documents or for configuration.
const PROSE: [&str; 12] = [
    "doc",
    "document",
    "documentation",
    "readme",
    "changelog",
    "guide",
    "tutorial",
    "manual",
    "config",
    "configuration",
    "licence",
    "license",
];

/// A query for source code.
#[derive(Debug)]
pub(super) struct CodeQuery<'a> {
    /// The names that it has: `parse_args`, `HttpClient`, `close()`, `` `close` ``, `Socket.close`, or
    /// its only word.
    pub(super) symbols: Vec<&'a str>,
    /// Words and symbols but function words, at least 1.
    pub(super) length: usize,
    /// The stems of the parts of its words, without function words.
    pub(super) stems: Vec<String>,
    /// Whether it asks for tests, examples, vendored or generated code.
    pub(super) wants_aside: bool,
    /// Whether it asks for documents or configuration.
    pub(super) wants_prose: bool,
}

impl<'a> CodeQuery<'a> {
    /// Reads a query.
    pub(super) fn new(query: &'a str) -> Self {
        let words: Vec<&str> = identifiers(query).collect();
        let mut symbols: Vec<&str> = Vec::new();
        for &word in &words {
            let is_symbol = words.len() == 1 || is_compound(word) || is_marked(query, word);
            if is_symbol && !symbols.contains(&word) {
                symbols.push(word);
            }
        }
        let is_content = |word: &&&str| !FUNCTION_WORDS.contains(&word.to_lowercase().as_str());
        let content: Vec<&&str> = words.iter().filter(is_content).collect();
        let mut stems: Vec<String> = content.iter().flat_map(|word| parts(word)).collect();
        stems.sort_unstable();
        stems.dedup();
        stems.retain(|stem| !FUNCTION_WORDS.contains(&stem.as_str()));
        let asked = asked_for(&words);
        let wants = |kinds: &[&str]| {
            let is_of_kind = |part: &String| kinds.iter().any(|kind| parts(kind).contains(part));
            asked
                .iter()
                .flat_map(|word| parts(word))
                .any(|part| is_of_kind(&part))
        };
        CodeQuery {
            wants_aside: wants(&ASIDE),
            wants_prose: wants(&PROSE),
            length: content.len().max(1),
            symbols,
            stems,
        }
    }

    /// Returns whether a defined name is one of the symbols; case matters if a symbol has capitals.
    pub(super) fn is_symbol(&self, symbol: &str, name: &str) -> bool {
        symbol == name
            || (symbol.eq_ignore_ascii_case(name) && !symbol.contains(|c: char| c.is_uppercase()))
    }

    /// Returns how many of some stems are words of the query.
    pub(super) fn count(&self, stems: &[String]) -> usize {
        stems
            .iter()
            .filter(|stem| self.stems.contains(stem))
            .count()
    }
}

/// Returns the words that say what a query asks for: the last of its first words up to a function
/// word, and names that are put together.
///
/// "tests of the parser" and "installation guide" ask for tests and for a guide, "test runner" and
/// "crash of the parser in debug tests" for neither.
fn asked_for<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let is_one_of = |word: &str, list: &[&str]| list.contains(&word.to_lowercase().as_str());
    let is_function = |word: &&&str| is_one_of(word, &FUNCTION_WORDS);
    let compound = words.iter().filter(|word| is_compound(word));
    let first = words
        .iter()
        .skip_while(|word| is_function(word) || is_one_of(word, &LEAD_IN))
        .take_while(|word| !is_function(word))
        .last();
    first.into_iter().chain(compound).copied().collect()
}

/// Returns whether a word is put together as no word of prose is: `a_b`, `aB`, `ABc`.
fn is_compound(word: &str) -> bool {
    let chars: Vec<char> = word.trim_matches('_').chars().collect();
    chars.contains(&'_')
        || chars
            .windows(2)
            .any(|w| w[0].is_lowercase() && w[1].is_uppercase())
        || chars
            .windows(3)
            .any(|w| w[0].is_uppercase() && w[1].is_uppercase() && w[2].is_lowercase())
}

/// Returns whether a query marks a word as code: `` `word` ``, `word()`, `x.word`, `x::word`, `x->word`.
fn is_marked(query: &str, word: &str) -> bool {
    // The words are slices of the query.
    let start = word.as_ptr() as usize - query.as_ptr() as usize;
    let (before, after) = (&query[..start], &query[start + word.len()..]);
    if word.chars().count() < 2 {
        return false;
    }
    let joined = ["::", "->", ".", "#"]
        .iter()
        .find_map(|join| before.strip_suffix(join))
        .is_some_and(|owner| owner.bytes().last().is_some_and(is_word));
    let is_long = word.chars().count() > 2;
    let quoted = before.ends_with('`') && after.starts_with('`');
    joined || (is_long && (quoted || after.starts_with("()")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_compound_or_marked_as_code() {
        let symbols = |query| CodeQuery::new(query).symbols;
        assert_eq!(
            symbols("where is parse_args of HttpClient"),
            ["parse_args", "HttpClient"]
        );
        assert_eq!(symbols("how does Socket.close work"), ["close"]);
        assert_eq!(symbols("what calls `close` and open()?"), ["close", "open"]);
        assert_eq!(symbols("close"), ["close"]);
        assert!(symbols("Close the socket. Then open it, in e.g. main").is_empty());
    }

    #[test]
    fn a_query_counts_its_words_without_function_words() {
        let query = CodeQuery::new("What is the purpose of DiffExecutor?");
        assert_eq!(query.length, 2);
        assert_eq!(query.stems, ["diff", "executor", "purpos"]);
    }

    #[test]
    fn a_query_may_name_tests_or_documents() {
        assert!(CodeQuery::new("tests of the parser").wants_aside);
        assert!(CodeQuery::new("installation guide").wants_prose);
        let neither = CodeQuery::new("parser of dates");
        assert!(!neither.wants_aside && !neither.wants_prose);
    }

    #[test]
    fn case_counts_if_a_symbol_has_capitals() {
        let query = CodeQuery::new("x");
        assert!(query.is_symbol("httpclient", "HttpClient"));
        assert!(!query.is_symbol("Close", "close"));
    }
}
