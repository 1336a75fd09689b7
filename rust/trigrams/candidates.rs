//! The stretches of text that may match a pattern.

use std::ops::Range;
use std::sync::Arc;

use super::file::File;
use super::{Columns, OVERLAP, Span, UNREAD};
use crate::pattern::Pattern;

/// Which columns have a group of trigrams, a word for each slab.
type Group = Vec<u64>;

/// The stretches of text that may match a pattern.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    spans: Arc<Vec<Span>>,
    /// The groups of each alternative; none if the pattern requires no trigrams.
    alternatives: Vec<Vec<Group>>,
    /// Whether a match may have trigrams that are in no column of the piece in which it begins.
    is_long: bool,
}

/// The pieces of a text in which a match may begin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stretches<'a> {
    /// All.
    All,
    /// Those of a text of so many pieces that have a match by these candidates.
    Some(&'a Candidates, Span),
}

impl Columns {
    /// Returns the stretches that may match; None if the file is damaged.
    pub(super) fn candidates(&self, pattern: &Pattern) -> Option<Candidates> {
        let file = self.file.as_ref().map(File::sealed);
        let required = pattern.required().alternatives().iter();
        let group_of = |hashes: &Vec<u16>| {
            let mut found = vec![0; self.bits.slabs()];
            for &hash in hashes {
                self.bits.add_row(file, hash.into(), &mut found)?;
            }
            Some(found)
        };
        let alternatives =
            required.map(|groups| groups.iter().map(group_of).collect::<Option<Vec<_>>>());
        let mut alternatives = alternatives.collect::<Option<Vec<_>>>()?;
        let is_long = pattern.longest().is_none_or(|longest| longest > OVERLAP);
        if !is_long {
            // A match has all in one column, so that one group says it.
            alternatives
                .iter_mut()
                .for_each(|groups| *groups = vec![intersect(groups)]);
            alternatives = vec![vec![unite(&alternatives)]];
        }
        if pattern.required().is_empty() {
            alternatives.clear();
        }
        Some(Candidates {
            spans: Arc::clone(&self.spans),
            alternatives,
            is_long,
        })
    }
}

impl Candidates {
    /// Returns the pieces of a text in which a match may begin.
    pub(crate) fn of(&self, body: i64) -> Stretches<'_> {
        let found = self.spans.binary_search_by_key(&body, |span| span.body);
        match found.map(|at| self.spans[at]) {
            Ok(span) if span.columns != UNREAD && !self.alternatives.is_empty() => {
                Stretches::Some(self, span)
            }
            _ => Stretches::All,
        }
    }

    /// Returns whether columns have all groups of an alternative among them.
    fn have(&self, columns: Range<usize>) -> bool {
        let has = |group: &Group| {
            let mut columns = columns.clone();
            columns.any(|column| group[column / 64] >> (column % 64) & 1 == 1)
        };
        self.alternatives
            .iter()
            .any(|groups| groups.iter().all(has))
    }
}

impl Stretches<'_> {
    /// Returns whether no match begins in the text.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Stretches::All => false,
            Stretches::Some(all, span) => {
                let columns = columns(span);
                match all.is_long {
                    true => !all.have(columns),
                    false => columns
                        .into_iter()
                        .all(|column| !all.have(column..column + 1)),
                }
            }
        }
    }

    /// Returns the ranges of the pieces in which a match may begin, each of at most `most` pieces;
    /// `pieces` is how many the text has.
    pub(crate) fn ranges(&self, pieces: usize, most: usize) -> Vec<Range<usize>> {
        let windows = (0..pieces)
            .step_by(most)
            .map(|start| start..pieces.min(start + most));
        let Stretches::Some(all, span) = self else {
            return windows.collect();
        };
        if span.columns as usize != pieces {
            return windows.collect();
        }
        let columns = columns(span);
        if all.is_long {
            let found = windows.filter(|window| {
                all.have(
                    columns.start + window.start..columns.end.min(columns.start + window.end + 1),
                )
            });
            return found.collect();
        }
        let mut found: Vec<Range<usize>> = Vec::new();
        for piece in 0..pieces {
            let column = columns.start + piece;
            if !all.have(column..column + 1) {
                continue;
            }
            match found.last_mut() {
                Some(last) if last.end == piece && last.len() < most => last.end += 1,
                _ => found.push(piece..piece + 1),
            }
        }
        found
    }
}

fn columns(span: &Span) -> Range<usize> {
    let first = span.first as usize;
    first..first + span.columns as usize
}

fn intersect(groups: &[Group]) -> Group {
    let both = |one: Group, other: &Group| one.iter().zip(other).map(|(a, b)| a & b).collect();
    let (first, rest) = match groups.split_first() {
        Some((first, rest)) => (first.clone(), rest),
        None => return Vec::new(),
    };
    rest.iter().fold(first, both)
}

fn unite(alternatives: &[Vec<Group>]) -> Group {
    let groups = alternatives.iter().flatten();
    let any = |one: Group, other: &Group| match one.is_empty() {
        true => other.clone(),
        false => one.iter().zip(other).map(|(a, b)| a | b).collect(),
    };
    groups.fold(Vec::new(), any)
}
