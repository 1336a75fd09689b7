//! Patterns of a search: regular expressions and literal texts, both matched in linear time.
//!
//! A pattern knows which trigrams a text must have to match it, so that most texts are not read
//! ([`crate::trigrams`]).

use std::ops::Range;
use std::time::{Duration, Instant};

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};

use crate::error::{Error, Result};
use crate::trigrams::Required;

/// The most bytes of a pattern.
const LONGEST: usize = 4096;
/// The most bytes of a compiled pattern; the time for a byte of text is bounded by it. `\w{3,30}` has
/// 1.5 MB.
const COMPILED_BYTES: usize = 3 << 19;
/// The most matches of which the positions are told.
const SPANS: usize = 10_000;
/// The longest time that is spent on finding them.
const SPANS_TIME: Duration = Duration::from_secs(1);

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    required: Required,
    /// The most bytes of a match.
    longest: Option<usize>,
    /// Whether it looks at what is around a match, as `^` and `\b` do.
    looks_around: bool,
}

impl Pattern {
    /// Compiles a regular expression in the syntax of Rust's `regex`.
    ///
    /// `^` and `$` match at lines. Capitals are distinguished if the pattern has one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not valid, too large, or matches the empty text.
    pub fn regex(source: &str) -> Result<Pattern> {
        require_length(source)?;
        let ast = ast::parse::Parser::new().parse(source);
        let ast = ast.map_err(|error| invalid(source, &error.kind().to_string()))?;
        let has_capital = ast::visit(&ast, Capitals::default())
            .map_err(|error| invalid(source, &error.to_string()))?;
        Self::compile(source, source, !has_capital)
    }

    /// Compiles a text, of which every character stands for itself.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is empty or too long.
    pub fn literal(text: &str) -> Result<Pattern> {
        require_length(text)?;
        let has_capital = text.chars().any(char::is_uppercase);
        Self::compile(&regex::escape(text), text, !has_capital)
    }

    fn compile(source: &str, shown: &str, folds_case: bool) -> Result<Pattern> {
        let parse = |folds_case: bool| {
            let mut parser = regex_syntax::ParserBuilder::new();
            let parsed = parser
                .multi_line(true)
                .case_insensitive(folds_case)
                .build()
                .parse(source);
            parsed.map_err(|error| match error {
                regex_syntax::Error::Parse(error) => invalid(shown, &error.kind().to_string()),
                regex_syntax::Error::Translate(error) => invalid(shown, &error.kind().to_string()),
                _ => invalid(shown, "it cannot be parsed"),
            })
        };
        let hir = parse(false)?;
        if hir.properties().minimum_len() == Some(0) {
            let why = "it matches the empty text, and so every text; let it require a character";
            return Err(invalid(shown, why));
        }
        let regex = RegexBuilder::new(source)
            .multi_line(true)
            .case_insensitive(folds_case)
            .size_limit(COMPILED_BYTES)
            .dfa_size_limit(COMPILED_BYTES)
            .build();
        let regex = regex.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                let most = COMPILED_BYTES >> 10;
                let why = format!(
                    "compiled it has more than {most} kB, the most that is searched for; repeat fewer \
                     characters"
                );
                invalid(shown, &why)
            }
            _ => invalid(shown, "it cannot be compiled"),
        })?;
        Ok(Pattern {
            regex,
            required: Required::of(&hir),
            looks_around: !hir.properties().look_set().is_empty(),
            longest: parse(folds_case)?.properties().maximum_len(),
        })
    }

    /// Returns the byte range of the first match that starts at `from` or after it.
    pub fn find_at(&self, text: &str, from: usize) -> Option<Range<usize>> {
        self.regex.find_at(text, from).map(|found| found.range())
    }

    /// Returns the start and end of each match in a text, in code points: of the first 10,000, and of
    /// those that are found within a second.
    pub fn spans(&self, text: &str) -> Vec<(usize, usize)> {
        let (mut counted, mut chars) = (0, 0);
        let mut count_to = |byte: usize| {
            chars += text[counted..byte].chars().count();
            counted = byte;
            chars
        };
        let until = Instant::now() + SPANS_TIME;
        let matches = self.regex.find_iter(text);
        matches
            .take(SPANS)
            .take_while(|_| Instant::now() < until)
            .map(|found| (count_to(found.start()), count_to(found.end())))
            .collect()
    }

    /// Returns the trigrams that a text with a match has.
    pub(crate) fn required(&self) -> &Required {
        &self.required
    }

    /// Returns whether a match depends on the text around it.
    pub(crate) fn looks_around(&self) -> bool {
        self.looks_around
    }

    /// Returns the most bytes of a match, None if there is no limit.
    pub(crate) fn longest(&self) -> Option<usize> {
        self.longest
    }
}

/// Whether a pattern has a capital that stands for itself.
#[derive(Default)]
struct Capitals {
    found: bool,
}

impl Visitor for Capitals {
    type Output = bool;
    type Err = Error;

    fn finish(self) -> Result<bool> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<()> {
        if let Ast::Literal(literal) = ast {
            self.found |= literal.c.is_uppercase();
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<()> {
        self.found |= match item {
            ClassSetItem::Literal(literal) => literal.c.is_uppercase(),
            ClassSetItem::Range(range) => {
                range.start.c.is_uppercase() || range.end.c.is_uppercase()
            }
            _ => false,
        };
        Ok(())
    }
}

fn require_length(source: &str) -> Result<()> {
    if source.is_empty() {
        return Err(Error::Invalid("the pattern is empty".into()));
    }
    if source.len() > LONGEST {
        let why = format!("the pattern has more than {LONGEST} bytes; shorten it");
        return Err(Error::Invalid(why));
    }
    Ok(())
}

fn invalid(pattern: &str, why: &str) -> Error {
    const SHOWN: usize = 60;
    let mut shown: String = pattern.chars().take(SHOWN).collect();
    if shown.len() < pattern.len() {
        shown.push('…');
    }
    Error::Invalid(format!("{shown:?}: no such pattern: {why}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::trigrams::TestColumn;

    fn may_match(pattern: &Pattern, text: &str) -> bool {
        pattern
            .required
            .may_match(&TestColumn::of([text.as_bytes()]))
    }

    fn found<'a>(pattern: &Pattern, text: &'a str) -> Vec<&'a str> {
        pattern
            .regex
            .find_iter(text)
            .map(|at| at.as_str())
            .collect()
    }

    #[test]
    fn case_counts_if_the_pattern_has_a_capital() {
        let text = "error Error ERROR";
        assert_eq!(found(&Pattern::regex("err\\w+").unwrap(), text).len(), 3);
        assert_eq!(found(&Pattern::regex("Err\\w+").unwrap(), text), ["Error"]);
        assert_eq!(found(&Pattern::regex("[A-Z]{5}").unwrap(), text), ["ERROR"]);
        assert_eq!(found(&Pattern::regex("\\Sr\\W").unwrap(), text).len(), 2);
        assert_eq!(found(&Pattern::literal("error").unwrap(), text).len(), 3);
        assert_eq!(found(&Pattern::literal("ERROR").unwrap(), text), ["ERROR"]);
    }

    #[test]
    fn spans_are_in_code_points() {
        let pattern = Pattern::regex("t.|e$").unwrap();
        assert_eq!(pattern.spans("été\ntà le"), [(1, 3), (4, 6), (8, 9)]);
    }

    #[test]
    fn a_literal_stands_for_itself() {
        let pattern = Pattern::literal("a.b(c)*").unwrap();
        assert_eq!(found(&pattern, "axb(c)* a.b(c)* a.bc"), ["a.b(c)*"]);
    }

    #[test]
    fn a_pattern_that_is_not_valid_is_refused_with_the_reason() {
        for (source, reason) in [
            ("", "the pattern is empty"),
            ("(", "unclosed group"),
            ("a{2,1}", "invalid repetition count range"),
            ("(?=x)", "look-around"),
            ("(x)\\1", "backreferences are not supported"),
            ("x*", "it matches the empty text"),
            ("^", "it matches the empty text"),
            (
                "((\\w{100}){100}){100}",
                "compiled it has more than 1536 kB",
            ),
            (
                "(?s).{1,900}q.{1,900}zz",
                "compiled it has more than 1536 kB",
            ),
        ] {
            let error = Pattern::regex(source).unwrap_err().to_string();
            assert!(error.contains(reason), "{source}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let long = "x".repeat(LONGEST + 1);
        assert!(Pattern::literal(&long).is_err());
    }

    #[test]
    fn nested_quantifiers_take_linear_time() {
        let pattern = Pattern::regex("(a+)+b|(a|aa)+c|(.*)*d").unwrap();
        assert!(found(&pattern, &"a".repeat(100_000)).is_empty());
    }

    #[test]
    fn a_text_without_the_trigrams_of_a_pattern_is_left_out() {
        let text = "The licence of the Kingdom ends.";
        for (source, expected) in [
            ("licence", true),
            ("LICENCE", true),
            ("kingdom\\s+(ends|begins)", true),
            ("patent", false),
            ("patent|licence", true),
            ("licence.*patent", false),
            ("(patent)?licence", true),
            ("(patent)+", false),
            ("(pa)?t{2,}ent", false),
            ("lic.*[xyz]{3}", false),
            ("k[hi]ng", true),
            ("k[ho]ng", false),
            ("[kq]ingdom|[pq]atent", true),
            ("((li)+c+e)+n{1,2}ce", true),
            ("the\\b k", true),
            ("\\d+", true),
        ] {
            let pattern = Pattern::regex(source).unwrap();
            assert_eq!(may_match(&pattern, text), expected, "{source}");
        }
    }

    #[test]
    fn letters_beyond_ascii_have_trigrams_in_each_case() {
        let text = "Дополнительное ПРОГРАММНОЕ обеспечение: Chọn thêm";
        for (source, expected) in [
            ("дополнительное программное", true),
            ("Программное", true),
            ("программа", false),
            ("chọn thêm", true),
            ("chợn thêm", false),
        ] {
            let pattern = Pattern::literal(source).unwrap();
            assert_eq!(may_match(&pattern, text), expected, "{source}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            "[a-zA-Zsk]{1,6}",
            "[ſKéÉßıİ漢字дДрРåÅÅọỌσςΣẞ]{1,3}",
            "[ .,\n]{1,2}"
        ];
        proptest::collection::vec(word, 0..12).prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn a_text_with_a_match_has_its_trigrams(before in text(), inner in text(), after in text()) {
            prop_assume!(!inner.is_empty());
            let whole = format!("{before}{inner}{after}");
            for each in [inner.clone(), inner.to_lowercase()] {
                let pattern = Pattern::literal(&each).unwrap();
                if pattern.find_at(&whole, 0).is_some() {
                    prop_assert!(may_match(&pattern, &whole), "{each:?} in {whole:?}");
                }
            }
        }
    }
}
