//! Islands: runs of consecutive chunks near hits, with the value of each chunk.

use super::layout::{Layout, follows};
use super::passage::{HitDocument, Run};

/// How far a hit adds value to its neighbours, in tokens.
pub const REACH_TOKENS: u32 = 512;
/// The value that a hit adds to the text on each side, as a share of its own value. Depending on the
/// kind of document, the text this near on one side contained 0.02 to 0.4 as much of the answers as
/// the hits did. This share was tuned in that range on the same question sets, for the share of the
/// answers in the passages.
const SPREAD: f64 = 0.1;
/// The length of a chunk whose own value is 1 / rank, in tokens.
const TYPICAL_TOKENS: f64 = 160.0;
/// The cost of a passage in addition to its tokens: the line that gives its source.
const PASSAGE_COST: f64 = 32.0;

/// Whether each chunk of an island is selected.
pub(super) type Mask = Vec<bool>;

/// Consecutive chunks within the reach of hits; a stretch lies within one island.
#[derive(Debug)]
pub(super) struct Island<'a> {
    pub(super) doc: i64,
    pub(super) layout: Layout<'a>,
    /// The index of its first chunk in the layout.
    first: usize,
    /// The value of each chunk.
    values: Vec<f64>,
    /// The hits of each chunk.
    hits: Vec<Vec<u32>>,
    /// Whether the chunk before the first is in another island.
    follows: bool,
    /// The tokens that each chunk adds behind the one before, and those that it has alone.
    tokens: Vec<[f64; 2]>,
}

/// Returns the islands of a document, in order; with `within_section` none crosses a section border.
///
/// A hit of rank r (from 1) has the value 1 / r, which is proportional to how often a chunk of that
/// rank contains the answer. Ranks are used because the scores of fusion, BM25 and rerankers are
/// comparable only by their order. A longer chunk contains more of the answers, but less of them for
/// each token, so the value of the hit's own chunk grows with the square root of its length. With
/// values equal for all lengths, passages of 1,000 tokens held less of the answers in source code.
/// An answer often continues beyond its chunk, so a hit also adds value to the text on each side,
/// with a density that decreases linearly to zero at its reach.
pub(super) fn around<'a>(document: &HitDocument<'a>, within_section: bool) -> Vec<Island<'a>> {
    let layout = document.layout;
    let apart = |chunk: usize| {
        let [before, after] = [layout[chunk - 1].span, layout[chunk].span];
        !follows(layout, chunk) || within_section && before.section != after.section
    };
    let mut values: Vec<Option<f64>> = vec![None; layout.len()];
    let mut hits: Vec<Vec<u32>> = vec![Vec::new(); layout.len()];
    for &(hit, at) in &document.hits {
        let own = 1.0 / f64::from(hit + 1);
        hits[at].push(hit);
        let (start, end) = (layout[at].span.token_start, layout[at].span.token_end);
        let length = f64::from(end.saturating_sub(start)) / TYPICAL_TOKENS;
        *values[at].get_or_insert(0.0) += own * length.sqrt();
        let after = (at + 1..layout.len()).take_while(|&chunk| !apart(chunk));
        spread(
            own,
            &mut values,
            after.map(|chunk| (chunk, layout[chunk].span.token_end.abs_diff(end))),
        );
        let before = (0..at).rev().take_while(|&chunk| !apart(chunk + 1));
        spread(
            own,
            &mut values,
            before.map(|chunk| (chunk, layout[chunk].span.token_start.abs_diff(start))),
        );
    }
    let mut islands = Vec::new();
    let mut first = 0;
    while first < layout.len() {
        let length = (first..layout.len())
            .take_while(|&chunk| values[chunk].is_some() && (chunk == first || !apart(chunk)))
            .count();
        if length > 0 {
            let mut island = Island {
                doc: document.doc,
                layout,
                first,
                values: values[first..first + length]
                    .iter()
                    .flatten()
                    .copied()
                    .collect(),
                hits: hits[first..first + length].to_vec(),
                follows: follows(layout, first) && values[first - 1].is_some(),
                tokens: Vec::new(),
            };
            island.tokens = (0..length).map(|chunk| island.tokens_of(chunk)).collect();
            islands.push(island);
        }
        first += length.max(1);
    }
    islands
}

/// Adds value to the chunks on one side, nearest first, each with the tokens up to its far end.
fn spread(own: f64, values: &mut [Option<f64>], side: impl Iterator<Item = (usize, u32)>) {
    // The value beyond a distance: the density is linear, so its integral is a square.
    let beyond =
        |tokens: f64| SPREAD * own * (1.0 - tokens / f64::from(REACH_TOKENS)).max(0.0).powi(2);
    let mut near = 0.0;
    for (chunk, far) in side {
        if near >= f64::from(REACH_TOKENS) {
            return;
        }
        let far = f64::from(far).max(near);
        *values[chunk].get_or_insert(0.0) += beyond(near) - beyond(far);
        near = far;
    }
}

/// The state of the dynamic program after a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The chunk is not selected.
    Closed,
    /// The chunk is in a stretch without a hit so far, which cannot end here.
    NoHit,
    /// The chunk is in a stretch with a hit.
    WithHit,
}

impl Island<'_> {
    /// Returns the total value of its chunks.
    pub(super) fn total(&self) -> f64 {
        self.values.iter().sum()
    }

    /// Returns the stretches of greatest value less cost; fewer chunks if it is equal.
    ///
    /// Each contains a hit, and the best hit of all is in one. The result is exact, by dynamic
    /// programming over the chunks.
    /// `previous` is a buffer.
    pub(super) fn best(&self, price: f64, previous: &mut Vec<[State; 3]>) -> Mask {
        use State::{Closed, NoHit, WithHit};
        let mut best = [0.0, f64::NEG_INFINITY, f64::NEG_INFINITY];
        previous.clear();
        for chunk in 0..self.values.len() {
            let [added, alone] = self.tokens[chunk];
            let joined = self.values[chunk] - price * added;
            let opened = self.values[chunk] - price * (alone + PASSAGE_COST);
            let pick = |ways: &[(State, f64)]| {
                let mut chosen = (Closed, f64::NEG_INFINITY);
                for &(from, change) in ways {
                    let sum = best[from as usize] + change;
                    chosen = if sum > chosen.1 { (from, sum) } else { chosen };
                }
                chosen
            };
            let closed = if self.hits[chunk].contains(&0) {
                (Closed, f64::NEG_INFINITY)
            } else {
                pick(&[(Closed, 0.0), (WithHit, 0.0)])
            };
            let (no_hit, with_hit) = if self.hits[chunk].is_empty() {
                (
                    pick(&[(Closed, opened), (NoHit, joined)]),
                    pick(&[(WithHit, joined)]),
                )
            } else {
                let with_hit = pick(&[(Closed, opened), (NoHit, joined), (WithHit, joined)]);
                ((Closed, f64::NEG_INFINITY), with_hit)
            };
            previous.push([closed.0, no_hit.0, with_hit.0]);
            best = [closed.1, no_hit.1, with_hit.1];
        }
        let mut state = if best[WithHit as usize] > best[Closed as usize] {
            WithHit
        } else {
            Closed
        };
        let mut mask = vec![false; self.values.len()];
        for chunk in (0..mask.len()).rev() {
            mask[chunk] = state != Closed;
            state = previous[chunk][state as usize];
        }
        mask
    }

    /// Iterates over the chunks that could be added (hits, and neighbours of selected chunks), each
    /// with its tokens and its value per token.
    pub(super) fn additions(&self, mask: &[bool]) -> impl Iterator<Item = (usize, u64, f64)> {
        (0..mask.len())
            .filter(|&chunk| !mask[chunk])
            .filter_map(|chunk| {
                let beside = chunk > 0 && mask[chunk - 1] || mask.get(chunk + 1) == Some(&true);
                let cost = self.cost(chunk, mask);
                let price = cost as f64 + if beside { 0.0 } else { PASSAGE_COST };
                let value = self.values[chunk];
                (value > 0.0 && (beside || !self.hits[chunk].is_empty()))
                    .then(|| (chunk, cost, value / price.max(1.0)))
            })
    }

    /// Returns the value of a mask, and its cost in tokens.
    pub(super) fn sums(&self, mask: &[bool]) -> (f64, f64) {
        self.stretches(mask)
            .fold((0.0, 0.0), |(value, tokens), (first, last)| {
                (
                    value + self.values[first..=last].iter().sum::<f64>(),
                    tokens + self.between(first, last) as f64 + PASSAGE_COST,
                )
            })
    }

    /// Returns the tokens of the selected chunks.
    pub(super) fn tokens(&self, mask: &[bool]) -> u64 {
        self.stretches(mask)
            .map(|(first, last)| self.between(first, last))
            .sum()
    }

    /// Iterates over the hits in selected stretches, each with its stretch.
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

    /// Iterates over the stretches of a mask: the indices of their first and last chunks.
    fn stretches(&self, mask: &[bool]) -> impl Iterator<Item = (usize, usize)> {
        let mut at = 0;
        mask.chunk_by(|a, b| a == b).filter_map(move |run| {
            let first = at;
            at += run.len();
            run[0].then_some((first, at - 1))
        })
    }

    /// Returns the tokens of a stretch; overlaps of chunks, and gaps between them, count once.
    fn between(&self, first: usize, last: usize) -> u64 {
        u64::from(self.end(last).saturating_sub(self.start(first)))
    }

    /// Returns the tokens that a chunk adds to the selected chunks on both sides.
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

    /// Returns the tokens that a chunk adds behind the one before, and those that it has alone.
    fn tokens_of(&self, chunk: usize) -> [f64; 2] {
        let before = chunk.checked_sub(1).map_or(0, |before| self.end(before));
        let behind = |start| f64::from(self.end(chunk).saturating_sub(start));
        [behind(before), behind(self.start(chunk))]
    }

    /// Returns the first token of a chunk. If another island precedes, the gap between the two counts
    /// as part of the chunk, because the islands may become one passage.
    fn start(&self, chunk: usize) -> u32 {
        let at = self.first + chunk;
        let own = self.layout[at].span.token_start;
        if chunk == 0 && self.follows {
            own.min(self.layout[at - 1].span.token_end)
        } else {
            own
        }
    }

    fn end(&self, chunk: usize) -> u32 {
        self.layout[self.first + chunk].span.token_end
    }
}

#[cfg(test)]
impl Island<'_> {
    /// Iterates over all valid masks: each stretch contains a hit, and the best hit is in one.
    pub(super) fn all(&self) -> impl Iterator<Item = Mask> {
        let length = self.values.len();
        let mask = move |bits: u32| (0..length).map(|at| bits >> at & 1 == 1).collect();
        (0u32..1 << length).map(mask).filter(|mask: &Mask| {
            let has_hit =
                |(first, last)| self.hits[first..=last].iter().any(|hits| !hits.is_empty());
            let best = self.hits.iter().position(|hits| hits.contains(&0));
            self.stretches(mask).all(has_hit) && best.is_none_or(|at| mask[at])
        })
    }
}
