//! Globs for paths and the patterns of ignore files.
//!
//! Both are read into the same [steps](steps::Steps) and matched in one pass over the text, which
//! takes time proportional to pattern length times text length: patterns come from outside, and no
//! pattern may take more.

mod ignore;
mod steps;

pub use ignore::IgnorePatterns;

use steps::{Step, Steps, class};
use unicode_normalization::UnicodeNormalization;

/// Characters of the longest pattern. The time of a match is bounded by it, since the longest text
/// that is compared has 4,096 bytes.
const MAX_CHARS: usize = 1000;

/// A compiled glob: `*` and `?` match within a folder, `**` across folders. Letters with accents
/// match in both normal forms: a Mac decomposes them.
#[derive(Debug, PartialEq, Eq)]
pub struct Glob(Steps);

impl Glob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A message if a class is not closed, or if the pattern has more than 1,000 characters.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let chars: Vec<char> = pattern.nfc().take(MAX_CHARS + 1).collect();
        if chars.len() > MAX_CHARS {
            let start: String = chars[..20].iter().collect();
            return Err(format!("\"{start}...\": more than {MAX_CHARS} characters"));
        }
        let mut steps = Vec::new();
        let mut at = 0;
        while at < chars.len() {
            let folder_start = at == 0 || chars[at - 1] == '/';
            match &chars[at..] {
                ['*', '*', '/', ..] if folder_start => {
                    steps.extend([Step::Folders, Step::Inside]);
                    at += 3;
                }
                ['*', '*', ..] => {
                    steps.push(Step::Tree);
                    at += 2;
                }
                ['[', rest @ ..] => {
                    let (class, length) =
                        class(rest).ok_or_else(|| format!("{pattern:?}: a \"[\" has no \"]\""))?;
                    steps.push(class);
                    at += 1 + length;
                }
                [char, ..] => {
                    steps.push(match char {
                        '*' => Step::Run,
                        '?' => Step::One,
                        &char => Step::Is(char),
                    });
                    at += 1;
                }
                [] => break,
            }
        }
        Ok(Glob(steps.into_iter().collect()))
    }

    /// Returns whether the whole text matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.matches_as_written(text)
            || !text.is_ascii() && self.matches_as_written(&text.nfc().collect::<String>())
    }

    fn matches_as_written(&self, text: &str) -> bool {
        if !self.0.may_match(text) {
            return false;
        }
        let mut matching = self.0.start();
        text.chars().all(|char| matching.take(char)) && matching.is_complete()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn stars_match_within_a_folder_and_double_stars_across() {
        let cases = [
            ("docs/*.md", "docs/a.md", true),
            ("docs/*.md", "docs/a/b.md", false),
            ("docs/**", "docs/a/b.md", true),
            ("docs/**/b.md", "docs/b.md", true),
            ("docs/**/b.md", "docs/x/y/b.md", true),
            ("docs/**/b.md", "docs/xb.md", false),
            ("**/b.md", "b.md", true),
            ("**/b.md", "ab.md", false),
            ("**/b.md", "/a/b.md", true),
            ("a**z", "a/b/z", true),
            ("?.md", "é.md", true),
            ("?.md", "/.md", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[!a]x", "/x", false),
            ("[]]", "]", true),
            ("[a-]", "-", true),
            ("*\u{e9}.md", "caf\u{e9}.md", true),
            ("*\u{e9}.md", "cafe\u{301}.md", true),
            ("*e\u{301}.md", "caf\u{e9}.md", true),
            ("*e.md", "cafe\u{301}.md", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(
                Glob::new(pattern).unwrap().matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn an_unclosed_class_is_an_error() {
        assert_eq!(
            Glob::new("a[b").unwrap_err(),
            "\"a[b\": a \"[\" has no \"]\""
        );
    }

    #[test]
    fn a_hostile_pattern_takes_no_exponential_time() {
        let glob = Glob::new(&"*a".repeat(200)).unwrap();
        assert!(!glob.matches(&"a".repeat(199)));
    }

    #[test]
    fn stars_that_follow_each_other_are_one() {
        for (stars, other) in [("a***b", "a**b"), ("****", "**"), ("**/**/x", "**/x")] {
            assert_eq!(Glob::new(stars), Glob::new(other), "{stars}");
        }
    }

    #[test]
    fn a_long_pattern_is_an_error() {
        assert!(Glob::new(&"a".repeat(1000)).is_ok());
        assert_eq!(
            Glob::new(&"a".repeat(1001)).unwrap_err(),
            "\"aaaaaaaaaaaaaaaaaaaa...\": more than 1000 characters"
        );
    }
}
