//! The walk through a graph to the rows nearest to a query.

use std::collections::BinaryHeap;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use half::f16;

use super::near::{Far, Near};
use crate::dense::kernels::{Kernel, kernel_f16_apart, prefetch};

/// What stands in a list of neighbours after the last one, if the list is not full.
pub(super) const NONE: u32 = u32::MAX;

/// The number of rows that are prefetched while one is compared.
const AHEAD: usize = 2;

/// The most scratches that are kept for later walks, and the most rows to visit that one of them keeps
/// room for.
const KEPT: usize = 64;
const KEPT_AHEAD: usize = 1 << 16;

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

/// The memory of a walk, which the next walk uses again.
#[derive(Default)]
pub(super) struct Scratch {
    /// A bit a row: whether it was met.
    met: Vec<u64>,
    /// The words of `met` that are not 0.
    touched: Vec<u32>,
    /// Rows whose neighbours have not been visited.
    ahead: BinaryHeap<Near>,
    best: Best,
    /// The nearest rows that were met, allowed or not.
    passed: Best,
    fresh: Vec<u32>,
}

/// The nearest rows, at most `count`.
#[derive(Default)]
struct Best {
    rows: BinaryHeap<Far>,
    count: usize,
}

impl Best {
    fn clear(&mut self, count: usize) {
        self.rows.clear();
        self.count = count;
    }

    /// Returns whether there are `count` rows, and all of them are nearer than this one.
    #[inline]
    fn excludes(&self, near: Near) -> bool {
        self.rows.len() >= self.count && self.rows.peek().is_none_or(|far| near < far.0)
    }

    /// Adds a row that is not [excluded](Self::excludes).
    #[inline]
    fn push(&mut self, near: Near) {
        if self.rows.len() >= self.count {
            self.rows.pop();
        }
        self.rows.push(Far(near));
    }
}

/// How far a walk goes.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// The number of allowed rows that it keeps: the nearest that it meets.
    pub(super) best: usize,
    /// The walk goes on while a row is left that is nearer than the farthest of so many nearest rows
    /// that it has met, allowed or not. Without that, a walk whose allowed rows are all near the query
    /// would end when it has met `best` of them, and there may be better ones.
    pub(super) passed: usize,
    /// It gives up after the neighbours of so many rows.
    pub(super) visits: usize,
}

impl Reach {
    /// Returns the reach of a walk to the best rows, which are all allowed.
    pub(super) fn of_all(best: usize) -> Self {
        Reach {
            best,
            passed: 0,
            visits: usize::MAX,
        }
    }
}

/// Scratches that no walk uses.
#[derive(Default)]
pub(super) struct Scratches(Mutex<Vec<Scratch>>);

impl Scratches {
    /// Returns one of them, or a new one. It waits for no other thread: in a process that was forked
    /// while a thread held the lock, none would release it.
    pub(super) fn lend(&self) -> Lent<'_> {
        let kept = self.0.try_lock().ok().and_then(|mut kept| kept.pop());
        Lent {
            scratch: kept.unwrap_or_default(),
            owner: self,
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().map_or(0, |kept| kept.len())
    }
}

/// A scratch that is returned when it is dropped.
pub(super) struct Lent<'a> {
    scratch: Scratch,
    owner: &'a Scratches,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.scratch.ahead.clear();
        self.scratch.ahead.shrink_to(KEPT_AHEAD);
        if let Ok(mut kept) = self.owner.0.try_lock()
            && kept.len() < KEPT
        {
            kept.push(std::mem::take(&mut self.scratch));
        }
    }
}

impl Deref for Lent<'_> {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.scratch
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
}

impl Scratch {
    fn clear(&mut self, rows: usize, reach: Reach) {
        for word in self.touched.drain(..) {
            self.met[word as usize] = 0;
        }
        self.met.resize(rows.div_ceil(64), 0);
        self.ahead.clear();
        self.best.clear(reach.best);
        self.passed.clear(reach.passed);
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
        let found = self.best.rows.drain();
        found
            .map(|far| (far.0.row() as usize, far.0.score()))
            .collect()
    }

    /// Returns the rows that the last walk found, the nearest first.
    pub(super) fn take_sorted(&mut self) -> Vec<Near> {
        let mut found: Vec<Near> = self.best.rows.drain().map(|far| far.0).collect();
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
            self.search(above, at, 1, scratch);
            at = scratch.best.rows.peek().map_or(at, |far| far.0.row());
        }
        at
    }

    /// Finds the `count` rows nearest to the query in a layer, and leaves them in `scratch`
    /// (algorithm 2 of Malkov and Yashunin 2016).
    ///
    /// The walk ends when no row that is left is nearer than the farthest of `count` that were found.
    pub(super) fn search(&self, layer: usize, entry: u32, count: usize, scratch: &mut Scratch) {
        self.search_allowed(layer, entry, Reach::of_all(count), |_| true, scratch);
    }

    /// Finds the allowed rows nearest to the query in a layer, and leaves them in `scratch`; returns
    /// false if it gave up before it had found all. Rows that are not allowed are passed.
    pub(super) fn search_allowed(
        &self,
        layer: usize,
        entry: u32,
        reach: Reach,
        allowed: impl Fn(usize) -> bool,
        scratch: &mut Scratch,
    ) -> bool {
        let rows = self.rows.values.len() / self.rows.dim;
        scratch.clear(rows, reach);
        scratch.meet(entry);
        let Some(first) = self.compare(entry) else {
            return true;
        };
        scratch.ahead.push(first);
        if !scratch.passed.excludes(first) {
            scratch.passed.push(first);
        }
        if allowed(entry as usize) {
            scratch.best.push(first);
        }
        let mut fresh = std::mem::take(&mut scratch.fresh);
        let mut visits = 0;
        while let Some(nearest) = scratch.ahead.pop() {
            if scratch.best.excludes(nearest) && scratch.passed.excludes(nearest) {
                break;
            }
            visits += 1;
            if visits > reach.visits {
                break;
            }
            fresh.clear();
            let linked = self.links.of(layer, nearest.row()).iter();
            fresh.extend(
                linked
                    .take_while(|&&row| (row as usize) < rows)
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
                let is_among_best = !scratch.best.excludes(near);
                let is_among_passed = !scratch.passed.excludes(near);
                if is_among_best || is_among_passed {
                    scratch.ahead.push(near);
                }
                if is_among_passed {
                    scratch.passed.push(near);
                }
                if is_among_best && allowed(row as usize) {
                    scratch.best.push(near);
                }
            }
            if let Some(next) = scratch.ahead.peek()
                && layer == 0
            {
                self.links.prefetch(next.row());
            }
        }
        scratch.fresh = fresh;
        visits <= reach.visits
    }
}
