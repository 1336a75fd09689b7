//! The steps of a compiled pattern, and the states of a text that is matched with them.

/// What a pattern matches, one step after the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    steps: Vec<Step>,
    /// The longest run of plain characters: a text without it does not match.
    literal: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
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

impl FromIterator<Step> for Steps {
    /// Collects steps; of wildcards that follow each other, the widest is kept.
    fn from_iter<All: IntoIterator<Item = Step>>(all: All) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for step in all {
            match (steps.as_slice(), &step) {
                ([.., Step::Tree], Step::Tree | Step::Run)
                | ([.., Step::Run], Step::Run)
                | ([.., Step::Folders, Step::Inside], Step::Folders | Step::Inside) => continue,
                ([.., Step::Run], Step::Tree) => drop(steps.pop()),
                _ => {}
            }
            steps.push(step);
        }
        let literal = longest_literal(&steps);
        Steps { steps, literal }
    }
}

impl Steps {
    /// Returns whether a text has the characters that it needs to match.
    pub(super) fn may_match(&self, text: &str) -> bool {
        text.contains(&self.literal)
    }

    /// Returns the states before the first character of a text.
    pub(super) fn start(&self) -> Matching<'_> {
        let mut here = vec![false; self.steps.len() + 1];
        here[0] = true;
        skip(&self.steps, &mut here);
        Matching {
            steps: &self.steps,
            next: vec![false; here.len()],
            here,
        }
    }
}

fn longest_literal(steps: &[Step]) -> String {
    let runs = steps.split(|step| !matches!(step, Step::Is(_)));
    let longest = runs.max_by_key(|run| run.len()).unwrap_or_default();
    let plain = longest.iter().filter_map(|step| match step {
        Step::Is(char) => Some(*char),
        _ => None,
    });
    plain.collect()
}

/// A text that is being matched: for each step, and for the end, whether it may come next.
pub(super) struct Matching<'a> {
    steps: &'a [Step],
    here: Vec<bool>,
    next: Vec<bool>,
}

impl Matching<'_> {
    /// Takes the next character; returns whether the text can still match.
    pub(super) fn take(&mut self, char: char) -> bool {
        self.next.fill(false);
        let mut is_alive = false;
        for (at, step) in self.steps.iter().enumerate() {
            if self.here[at]
                && let Some(to) = step.take(at, char)
            {
                self.next[to] = true;
                is_alive = true;
            }
        }
        skip(self.steps, &mut self.next);
        std::mem::swap(&mut self.here, &mut self.next);
        is_alive
    }

    /// Returns whether what was taken matches as a whole.
    pub(super) fn is_complete(&self) -> bool {
        self.here[self.steps.len()]
    }
}

/// Adds the states that are reached without a character.
fn skip(steps: &[Step], here: &mut [bool]) {
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Run | Step::Tree if here[at] => here[at + 1] = true,
            Step::Folders if here[at] => here[at + 2] = true,
            _ => {}
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

/// Parses a class after its "[" and returns it with its length in characters; a "]" at its start is
/// a member of the class.
pub(super) fn class(chars: &[char]) -> Option<(Step, usize)> {
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
