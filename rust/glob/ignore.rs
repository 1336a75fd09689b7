//! The patterns of an ignore file, with the meaning that Git gives them.

use super::MAX_CHARS;
use super::steps::{Step, Steps, class};

/// The patterns of the lines of an ignore file, the last of which that matches a path decides.
#[derive(Debug)]
pub struct IgnorePatterns(Vec<Pattern>);

#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    /// Whether it takes back what patterns before it ignore: its line begins with "!".
    negated: bool,
    shape: Shape,
}

#[derive(Debug, PartialEq, Eq)]
enum Shape {
    /// `*`, `**`: every path.
    All,
    /// `*/`, `**/`: what is in a folder.
    Folders,
    /// `/*/**`: likewise, but it counts as naming the entry itself.
    Inside,
    /// Steps that match an entry, or the folder that it is in.
    Entry(Steps, Scope),
}

/// What a pattern matches besides the entry that its steps match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// `a`: the entry and what is in it.
    Whole,
    /// `a/`: a folder and what is in it, as folder.
    Folder,
    /// `a/**`: what is in it.
    Content,
}

/// How a pattern matches a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    /// As a folder: the one that the path is in, or the path if it is that of a folder.
    Folder,
    /// By its own name.
    Entry,
}

impl IgnorePatterns {
    /// Reads lines. An invalid pattern matches nothing, as in Git.
    ///
    /// # Errors
    /// The number of the line, counted from 1, that has more than 1,000 characters.
    pub fn new<S: AsRef<str>>(lines: &[S]) -> Result<Self, usize> {
        let mut patterns = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let line = line.as_ref();
            if line.chars().nth(MAX_CHARS).is_some() {
                return Err(at + 1);
            }
            patterns.extend(Pattern::parse(line));
        }
        Ok(IgnorePatterns(patterns))
    }

    /// Returns whether the last pattern that matches a path ignores it, `None` if none matches.
    ///
    /// The path is relative to the folder of the file, and ends with "/" if it is a folder's. A
    /// pattern that matches its name decides before those that match a folder.
    #[must_use]
    pub fn check(&self, path: &str) -> Option<bool> {
        let mut by_folder = None;
        for pattern in self.0.iter().rev() {
            match pattern.shape.matches(path) {
                Some(Match::Entry) => return Some(!pattern.negated),
                Some(Match::Folder) if by_folder.is_none() => by_folder = Some(!pattern.negated),
                _ => {}
            }
        }
        by_folder
    }
}

impl Pattern {
    /// Returns the pattern of a line; `None` for a blank line, a comment and an invalid pattern.
    fn parse(line: &str) -> Option<Pattern> {
        let line = if line.ends_with("\\ ") {
            line
        } else {
            line.trim_end()
        };
        if line.is_empty() || line.starts_with('#') || line == "/" {
            return None;
        }
        let (negated, line) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let shape = Shape::parse(line)?;
        Some(Pattern { negated, shape })
    }
}

impl Shape {
    fn parse(pattern: &str) -> Option<Shape> {
        let mut parts: Vec<&str> = pattern.split('/').collect();
        let is_folder = parts.last().is_some_and(|last| last.is_empty());
        if parts[0].is_empty() {
            parts.remove(0);
        } else if parts.len() == 1 || (parts.len() == 2 && is_folder) {
            // A name alone matches in every folder.
            parts.insert(0, "**");
        }
        if let Some(last) = parts.last_mut().filter(|last| last.is_empty()) {
            *last = "**";
        }
        parts.dedup_by(|part, before| *part == "**" && *before == "**");
        match parts.as_slice() {
            [] => None,
            ["**"] | ["**", "*", "**"] if is_folder => Some(Shape::Folders),
            ["**"] | ["**", "*"] => Some(Shape::All),
            ["**", "*", "**"] => Some(Shape::Inside),
            parts => Self::entry(parts, is_folder),
        }
    }

    fn entry(parts: &[&str], is_folder: bool) -> Option<Shape> {
        let mut steps = Vec::new();
        let (names, scope) = match parts {
            [names @ .., "**"] if is_folder => (names, Scope::Folder),
            [names @ .., "**"] => (names, Scope::Content),
            names => (names, Scope::Whole),
        };
        for (at, name) in names.iter().enumerate() {
            if at > 0 && names[at - 1] != "**" {
                steps.push(Step::Is('/'));
            }
            match *name {
                "**" => steps.extend([Step::Folders, Step::Inside]),
                "*" => steps.extend([Step::One, Step::Run]),
                name => steps.extend(name_steps(name)?),
            }
        }
        Some(Shape::Entry(steps.into_iter().collect(), scope))
    }

    fn matches(&self, path: &str) -> Option<Match> {
        match self {
            Shape::All => (!path.is_empty()).then_some(Match::Entry),
            Shape::Folders => path.contains('/').then_some(Match::Folder),
            Shape::Inside => path.contains('/').then_some(Match::Entry),
            Shape::Entry(steps, scope) => matches_entry(steps, *scope, path),
        }
    }
}

fn matches_entry(steps: &Steps, scope: Scope, path: &str) -> Option<Match> {
    if !steps.may_match(path) {
        return None;
    }
    let mut matching = steps.start();
    let mut is_inside = false;
    for char in path.chars() {
        if char == '/' && matching.is_complete() {
            match scope {
                Scope::Whole => is_inside = true,
                Scope::Folder => return Some(Match::Folder),
                Scope::Content => return Some(Match::Entry),
            }
        }
        if !matching.take(char) {
            return is_inside.then_some(Match::Folder);
        }
    }
    if scope == Scope::Whole && matching.is_complete() {
        return Some(Match::Entry);
    }
    is_inside.then_some(Match::Folder)
}

/// Returns the steps of a pattern within a name; `None` if it is invalid.
fn name_steps(name: &str) -> Option<Vec<Step>> {
    let chars: Vec<char> = name.chars().collect();
    let mut steps = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        steps.push(match &chars[at..] {
            ['\\', char, ..] => {
                at += 1;
                Step::Is(*char)
            }
            ['\\'] => return None,
            ['[', rest @ ..] => {
                let (class, length) = class(rest)?;
                at += length;
                class
            }
            ['*', ..] => Step::Run,
            ['?', ..] => Step::One,
            [char, ..] => Step::Is(*char),
            [] => break,
        });
        at += 1;
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(lines: &[&str], path: &str) -> Option<bool> {
        IgnorePatterns::new(lines).unwrap().check(path)
    }

    #[test]
    fn a_pattern_matches_a_name_a_folder_or_a_path() {
        let cases = [
            ("a", "a", true),
            ("a", "x/a", true),
            ("a", "a/x", true),
            ("a", "ab", false),
            ("/a", "x/a", false),
            ("a/", "a", false),
            ("a/", "a/", true),
            ("a/", "x/a/y", true),
            ("a/b", "a/b", true),
            ("a/b", "x/a/b", false),
            ("*.o", "x/y.o", true),
            ("a/*", "a/x/y", true),
            ("a/*", "a/", false),
            ("a/**", "a/x", true),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("**/b", "x/b", true),
            ("a[0-9]", "a7", true),
            ("a[!0-9]", "a7", false),
            ("\\#a", "#a", true),
            ("a\\ ", "a ", true),
            ("a  ", "a", true),
            ("#a", "#a", false),
            ("/", "a", false),
            ("a[", "a[", false),
            ("a\\", "a\\", false),
        ];
        for (pattern, path, expected) in cases {
            let expected = expected.then_some(true);
            assert_eq!(check(&[pattern], path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_pattern_that_matches_decides() {
        assert_eq!(check(&["*.o", "!a.o"], "a.o"), Some(false));
        assert_eq!(check(&["!a.o", "*.o"], "a.o"), Some(true));
        assert_eq!(check(&["!a.o", "x/"], "x/a.o"), Some(false));
        assert_eq!(check(&["a.o"], "b.o"), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_an_error() {
        let long = "a".repeat(1001);
        assert_eq!(IgnorePatterns::new(&["a", &long]).unwrap_err(), 2);
    }
}
