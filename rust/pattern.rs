//! Patterns of a search: regular expressions and literal texts, both matched in linear time.
//!
//! A pattern knows which trigrams a text must have to match it, so that most texts are not read
//! ([`TrigramSet`]).

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};
use regex_syntax::hir::{Hir, HirKind};

use crate::error::{Error, Result};

/// The most bytes of a pattern.
const LONGEST: usize = 4096;
/// The most bytes of a compiled pattern; the time for a byte of text is bounded by it.
const COMPILED_BYTES: usize = 2 << 20;
/// Alternatives whose trigrams are kept; a pattern with more of them is not filtered by them.
const ALTERNATIVES: usize = 16;
/// Bytes of a trigram.
const GRAM: usize = 3;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    /// The hashes of the trigrams of a text that matches: all of one alternative.
    required: Vec<Vec<u32>>,
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
        let hir = regex_syntax::ParserBuilder::new()
            .multi_line(true)
            .build()
            .parse(source);
        let hir = hir.map_err(|error| match error {
            regex_syntax::Error::Parse(error) => invalid(shown, &error.kind().to_string()),
            regex_syntax::Error::Translate(error) => invalid(shown, &error.kind().to_string()),
            _ => invalid(shown, "it cannot be parsed"),
        })?;
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
                invalid(shown, "it is too large; repeat fewer characters")
            }
            _ => invalid(shown, "it cannot be compiled"),
        })?;
        Ok(Pattern {
            regex,
            required: required_trigrams(&hir),
        })
    }

    /// Returns the byte range of the first match that starts at `from` or after it.
    pub fn find_at(&self, text: &str, from: usize) -> Option<Range<usize>> {
        self.regex.find_at(text, from).map(|found| found.range())
    }

    /// Returns the start and end of each match in a text, in code points.
    pub fn spans(&self, text: &str) -> Vec<(usize, usize)> {
        let (mut counted, mut chars) = (0, 0);
        let mut count_to = |byte: usize| {
            chars += text[counted..byte].chars().count();
            counted = byte;
            chars
        };
        let matches = self.regex.find_iter(text);
        matches
            .map(|found| (count_to(found.start()), count_to(found.end())))
            .collect()
    }

    /// Returns whether a text with these trigrams may match.
    pub(crate) fn may_match(&self, trigrams: &TrigramSet) -> bool {
        self.required
            .iter()
            .any(|hashes| hashes.iter().all(|&hash| trigrams.may_have(hash)))
    }
}

/// The trigrams of a text, as bits at their hashes: a trigram that it reports may be another's.
#[derive(Debug)]
pub(crate) struct TrigramSet(Box<[u64]>);

impl TrigramSet {
    /// Bits for each byte of text. A text of some kilobytes then sets about one bit in seven.
    const BITS_A_BYTE: usize = 2;

    /// Returns the trigrams of a text.
    pub(crate) fn of(text: &str) -> TrigramSet {
        let bits = (Self::BITS_A_BYTE * text.len()).next_power_of_two().max(64);
        let mut set = TrigramSet(vec![0; bits / 64].into());
        let mut gram = 0;
        for (at, byte) in folded_bytes(text).enumerate() {
            gram = (gram << 8 | u32::from(byte)) & 0xff_ffff;
            if at + 1 >= GRAM {
                let bit = set.bit(hash_of(gram));
                set.0[bit / 64] |= 1 << (bit % 64);
            }
        }
        set
    }

    /// Returns the bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        8 * self.0.len()
    }

    fn may_have(&self, hash: u32) -> bool {
        let bit = self.bit(hash);
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn bit(&self, hash: u32) -> usize {
        hash as usize & (64 * self.0.len() - 1)
    }
}

/// Yields the bytes of a text with the letters of ASCII in lower case.
///
/// Two characters beyond ASCII match such a letter in a pattern that ignores case: the long s and
/// the Kelvin sign.
fn folded_bytes(text: &str) -> impl Iterator<Item = u8> + '_ {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let (byte, after) = match rest {
            [0xc5, 0xbf, after @ ..] => (b's', after),
            [0xe2, 0x84, 0xaa, after @ ..] => (b'k', after),
            [byte, after @ ..] => (byte.to_ascii_lowercase(), after),
            [] => return None,
        };
        rest = after;
        Some(byte)
    })
}

fn hash_of(gram: u32) -> u32 {
    gram.wrapping_mul(0x9e37_79b1) >> 8
}

/// Returns the hashes of the trigrams that a match has, for each alternative.
fn required_trigrams(hir: &Hir) -> Vec<Vec<u32>> {
    match hir.kind() {
        HirKind::Literal(literal) => vec![literal_trigrams(&literal.0)],
        HirKind::Capture(capture) => required_trigrams(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required_trigrams(&repetition.sub),
        HirKind::Concat(parts) => {
            let mut found = vec![Vec::new()];
            for part in parts {
                let required = required_trigrams(part);
                if found.len() * required.len() <= ALTERNATIVES {
                    let both = |one: &Vec<u32>, other: &Vec<u32>| [&one[..], other].concat();
                    let pairs = |one| required.iter().map(move |other| both(one, other));
                    found = found.iter().flat_map(pairs).collect();
                }
            }
            found
        }
        HirKind::Alternation(parts) => {
            let found: Vec<_> = parts.iter().flat_map(required_trigrams).collect();
            match found.len() <= ALTERNATIVES {
                true => found,
                false => vec![Vec::new()],
            }
        }
        _ => vec![Vec::new()],
    }
}

/// Returns the hashes of the trigrams of a literal that are the same in every case.
fn literal_trigrams(literal: &[u8]) -> Vec<u32> {
    let Ok(text) = std::str::from_utf8(literal) else {
        return Vec::new();
    };
    let has_case =
        |c: char| !c.is_ascii() && (!c.to_lowercase().eq([c]) || !c.to_uppercase().eq([c]));
    let mut hashes = Vec::new();
    for part in text.split(has_case) {
        let bytes: Vec<u8> = folded_bytes(part).collect();
        hashes.extend(bytes.windows(GRAM).map(|gram| {
            hash_of(
                gram.iter()
                    .fold(0, |gram, &byte| gram << 8 | u32::from(byte)),
            )
        }));
    }
    hashes
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
            ("((\\w{100}){100}){100}", "it is too large"),
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
        let text = TrigramSet::of("The licence of the Kingdom ends.");
        for (source, may_match) in [
            ("licence", true),
            ("LICENCE", true),
            ("kingdom\\s+(ends|begins)", true),
            ("patent", false),
            ("patent|licence", true),
            ("licence.*patent", false),
            ("(patent)?licence", true),
            ("(patent)+", false),
            ("\\d+", true),
        ] {
            let pattern = Pattern::regex(source).unwrap();
            assert_eq!(pattern.may_match(&text), may_match, "{source}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let word = prop_oneof!["[a-zA-Zsk]{1,6}", "[ſKéÉßıİ漢字]{1,3}", "[ .,\n]{1,2}"];
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
                    prop_assert!(pattern.may_match(&TrigramSet::of(&whole)), "{each:?} in {whole:?}");
                }
            }
        }
    }
}
