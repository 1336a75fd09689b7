//! Here are neighbours: what is each worth, and which of them at this price?

use crate::widen::{Document, Layout, Run, SECTION, TOKEN_END, TOKEN_START};

/// How far past a hit its answer may go on, in tokens; what is lent falls to nothing there.
const REACH: f64 = 512.0;
/// What a hit lends to the text on either side, as a share of its worth. Of what answers, 0.02 to 0.4
/// of what the hits hold was seen so close on one side, by kind of document; of those shares this one
/// was chosen by what passages then held of the answers, on the same sets.
const LENT: f64 = 0.1;
/// What opening a passage costs beside its tokens: the line that says where it stands.
const OPENING: f64 = 32.0;

/// Which chunks of an island are chosen.
pub(super) type Mask = Vec<bool>;

/// Consecutive chunks within the reach of hits; no chosen stretch leaves its island.
#[derive(Debug)]
pub(super) struct Island<'a> {
    pub(super) doc: i64,
    pub(super) layout: Layout<'a>,
    /// The ordinal of its first chunk.
    first: usize,
    /// What each chunk is worth.
    worth: Vec<f64>,
    /// The hits of each chunk.
    hits: Vec<Vec<u32>>,
    /// Whether the chunk before the first lies in another island.
    follows: bool,
}

/// The islands of a document, in order; with `within_section` none crosses a section's border.
///
/// A hit of rank r (from 1) is worth 1 / r: that is how often, up to a factor, a chunk of that
/// rank holds what was asked for, and sums of reciprocal ranks, BM25 and a reranker's
/// probabilities have little in common but the order they make. An answer often goes on past its
/// chunk, so a hit lends worth to the text on either side, at a density that falls evenly to
/// nothing at its reach.
pub(super) fn around<'a>(
    document: &Document<'a>,
    ordinal_of: impl Fn(u32) -> usize,
    within_section: bool,
) -> Vec<Island<'a>> {
    let layout = document.layout;
    let apart =
        |chunk: usize| within_section && layout[chunk - 1][SECTION] != layout[chunk][SECTION];
    let mut worth: Vec<Option<f64>> = vec![None; layout.len()];
    let mut hits: Vec<Vec<u32>> = vec![Vec::new(); layout.len()];
    for &hit in &document.hits {
        let at = ordinal_of(hit);
        let own = 1.0 / f64::from(hit + 1);
        hits[at].push(hit);
        *worth[at].get_or_insert(0.0) += own;
        let [start, end] = [layout[at][TOKEN_START], layout[at][TOKEN_END]];
        let after = (at + 1..layout.len()).take_while(|&chunk| !apart(chunk));
        lend(
            own,
            &mut worth,
            after.map(|chunk| (chunk, layout[chunk][TOKEN_END].abs_diff(end))),
        );
        let before = (0..at).rev().take_while(|&chunk| !apart(chunk + 1));
        lend(
            own,
            &mut worth,
            before.map(|chunk| (chunk, layout[chunk][TOKEN_START].abs_diff(start))),
        );
    }
    let mut islands = Vec::new();
    let mut first = 0;
    while first < layout.len() {
        let length = (first..layout.len())
            .take_while(|&chunk| worth[chunk].is_some() && (chunk == first || !apart(chunk)))
            .count();
        if length > 0 {
            islands.push(Island {
                doc: document.doc,
                layout,
                first,
                worth: worth[first..first + length]
                    .iter()
                    .flatten()
                    .copied()
                    .collect(),
                hits: hits[first..first + length].to_vec(),
                follows: first > 0 && worth[first - 1].is_some(),
            });
        }
        first += length.max(1);
    }
    islands
}

/// Lends to the chunks on one side, nearest first, each with the tokens up to its far end.
fn lend(own: f64, worth: &mut [Option<f64>], side: impl Iterator<Item = (usize, u32)>) {
    // What is left of the loan at a distance: its density falls evenly, so this is a square.
    let left = |tokens: f64| LENT * own * (1.0 - tokens / REACH).max(0.0).powi(2);
    let mut near = 0.0;
    for (chunk, far) in side {
        if near >= REACH {
            return;
        }
        let far = f64::from(far).max(near);
        *worth[chunk].get_or_insert(0.0) += left(near) - left(far);
        near = far;
    }
}

/// A stretch that is being read: what it is worth so far, and how the chunk before was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No stretch is open.
    Shut,
    /// A stretch is open that has no hit yet: it cannot end here.
    Bare,
    /// A stretch with a hit is open.
    Held,
}

impl Island<'_> {
    /// What all its chunks are worth together.
    pub(super) fn total(&self) -> f64 {
        self.worth.iter().sum()
    }

    /// The stretches whose worth less price is greatest, fewer chunks where it is equal.
    ///
    /// Each holds a hit, and the best hit of all is in one. Exact, by dynamic programming over the
    /// chunks and what is open between them.
    pub(super) fn best(&self, price: f64) -> Mask {
        use State::{Bare, Held, Shut};
        let mut value = [0.0, f64::NEG_INFINITY, f64::NEG_INFINITY];
        let mut came: Vec<[State; 3]> = Vec::with_capacity(self.worth.len());
        for chunk in 0..self.worth.len() {
            let before = chunk.checked_sub(1).map_or(0, |before| self.end(before));
            let added = f64::from(self.end(chunk).saturating_sub(before));
            let alone = f64::from(self.end(chunk).saturating_sub(self.start(chunk)));
            let joined = self.worth[chunk] - price * added;
            let opened = self.worth[chunk] - price * (alone + OPENING);
            let pick = |ways: &[(State, f64)]| {
                let mut best = (Shut, f64::NEG_INFINITY);
                for &(from, change) in ways {
                    let sum = value[from as usize] + change;
                    best = if sum > best.1 { (from, sum) } else { best };
                }
                best
            };
            let shut = if self.hits[chunk].contains(&0) {
                (Shut, f64::NEG_INFINITY)
            } else {
                pick(&[(Shut, 0.0), (Held, 0.0)])
            };
            let (bare, held) = if self.hits[chunk].is_empty() {
                (
                    pick(&[(Shut, opened), (Bare, joined)]),
                    pick(&[(Held, joined)]),
                )
            } else {
                let held = pick(&[(Shut, opened), (Bare, joined), (Held, joined)]);
                ((Shut, f64::NEG_INFINITY), held)
            };
            came.push([shut.0, bare.0, held.0]);
            value = [shut.1, bare.1, held.1];
        }
        let mut state = if value[Held as usize] > value[Shut as usize] {
            Held
        } else {
            Shut
        };
        let mut mask = vec![false; self.worth.len()];
        for chunk in (0..mask.len()).rev() {
            mask[chunk] = state != Shut;
            state = came[chunk][state as usize];
        }
        mask
    }

    /// Chunks that could be added, hits and neighbours of what is chosen, each with its tokens and
    /// its worth per token.
    pub(super) fn additions(&self, mask: &[bool]) -> impl Iterator<Item = (usize, u64, f64)> {
        (0..mask.len())
            .filter(|&chunk| !mask[chunk])
            .filter_map(|chunk| {
                let beside = chunk > 0 && mask[chunk - 1] || mask.get(chunk + 1) == Some(&true);
                let cost = self.cost(chunk, mask);
                let price = cost as f64 + if beside { 0.0 } else { OPENING };
                let worth = self.worth[chunk];
                (worth > 0.0 && (beside || !self.hits[chunk].is_empty()))
                    .then(|| (chunk, cost, worth / price.max(1.0)))
            })
    }

    /// Tokens of what is chosen.
    pub(super) fn tokens(&self, mask: &[bool]) -> u64 {
        self.stretches(mask)
            .map(|(first, last)| self.between(first, last))
            .sum()
    }

    /// A run for each hit in a stretch that is chosen.
    pub(super) fn runs(&self, mask: &[bool]) -> impl Iterator<Item = Run> {
        self.stretches(mask).flat_map(move |(first, last)| {
            self.hits[first..=last]
                .iter()
                .flatten()
                .map(move |&hit| Run {
                    first: self.first + first,
                    last: self.first + last,
                    hit,
                })
        })
    }

    /// The stretches of a mask: places of their first and last chunks.
    fn stretches(&self, mask: &[bool]) -> impl Iterator<Item = (usize, usize)> {
        let mut at = 0;
        mask.chunk_by(|a, b| a == b).filter_map(move |run| {
            let first = at;
            at += run.len();
            run[0].then_some((first, at - 1))
        })
    }

    /// Tokens of a stretch: what overlaps counts once, and so does what lies between chunks.
    fn between(&self, first: usize, last: usize) -> u64 {
        u64::from(self.end(last).saturating_sub(self.start(first)))
    }

    /// Tokens that a chunk adds between what is chosen on either side.
    fn cost(&self, chunk: usize, mask: &[bool]) -> u64 {
        let left = match chunk.checked_sub(1) {
            Some(before) if mask[before] => self.end(before),
            _ => self.start(chunk),
        };
        let right = match mask.get(chunk + 1) {
            Some(true) => self.start(chunk + 1),
            _ => self.end(chunk),
        };
        u64::from(right.saturating_sub(left))
    }

    /// Where a chunk's tokens start. Those before an island that follows another are counted here:
    /// the two may become one passage.
    fn start(&self, chunk: usize) -> u32 {
        let at = self.first + chunk;
        let own = self.layout[at][TOKEN_START];
        if chunk == 0 && self.follows {
            own.min(self.layout[at - 1][TOKEN_END])
        } else {
            own
        }
    }

    fn end(&self, chunk: usize) -> u32 {
        self.layout[self.first + chunk][TOKEN_END]
    }
}

#[cfg(test)]
impl Island<'_> {
    /// Every mask that may be chosen: each stretch holds a hit, and the best hit is in one.
    pub(super) fn all(&self) -> impl Iterator<Item = Mask> {
        let length = self.worth.len();
        let mask = move |bits: u32| (0..length).map(|at| bits >> at & 1 == 1).collect();
        (0u32..1 << length).map(mask).filter(|mask: &Mask| {
            let held = |(first, last)| self.hits[first..=last].iter().any(|hits| !hits.is_empty());
            let best = self.hits.iter().position(|hits| hits.contains(&0));
            self.stretches(mask).all(held) && best.is_none_or(|at| mask[at])
        })
    }

    /// What a mask is worth, and the tokens that are paid for it.
    pub(super) fn sums(&self, mask: &[bool]) -> (f64, f64) {
        self.stretches(mask)
            .fold((0.0, 0.0), |(worth, tokens), (first, last)| {
                (
                    worth + self.worth[first..=last].iter().sum::<f64>(),
                    tokens + self.between(first, last) as f64 + OPENING,
                )
            })
    }
}
