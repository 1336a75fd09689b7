//! The walk through a graph to the rows nearest to a query.

use std::collections::BinaryHeap;

use half::f16;

use super::near::{Far, Near};
use crate::dense::kernels::{Kernel, kernel_f16_apart, prefetch};

/// A neighbour that is none: the end of a list that is not full.
pub(super) const NONE: u32 = u32::MAX;

/// Rows that are fetched before the one that is compared.
const AHEAD: usize = 2;

/// The neighbours of the rows of a graph.
pub(super) trait Links {
    /// Returns the neighbours of a row in a layer, of which the lowest is 0; after the last one there
    /// may be `NONE`.
    fn of(&self, layer: usize, row: u32) -> &[u32];

    /// Fetches the neighbours of a row in the lowest layer into the processor's cache.
    fn prefetch(&self, row: u32);
}

/// The rows that a graph is of.
pub(super) struct Rows<'a, Check> {
    pub(super) values: &'a [f16],
    pub(super) dim: usize,
    /// Whether a row may be read.
    pub(super) check: Check,
}

impl<'a, Check: Fn(usize) -> bool> Rows<'a, Check> {
    /// Returns a row.
    #[inline]
    pub(super) fn row(&self, row: u32) -> &'a [f16] {
        &self.values[row as usize * self.dim..][..self.dim]
    }

    #[inline]
    fn prefetch(&self, row: u32) {
        prefetch(self.row(row));
    }
}

/// What a walk notes; it may be used for one after the other.
#[derive(Default)]
pub(super) struct Scratch {
    /// A bit a row: whether it was met.
    met: Vec<u64>,
    /// The words of `met` that are not 0.
    touched: Vec<u32>,
    /// Rows whose neighbours were not looked at.
    ahead: BinaryHeap<Near>,
    best: BinaryHeap<Far>,
    fresh: Vec<u32>,
}

impl Scratch {
    fn clear(&mut self, rows: usize) {
        for word in self.touched.drain(..) {
            self.met[word as usize] = 0;
        }
        self.met.resize(rows.div_ceil(64), 0);
        self.ahead.clear();
        self.best.clear();
    }

    /// Returns whether a row is met for the first time.
    #[inline]
    fn meet(&mut self, row: u32) -> bool {
        let word = &mut self.met[row as usize / 64];
        let bit = 1 << (row % 64);
        if *word == 0 {
            self.touched.push(row / 64);
        }
        let first = *word & bit == 0;
        *word |= bit;
        first
    }

    /// Returns the rows that the last walk found with their scores, in no particular order.
    pub(super) fn take_unsorted(&mut self) -> Vec<(usize, f32)> {
        let found = self.best.drain();
        found
            .map(|far| (far.0.row() as usize, far.0.score()))
            .collect()
    }

    /// Returns the rows that the last walk found, the nearest first.
    pub(super) fn take_sorted(&mut self) -> Vec<Near> {
        let mut found: Vec<Near> = self.best.drain().map(|far| far.0).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }
}

/// A query in a graph.
pub(super) struct Walk<'a, L, Check> {
    links: &'a L,
    rows: &'a Rows<'a, Check>,
    query: &'a [f32],
    product: Kernel<f16>,
}

impl<'a, L: Links, Check: Fn(usize) -> bool> Walk<'a, L, Check> {
    /// `query` has as many values as a row.
    pub(super) fn new(links: &'a L, rows: &'a Rows<'a, Check>, query: &'a [f32]) -> Self {
        Walk {
            links,
            rows,
            query,
            product: kernel_f16_apart(),
        }
    }

    /// Returns a row with its score, if it may be read.
    #[inline]
    fn compare(&self, row: u32) -> Option<Near> {
        let intact = (self.rows.check)(row as usize);
        intact.then(|| Near::new((self.product)(self.rows.row(row), self.query), row))
    }

    /// Returns the row where a walk in `layer` should begin, found in the layers from `top` down to the
    /// one above.
    pub(super) fn descend(
        &self,
        entry: u32,
        top: usize,
        layer: usize,
        scratch: &mut Scratch,
    ) -> u32 {
        let mut at = entry;
        for above in (layer + 1..=top).rev() {
            self.search(above, at, 1, |_| true, scratch);
            at = scratch.best.peek().map_or(at, |far| far.0.row());
        }
        at
    }

    /// Finds the `count` allowed rows nearest to the query in a layer, and leaves them in `scratch`
    /// (algorithm 2 of Malkov and Yashunin 2016).
    ///
    /// The walk ends when no row that is left is nearer than the farthest of `count` that were found.
    /// Rows that are not allowed are passed, and not found.
    pub(super) fn search(
        &self,
        layer: usize,
        entry: u32,
        count: usize,
        allowed: impl Fn(usize) -> bool,
        scratch: &mut Scratch,
    ) {
        scratch.clear(self.rows.values.len() / self.rows.dim);
        scratch.meet(entry);
        let Some(first) = self.compare(entry) else {
            return;
        };
        scratch.ahead.push(first);
        if allowed(entry as usize) {
            scratch.best.push(Far(first));
        }
        let mut fresh = std::mem::take(&mut scratch.fresh);
        while let Some(nearest) = scratch.ahead.pop() {
            let full = scratch.best.len() >= count;
            if full && scratch.best.peek().is_some_and(|far| nearest < far.0) {
                break;
            }
            fresh.clear();
            let linked = self.links.of(layer, nearest.row()).iter();
            fresh.extend(
                linked
                    .take_while(|&&row| row != NONE)
                    .filter(|&&row| scratch.meet(row)),
            );
            for &row in fresh.iter().take(AHEAD) {
                self.rows.prefetch(row);
            }
            for (at, &row) in fresh.iter().enumerate() {
                if let Some(&next) = fresh.get(at + AHEAD) {
                    self.rows.prefetch(next);
                }
                let Some(near) = self.compare(row) else {
                    continue;
                };
                let full = scratch.best.len() >= count;
                if full && scratch.best.peek().is_some_and(|far| near < far.0) {
                    continue;
                }
                scratch.ahead.push(near);
                if allowed(row as usize) {
                    if full {
                        scratch.best.pop();
                    }
                    scratch.best.push(Far(near));
                }
            }
            if let Some(next) = scratch.ahead.peek()
                && layer == 0
            {
                self.links.prefetch(next.row());
            }
        }
        scratch.fresh = fresh;
    }
}
