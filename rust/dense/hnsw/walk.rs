//! The walk through a graph to the rows nearest to a query.

use std::collections::BinaryHeap;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use half::f16;

use super::near::{Far, Near};
use crate::dense::kernels::{Kernel, kernel_f16_apart, prefetch};

/// Links of a row in a layer; twice as many in the lowest one.
pub(super) const LINKS: usize = 16;

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
    changed: Vec<u32>,
    /// Rows whose neighbours have not been visited.
    ahead: BinaryHeap<Near>,
    best: Best,
    /// The nearest rows that were met, allowed or not.
    passed: Best,
    fresh: Vec<u32>,
    /// The rows that were compared near the query.
    near: Vec<Near>,
    /// The rows whose neighbours were not visited because they are not allowed.
    skipped: Vec<Near>,
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

    fn is_full(&self) -> bool {
        self.rows.len() >= self.count
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

/// The number of nearest rows that tell a walk with a filter whether allowed rows are rare near the
/// query: if their share is less than this part of that of all rows.
const SAMPLE: usize = 128;
const RARE: f64 = 0.5;

/// How far a walk with a filter goes.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// The number of allowed rows that it keeps: the nearest that it meets.
    pub(super) best: usize,
    /// It compares all neighbours of so many nearest rows, allowed or not.
    pub(super) passed: usize,
    /// The share of all rows that are allowed.
    pub(super) share: f64,
    /// The number of allowed rows to which it looks for links from one row.
    pub(super) links: usize,
    /// It gives up after so many comparisons and lists of neighbours.
    pub(super) reads: usize,
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
    fn clear(&mut self, rows: usize, best: usize, passed: usize) {
        for word in self.changed.drain(..) {
            self.met[word as usize] = 0;
        }
        self.met.resize(rows.div_ceil(64), 0);
        self.ahead.clear();
        self.best.clear(best);
        self.passed.clear(passed);
    }

    /// Returns whether a row is met for the first time.
    #[inline]
    fn meet(&mut self, row: u32) -> bool {
        let word = &mut self.met[row as usize / 64];
        let bit = 1 << (row % 64);
        if *word == 0 {
            self.changed.push(row / 64);
        }
        let first = *word & bit == 0;
        *word |= bit;
        first
    }

    /// Adds a row that was compared, if it is among the nearest.
    #[inline]
    fn add(&mut self, near: Near, is_allowed: bool) {
        let is_among_best = !self.best.excludes(near);
        let is_among_passed = !self.passed.excludes(near);
        if is_among_best || is_among_passed {
            self.ahead.push(near);
        }
        if is_among_passed {
            self.passed.push(near);
        }
        if is_among_best && is_allowed {
            self.best.push(near);
        }
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

/// Returns the share of allowed rows among the nearest of these.
fn share(rows: &mut [Near], allowed: impl Fn(u32) -> bool) -> f64 {
    let count = SAMPLE.min(rows.len());
    if count < rows.len() {
        rows.select_nth_unstable_by(count, |a, b| b.cmp(a));
    }
    let nearest = rows[..count].iter();
    nearest.filter(|near| allowed(near.row())).count() as f64 / count.max(1) as f64
}

/// A query in a graph.
pub(super) struct Walk<'a, L, Check> {
    links: &'a L,
    rows: &'a Rows<'a, Check>,
    query: &'a [f32],
    product: Kernel<f16>,
    /// The number of rows.
    count: usize,
}

impl<'a, L: Links, Check: Fn(usize) -> bool> Walk<'a, L, Check> {
    /// `query` has as many values as a row.
    pub(super) fn new(links: &'a L, rows: &'a Rows<'a, Check>, query: &'a [f32]) -> Self {
        Walk {
            links,
            rows,
            query,
            product: kernel_f16_apart(),
            count: rows.values.len() / rows.dim,
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
        scratch.clear(self.count, count, 0);
        scratch.meet(entry);
        let Some(first) = self.compare(entry) else {
            return;
        };
        scratch.ahead.push(first);
        scratch.best.push(first);
        let mut fresh = std::mem::take(&mut scratch.fresh);
        while let Some(nearest) = scratch.ahead.pop() {
            if scratch.best.excludes(nearest) {
                break;
            }
            fresh.clear();
            let linked = self.linked(layer, nearest.row());
            fresh.extend(linked.filter(|&row| scratch.meet(row)));
            self.compare_each(&fresh, |near| {
                if !scratch.best.excludes(near) {
                    scratch.ahead.push(near);
                    scratch.best.push(near);
                }
            });
            if let Some(next) = scratch.ahead.peek()
                && layer == 0
            {
                self.links.prefetch(next.row());
            }
        }
        scratch.fresh = fresh;
    }

    /// Finds the allowed rows nearest to the query in the lowest layer, and leaves them in `scratch`;
    /// returns false if it gave up before it had found all.
    ///
    /// It goes from an allowed row to allowed ones among its neighbours and among theirs, and compares
    /// few others (ACORN-1 of Patel, Kraft, Guestrin, Zaharia 2024). So it could miss rows that lie
    /// behind ones that are not allowed. Where allowed rows are rarer near the query than elsewhere, or
    /// too few are found, it crosses rows that are not allowed, and compares all neighbours.
    pub(super) fn search_allowed(
        &self,
        entry: u32,
        reach: Reach,
        allowed: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> bool {
        scratch.clear(self.count, reach.best, reach.passed);
        scratch.meet(entry);
        let Some(first) = self.compare(entry) else {
            return true;
        };
        scratch.add(first, allowed(entry));
        let mut fresh = std::mem::take(&mut scratch.fresh);
        let mut near = std::mem::take(&mut scratch.near);
        near.clear();
        near.push(first);
        scratch.skipped.clear();
        let mut are_rare = None;
        let mut reads = 1;
        loop {
            let Some(nearest) = scratch.ahead.pop() else {
                if scratch.skipped.is_empty() || scratch.best.is_full() {
                    break;
                }
                are_rare = Some(true);
                scratch.ahead.extend(scratch.skipped.drain(..));
                continue;
            };
            let is_near = are_rare.is_none() && !scratch.passed.excludes(nearest);
            if reads > reach.reads || scratch.best.excludes(nearest) && !is_near {
                break;
            }
            let row = nearest.row();
            let crosses = scratch.best.rows.is_empty()
                || !is_near
                    && *are_rare
                        .get_or_insert_with(|| share(&mut near, &allowed) < reach.share * RARE);
            let is_allowed = allowed(row);
            if !is_near && !crosses && !is_allowed {
                scratch.skipped.push(nearest);
                continue;
            }
            reads += 1;
            if is_near || crosses {
                fresh.clear();
                fresh.extend(self.linked(0, row).filter(|&row| scratch.meet(row)));
                reads += fresh.len();
                self.compare_each(&fresh, |found| {
                    scratch.add(found, allowed(found.row()));
                    if is_near {
                        near.push(found);
                    }
                });
            }
            if is_allowed && !crosses {
                fresh.clear();
                reads += self.collect_allowed(row, reach.links, &allowed, scratch, &mut fresh);
                if fresh.is_empty() && !scratch.best.is_full() {
                    fresh.extend(self.linked(0, row).filter(|&row| scratch.meet(row)));
                }
                reads += fresh.len();
                self.compare_each(&fresh, |found| scratch.add(found, allowed(found.row())));
            }
            if let Some(next) = scratch.ahead.peek() {
                self.links.prefetch(next.row());
            }
        }
        scratch.fresh = fresh;
        scratch.near = near;
        reads <= reach.reads
    }

    /// Adds to `fresh` the allowed neighbours of a row that are met for the first time, and those of
    /// its other neighbours, until so many `links` to allowed rows were seen. Returns the number of
    /// neighbours whose lists were read.
    fn collect_allowed(
        &self,
        row: u32,
        links: usize,
        allowed: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
        fresh: &mut Vec<u32>,
    ) -> usize {
        let mut collect = |row: u32| {
            let is_allowed = allowed(row);
            if is_allowed && scratch.meet(row) {
                fresh.push(row);
            }
            is_allowed
        };
        let mut others = [NONE; 2 * LINKS];
        let (mut seen, mut count) = (0, 0);
        for linked in self.linked(0, row) {
            if collect(linked) {
                seen += 1;
            } else {
                others[count] = linked;
                count += 1;
            }
        }
        let others = &others[..count];
        for &other in others.iter().take(AHEAD) {
            self.links.prefetch(other);
        }
        let mut lists = 0;
        while lists < count && seen < links {
            if let Some(&next) = others.get(lists + AHEAD) {
                self.links.prefetch(next);
            }
            let linked = self.linked(0, others[lists]);
            seen += linked.filter(|&row| collect(row)).count();
            lists += 1;
        }
        lists
    }

    /// Compares rows, which are prefetched, and calls `take` with each that may be read.
    #[inline]
    fn compare_each(&self, rows: &[u32], mut take: impl FnMut(Near)) {
        for &row in rows.iter().take(AHEAD) {
            self.rows.prefetch(row);
        }
        for (at, &row) in rows.iter().enumerate() {
            if let Some(&next) = rows.get(at + AHEAD) {
                self.rows.prefetch(next);
            }
            if let Some(near) = self.compare(row) {
                take(near);
            }
        }
    }

    /// Returns the neighbours of a row.
    #[inline]
    fn linked(&self, layer: usize, row: u32) -> impl Iterator<Item = u32> {
        let rows = self.count;
        let linked = self.links.of(layer, row).iter().copied();
        linked.take_while(move |&row| (row as usize) < rows)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Rows in a line, each linked to the next and the one before, and the first also to another.
    struct Line(Vec<[u32; 2]>);

    impl Line {
        fn of(rows: u32, far: u32) -> Self {
            let neighbours = |row: u32| match row {
                0 => [1, far],
                _ if row + 1 == rows => [row - 1, NONE],
                _ => [row - 1, row + 1],
            };
            Line((0..rows).map(neighbours).collect())
        }
    }

    impl Links for Line {
        fn of(&self, _: usize, row: u32) -> &[u32] {
            &self.0[row as usize]
        }

        fn prefetch(&self, _: u32) {}
    }

    /// Walks from the first of 100 rows, which is the nearest, and returns the rows that it found,
    /// those that it compared, and whether it ended.
    fn walk(reach: Reach, allowed: impl Fn(u32) -> bool) -> (Vec<u32>, Vec<usize>, bool) {
        walk_line(&Line::of(100, NONE), reach, allowed)
    }

    fn walk_line(
        links: &Line,
        reach: Reach,
        allowed: impl Fn(u32) -> bool,
    ) -> (Vec<u32>, Vec<usize>, bool) {
        let values: Vec<f16> = (0..100u8).map(|row| f16::from(100 - row)).collect();
        let compared = Mutex::new(Vec::new());
        let rows = Rows {
            values: &values,
            dim: 1,
            check: |row: usize| {
                compared.lock().unwrap().push(row);
                true
            },
        };
        let mut scratch = Scratch::default();
        let query = [1.0];
        let walk = Walk::new(links, &rows, &query);
        let ended = walk.search_allowed(0, reach, allowed, &mut scratch);
        let found = scratch.take_sorted();
        let found = found.iter().map(|near| near.row());
        (found.collect(), compared.into_inner().unwrap(), ended)
    }

    const REACH: Reach = Reach {
        best: 5,
        passed: 1,
        share: 0.5,
        links: 5,
        reads: 1_000,
    };

    #[test]
    fn a_walk_crosses_rows_that_are_not_allowed() {
        let (found, _, ended) = walk(REACH, |row| row >= 60);
        assert_eq!((found, ended), (vec![60, 61, 62, 63, 64], true));
        let (found, _, ended) = walk(Reach { reads: 50, ..REACH }, |row| row >= 60);
        assert_eq!((found, ended), (vec![], false));
    }

    #[test]
    fn neighbours_of_a_row_that_is_not_allowed_are_compared_in_place_of_it() {
        let (found, compared, _) = walk(REACH, |row| row % 2 == 0);
        assert_eq!(found, [0, 2, 4, 6, 8]);
        // The first is near, so that its neighbour is compared.
        let others: Vec<_> = compared.into_iter().filter(|row| row % 2 == 1).collect();
        assert_eq!(others, [1]);
    }

    #[test]
    fn a_walk_that_finds_too_few_crosses_rows_that_are_not_allowed() {
        let (found, _, _) = walk(REACH, |row| !(1..4).contains(&row));
        assert_eq!(found, [0, 4, 5, 6, 7]);
        let (found, _, _) = walk(REACH, |row| row == 1 || row >= 10);
        assert_eq!(found, [1, 10, 11, 12, 13]);
    }

    #[test]
    fn a_walk_crosses_rows_where_allowed_ones_are_rarer_than_elsewhere() {
        // The first row leads to row 50, and over two that are not allowed to row 3, which is nearer.
        let links = Line::of(100, 50);
        let find = |share| {
            let reach = Reach {
                best: 1,
                share,
                ..REACH
            };
            walk_line(&links, reach, |row| row == 3 || row == 50).0
        };
        assert_eq!((find(0.5), find(0.9)), (vec![50], vec![3]));
    }
}
