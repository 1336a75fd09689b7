//! Glob patterns for paths: `*` and `?` match within a folder, `**` across folders.

/// A compiled pattern; matching takes time proportional to pattern length times text length.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Glob {
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// This character.
    Is(char),
    /// `?`: any character but a slash.
    One,
    /// `[a-z]`, `[!a-z]`: a character in these ranges, or in none of them; never a slash.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    /// `*`: any run without a slash.
    Run,
    /// `**`: any run.
    Tree,
    /// `**/` at the start of a folder: any number of folders. Always followed by [`Step::Inside`].
    Folders,
    /// `**/` within the name of a folder.
    Inside,
}

impl Glob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A message if a class is not closed.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let chars: Vec<char> = pattern.chars().collect();
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
        Ok(Glob { steps })
    }

    /// Returns whether the whole text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut here = vec![false; self.steps.len() + 1];
        here[0] = true;
        self.skip(&mut here);
        let mut next = vec![false; here.len()];
        for char in text.chars() {
            next.fill(false);
            for (at, step) in self.steps.iter().enumerate().filter(|&(at, _)| here[at]) {
                if let Some(to) = step.take(at, char) {
                    next[to] = true;
                }
            }
            self.skip(&mut next);
            std::mem::swap(&mut here, &mut next);
        }
        here[self.steps.len()]
    }

    /// Adds the states that are reached without a character.
    fn skip(&self, here: &mut [bool]) {
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Run | Step::Tree if here[at] => here[at + 1] = true,
                Step::Folders if here[at] => here[at + 2] = true,
                _ => {}
            }
        }
    }
}

impl Step {
    /// Returns the next step if this one, at index `at`, matches a character.
    fn take(&self, at: usize, char: char) -> Option<usize> {
        let slash = char == '/';
        match self {
            Step::Is(own) => (*own == char).then_some(at + 1),
            Step::One => (!slash).then_some(at + 1),
            Step::Class { negated, ranges } => {
                let within = ranges
                    .iter()
                    .any(|&(low, high)| (low..=high).contains(&char));
                (!slash && within != *negated).then_some(at + 1)
            }
            Step::Run => (!slash).then_some(at),
            Step::Tree => Some(at),
            Step::Folders => Some(if slash { at } else { at + 1 }),
            Step::Inside => Some(if slash { at - 1 } else { at }),
        }
    }
}

/// Parses a class after its "[" and returns it with its length in characters; a "]" in first place is
/// a member of the class.
fn class(chars: &[char]) -> Option<(Step, usize)> {
    let negated = matches!(chars.first(), Some('!' | '^'));
    let first = usize::from(negated);
    let mut ranges = Vec::new();
    let mut at = first;
    loop {
        match chars.get(at..)? {
            [']', ..] if at > first => return Some((Step::Class { negated, ranges }, at + 1)),
            [low, '-', high, ..] if *high != ']' => {
                ranges.push((*low, *high));
                at += 3;
            }
            [char, ..] => {
                ranges.push((*char, *char));
                at += 1;
            }
            [] => return None,
        }
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
}
