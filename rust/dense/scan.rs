//! Exact search: a scan of all rows, or of their codes, for the largest inner products with a query.
//!
//! The result does not depend on the number of threads.

use std::ops::Range;

use half::f16;
use rayon::prelude::*;

use super::codes::{self, Codes};
use super::kernels::{
    Aligned, QUERIES, kernel_f16, kernel_f16_apart, kernel_f16_batch, kernel_f32,
};
use super::row_set::Selection;
use crate::interrupt::{self, Interrupt};
use crate::pool;

/// Rows that one task scans: 3 MB of 384 f16, small enough to balance the load of the threads.
const BLOCK: usize = 4096;

/// Bytes that one thread scans. For less than a millisecond, waking other threads takes as much of the
/// processor as the half of the work that they do.
const FEW_BYTES: usize = 12 << 20;

/// Rows that are read for all queries of a batch before the next: 200 KB of 384 f16, which stay in the
/// second-level cache.
const BATCH_BLOCK: usize = 256;

/// An (n, d) matrix, row by row.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Half precision; products are summed in single precision.
    F16(&'a [f16]),
}

impl<'a> From<&'a [f32]> for Rows<'a> {
    fn from(values: &'a [f32]) -> Self {
        Rows::F32(values)
    }
}

impl<'a> From<&'a [f16]> for Rows<'a> {
    fn from(values: &'a [f16]) -> Self {
        Rows::F16(values)
    }
}

/// A row's key and its inner product with the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The chunk, or the number of the row.
    pub key: i64,
    /// The inner product; minus infinity instead of NaN.
    pub score: f32,
}

/// A collector of the best `k` rows: larger scores first, equal scores in ascending order of key.
#[derive(Debug, Clone)]
pub struct TopRows {
    k: usize,
    /// A score that is lower is not among the best; -inf until there are `k` rows.
    floor: f32,
    kept: Vec<Scored>,
}

impl TopRows {
    /// Returns an empty collector.
    pub fn new(k: usize) -> Self {
        TopRows {
            k,
            floor: f32::NEG_INFINITY,
            kept: Vec::new(),
        }
    }

    /// Adds a row; `key` is called only if the score may be among the best.
    #[inline]
    pub fn push(&mut self, score: f32, key: impl FnOnce() -> i64) {
        if score < self.floor || self.k == 0 {
            return;
        }
        // Adding 0 turns -0 into 0, so that the two compare as equal.
        let score = if score.is_nan() {
            f32::NEG_INFINITY
        } else {
            score + 0.0
        };
        self.kept.push(Scored { key: key(), score });
        // One selection every k pushes is cheaper than a heap.
        if self.kept.len() >= self.k.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    /// Adds the rows of another collector.
    pub fn merge(mut self, other: TopRows) -> TopRows {
        debug_assert_eq!(self.k, other.k);
        self.kept.extend(other.kept);
        self.cut();
        self
    }

    /// Returns the best rows, in order.
    pub fn into_sorted(mut self) -> Vec<Scored> {
        self.cut();
        self.kept.sort_unstable_by(order);
        self.kept
    }

    fn cut(&mut self) {
        if self.kept.len() > self.k && self.k > 0 {
            let (_, worst, _) = self.kept.select_nth_unstable_by(self.k - 1, order);
            self.floor = worst.score;
            self.kept.truncate(self.k);
        }
    }
}

/// The highest score of some rows and the mean of all.
#[derive(Debug, Clone)]
pub struct Spread {
    highest: f32,
    /// In units of 2^-32: the sum of whole numbers does not depend on their order.
    sum: i64,
    rows: i64,
}

impl Default for Spread {
    fn default() -> Self {
        Spread {
            highest: f32::NEG_INFINITY,
            sum: 0,
            rows: 0,
        }
    }
}

impl Spread {
    const UNIT: f64 = (1_u64 << 32) as f64;

    /// Returns the highest score, minus infinity without rows.
    pub fn highest(&self) -> f32 {
        self.highest
    }

    /// Returns the mean score, 0 without rows.
    pub fn mean(&self) -> f32 {
        (self.sum as f64 / Self::UNIT / self.rows.max(1) as f64) as f32
    }

    /// Returns how many rows there are.
    pub fn rows(&self) -> i64 {
        self.rows
    }
}

/// What a scan keeps of the scores of a query.
pub(super) trait Collector: Clone + Send + Sync {
    /// Adds a row.
    fn push(&mut self, score: f32, key: impl FnOnce() -> i64);
    /// Adds the rows of another collector.
    fn merge(self, other: Self) -> Self;
}

impl Collector for TopRows {
    #[inline]
    fn push(&mut self, score: f32, key: impl FnOnce() -> i64) {
        TopRows::push(self, score, key);
    }

    fn merge(self, other: Self) -> Self {
        TopRows::merge(self, other)
    }
}

impl Collector for Spread {
    #[inline]
    fn push(&mut self, score: f32, _: impl FnOnce() -> i64) {
        self.highest = self.highest.max(score);
        let units = (f64::from(score) * Self::UNIT) as i64;
        self.sum = self.sum.saturating_add(units);
        self.rows += 1;
    }

    fn merge(self, other: Self) -> Self {
        Spread {
            highest: self.highest.max(other.highest),
            sum: self.sum.saturating_add(other.sum),
            rows: self.rows + other.rows,
        }
    }
}

fn order(a: &Scored, b: &Scored) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.key.cmp(&b.key))
}

/// Scans all rows of `query.len()` values that are allowed; `key_of` returns a row's key.
///
/// # Panics
/// If the matrix does not consist of whole rows.
pub fn scan(
    rows: Rows<'_>,
    query: &[f32],
    k: usize,
    allowed: &impl Selection,
    key_of: impl Fn(usize) -> i64 + Sync,
) -> TopRows {
    let dim = query.len().max(1);
    let query = &*Aligned::new(query);
    match rows {
        Rows::F32(values) => {
            let (rows, dot) = (whole_rows(values.len(), dim), kernel_f32());
            let score = |row: usize| dot(&values[row * dim..][..dim], query);
            best_rows([rows, dim * 4], k, score, allowed, key_of)
        }
        Rows::F16(values) => {
            let (rows, dot) = (whole_rows(values.len(), dim), kernel_f16());
            let score = |row: usize| dot(&values[row * dim..][..dim], query);
            best_rows([rows, dim * 2], k, score, allowed, key_of)
        }
    }
}

/// Returns what [`scan`] does of rows in half precision, to the last bit, by a scan of their codes and
/// of the rows that may be among the best then. A row of which `is_readable` returns false is missing.
///
/// # Panics
/// If the matrix or the codes do not consist of as many whole rows.
pub fn scan_codes(
    codes: Codes<'_>,
    values: &[f16],
    query: &[f32],
    k: usize,
    allowed: &impl Selection,
    is_readable: impl Fn(usize) -> bool + Sync,
    key_of: impl Fn(usize) -> i64 + Sync,
) -> TopRows {
    let dim = query.len().max(1);
    let rows = whole_rows(codes.values.len(), dim);
    let Some(asked) = codes::Query::new(query) else {
        return scan(
            Rows::F16(values),
            query,
            k,
            &Readable {
                allowed,
                is_readable,
            },
            key_of,
        );
    };
    let found = fold_rows(
        [rows, dim],
        || Candidates::new(k),
        |mut found, rows| {
            let rows: Vec<usize> = allowed.within(rows).collect();
            asked.products(codes, &rows, |row, score, error| {
                found.push(row, score, error);
            });
            found
        },
        Candidates::merge,
    );
    let (dot, query) = (kernel_f16_apart(), &*Aligned::new(query));
    let mut best = TopRows::new(k);
    for row in found.into_rows().filter(|&row| is_readable(row)) {
        best.push(dot(&values[row * dim..][..dim], query), || key_of(row));
    }
    best
}

/// The allowed rows that can be read.
struct Readable<'a, Allowed, IsReadable> {
    allowed: &'a Allowed,
    is_readable: IsReadable,
}

impl<Allowed: Selection, IsReadable: Fn(usize) -> bool + Sync> Selection
    for Readable<'_, Allowed, IsReadable>
{
    #[inline]
    fn within(&self, rows: Range<usize>) -> impl Iterator<Item = usize> {
        let allowed = self.allowed.within(rows);
        allowed.filter(|&row| (self.is_readable)(row))
    }
}

/// Rows that may be among the best `k`.
struct Candidates {
    /// The least products that the best `k` have.
    least: TopRows,
    /// The largest product that each row may have.
    most: Vec<(f32, usize)>,
}

impl Candidates {
    fn new(k: usize) -> Self {
        Candidates {
            least: TopRows::new(k),
            most: Vec::new(),
        }
    }

    #[inline]
    fn push(&mut self, row: usize, score: f32, error: f32) {
        let most = score + error;
        if most >= self.least.floor {
            self.least.push(score - error, || row as i64);
            self.most.push((most, row));
        }
    }

    fn merge(mut self, other: Candidates) -> Candidates {
        self.least = self.least.merge(other.least);
        self.most.extend(other.most);
        self
    }

    /// Returns the rows.
    fn into_rows(mut self) -> impl Iterator<Item = usize> {
        self.least.cut();
        let floor = self.least.floor;
        let may_be_best = self
            .most
            .into_iter()
            .filter(move |(most, _)| *most >= floor);
        may_be_best.map(|(_, row)| row)
    }
}

/// Returns the inner product of one row with the query, as [`scan`] computes it.
pub fn product(row: &[f16], query: &[f32]) -> f32 {
    kernel_f16()(row, query)
}

/// Returns the number of rows.
///
/// # Panics
/// If the matrix does not consist of whole rows.
fn whole_rows(values: usize, dim: usize) -> usize {
    assert_eq!(values % dim, 0, "the matrix is not whole rows of {dim}");
    values / dim
}

/// Returns the `k` allowed rows of largest score; `key_of` returns a row's key.
///
/// Rows that an interrupt leaves out are missing.
fn best_rows(
    shape: [usize; 2],
    k: usize,
    score: impl Fn(usize) -> f32 + Sync,
    allowed: &impl Selection,
    key_of: impl Fn(usize) -> i64 + Sync,
) -> TopRows {
    fold_rows(
        shape,
        || TopRows::new(k),
        |mut best, rows| {
            for row in allowed.within(rows) {
                best.push(score(row), || key_of(row));
            }
            best
        },
        TopRows::merge,
    )
}

/// Adds `rows` rows to what `empty` returns, a block after the other, or with several threads if they
/// have many bytes.
///
/// Rows that an interrupt leaves out are missing.
fn fold_rows<T: Send>(
    [rows, bytes_of_row]: [usize; 2],
    empty: impl Fn() -> T + Sync + Send,
    add: impl Fn(T, Range<usize>) -> T + Sync,
    merge: impl Fn(T, T) -> T + Sync + Send,
) -> T {
    let interrupt = interrupt::current();
    let scan_block = |best: T, block: usize| {
        if interrupt.as_ref().is_some_and(Interrupt::is_due) {
            return best;
        }
        let start = block * BLOCK;
        add(best, start..rows.min(start + BLOCK))
    };
    let blocks = 0..rows.div_ceil(BLOCK);
    if rows * bytes_of_row <= FEW_BYTES {
        return blocks.fold(empty(), scan_block);
    }
    pool::install(|| {
        blocks
            .into_par_iter()
            .fold(&empty, scan_block)
            .reduce(&empty, merge)
    })
}

/// Scans all allowed rows once for several queries, each of `dim` values; returns for each what its
/// collector, `empty` at first, has then. The scores are those of [`scan`], to the last bit.
///
/// Rows that an interrupt leaves out are missing.
///
/// A row is read from memory once, and converted to single precision once for [`QUERIES`] of them.
///
/// # Panics
/// If the matrix or the queries do not consist of whole rows.
pub(super) fn scan_batch<C: Collector>(
    values: &[f16],
    queries: &[f32],
    dim: usize,
    empty: &C,
    allowed: &impl Selection,
    key_of: impl Fn(usize) -> i64 + Sync,
) -> Vec<C> {
    let (rows, count) = (
        whole_rows(values.len(), dim),
        whole_rows(queries.len(), dim),
    );
    let dots = kernel_f16_batch();
    let queries: Vec<Aligned> = queries.chunks_exact(dim).map(Aligned::new).collect();
    // The last group is filled up with its first query.
    let groups: Vec<[&[f32]; QUERIES]> = queries
        .chunks(QUERIES)
        .map(|group| std::array::from_fn(|at| &**group.get(at).unwrap_or(&group[0])))
        .collect();
    let none = || vec![empty.clone(); count];
    let interrupt = interrupt::current();
    let scan_block = |mut best: Vec<C>, start: usize| {
        if interrupt.as_ref().is_some_and(Interrupt::is_due) {
            return best;
        }
        let rows: Vec<usize> = allowed
            .within(start..rows.min(start + BATCH_BLOCK))
            .collect();
        for (group, best) in groups.iter().zip(best.chunks_mut(QUERIES)) {
            for &row in &rows {
                let scores = dots(&values[row * dim..][..dim], group);
                for (best, score) in best.iter_mut().zip(scores) {
                    best.push(score, || key_of(row));
                }
            }
        }
        best
    };
    let merge = |best: Vec<C>, other: Vec<C>| {
        let pairs = best.into_iter().zip(other);
        pairs.map(|(best, other)| best.merge(other)).collect()
    };
    pool::install(|| {
        (0..rows.div_ceil(BATCH_BLOCK))
            .into_par_iter()
            .fold(none, |best, block| scan_block(best, block * BATCH_BLOCK))
            .reduce(none, merge)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::codes::{Scale, encode};
    use super::*;
    use proptest::prelude::*;

    fn best(rows: Rows<'_>, query: &[f32], k: usize) -> Vec<(i64, f32)> {
        let found = scan(rows, query, k, &|_: usize| true, |row| row as i64).into_sorted();
        found
            .into_iter()
            .map(|scored| (scored.key, scored.score))
            .collect()
    }

    #[test]
    fn equal_scores_go_to_the_smaller_key() {
        let rows = [1.0, 0.0, 2.0, 0.0, 1.0, 0.0, 2.0, 0.0];
        let expected = [(1, 2.0), (3, 2.0), (0, 1.0)];
        assert_eq!(best(Rows::F32(&rows), &[1.0, 5.0], 3), expected);
        let rows = rows.map(f16::from_f32);
        assert_eq!(best(Rows::F16(&rows), &[1.0, 5.0], 3), expected);
        assert_eq!(best(Rows::F16(&rows), &[1.0, 5.0], 0), []);
    }

    #[test]
    fn masked_rows_are_not_found_and_k_may_be_larger_than_what_is_left() {
        let rows = [1.0f32, 2.0, 3.0];
        let allowed = |row: usize| row != 2;
        let found = scan(Rows::F32(&rows), &[1.0], 9, &allowed, |row| -(row as i64));
        let expected = [
            Scored {
                key: -1,
                score: 2.0,
            },
            Scored { key: 0, score: 1.0 },
        ];
        assert_eq!(found.into_sorted(), expected);
    }

    proptest! {
        #[test]
        fn codes_find_what_rows_find_to_the_last_bit(
            seed in prop::collection::vec(-1.0f32..1.0, 1..90),
            (count, dim) in (1usize..300, 1usize..70),
            k in 0usize..40,
            odd in prop::option::of(any::<f32>()),
        ) {
            // Few values for many rows: many products are equal.
            let value = |at: usize| seed[at * 7919 % seed.len()];
            let mut rows: Vec<f16> = (0..count * dim).map(|at| f16::from_f32(value(at))).collect();
            if let Some(odd) = odd {
                rows[count * dim / 2] = f16::from_f32(odd);
            }
            let query: Vec<f32> = (0..dim).map(|at| value(at * 31 + 5)).collect();
            let mut codes = Vec::new();
            let scales: Vec<Scale> = rows.chunks(dim).map(|row| encode(row, &mut codes)).collect();
            let values: Vec<i8> = codes.into_iter().map(u8::cast_signed).collect();
            let codes = Codes { values: &values, scales: &scales };
            let (allowed, key_of) = (|row: usize| row % 5 != 1, |row: usize| -(row as i64 % 50));
            let expected = scan(Rows::F16(&rows), &query, k, &allowed, key_of).into_sorted();
            let found = scan_codes(codes, &rows, &query, k, &allowed, |_| true, key_of);
            prop_assert_eq!(found.into_sorted(), expected);
        }
    }

    #[test]
    fn many_blocks_give_what_one_thread_gives() {
        let query: [f32; 48] = std::array::from_fn(|i| 0.3 - (i % 7) as f32);
        let rows: Vec<f16> = (0..FEW_BYTES / 2 + query.len() * BLOCK)
            .map(|i| f16::from_f32(((i * 7919) % 1009) as f32 / 1009.0))
            .collect();
        let alone = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let single = alone.install(|| best(Rows::F16(&rows), &query, 100));
        let four = rayon::ThreadPoolBuilder::new()
            .num_threads(4)
            .build()
            .unwrap();
        assert_eq!(four.install(|| best(Rows::F16(&rows), &query, 100)), single);
        let mut all: Vec<(i64, f32)> = (0i64..)
            .zip(rows.chunks(query.len()))
            .map(|(key, row)| (key, product(row, &query)))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        assert_eq!(single, all[..100]);
    }
}
