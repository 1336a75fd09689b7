//! Here are rows and a query: which rows have the largest inner product?
//!
//! Every kernel adds in the same order, in 32 lanes of fused multiply-adds that are then summed
//! pairwise, so a score is the same to the last bit on every machine and any number of threads.

use half::f16;
use rayon::prelude::*;

/// The lanes in which products are summed: two AVX-512 registers, four of AVX2.
const LANES: usize = 32;
/// Rows that one job scans: 3 MB of 384 f16, small enough to even out threads that are held up.
const BLOCK: usize = 4096;

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
    /// The chunk (or the number of the row).
    pub key: i64,
    /// The inner product; NaN is read as minus infinity.
    pub score: f32,
}

/// The best `k` of what is pushed: larger scores first, equal scores by smaller key.
#[derive(Debug, Clone)]
pub struct Best {
    k: usize,
    /// No score below this one is among the best; -inf until `k` are known.
    floor: f32,
    kept: Vec<Scored>,
}

impl Best {
    /// None yet.
    pub fn new(k: usize) -> Self {
        Best {
            k,
            floor: f32::NEG_INFINITY,
            kept: Vec::new(),
        }
    }

    /// Considers a row. The key is asked for only where the score is good enough.
    #[inline]
    pub fn push(&mut self, score: f32, key: impl FnOnce() -> i64) {
        if score < self.floor || self.k == 0 {
            return;
        }
        // Adding 0 makes -0 equal to 0, as it is to a reader.
        let score = if score.is_nan() {
            f32::NEG_INFINITY
        } else {
            score + 0.0
        };
        self.kept.push(Scored { key: key(), score });
        // Selecting once every k pushes is cheaper than a heap that is sifted on each.
        if self.kept.len() >= self.k.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    /// Takes in the best of another part.
    pub fn merge(mut self, other: Best) -> Best {
        debug_assert_eq!(self.k, other.k);
        self.kept.extend(other.kept);
        self.cut();
        self
    }

    /// The best, in order.
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

fn order(a: &Scored, b: &Scored) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.key.cmp(&b.key))
}

/// Scans all rows of `query.len()` values; `key_of` gives a row's key, or None where it is masked.
///
/// # Panics
/// Where the matrix is not whole rows.
pub fn scan(
    rows: Rows<'_>,
    query: &[f32],
    k: usize,
    key_of: impl Fn(usize) -> Option<i64> + Sync,
) -> Best {
    let dim = query.len().max(1);
    match rows {
        Rows::F32(values) => scan_with(values, dim, query, k, key_of, kernel_f32()),
        Rows::F16(values) => scan_with(values, dim, query, k, key_of, kernel_f16()),
    }
}

/// The inner product of one row with the query, as [`scan`] computes it.
pub fn product(row: &[f16], query: &[f32]) -> f32 {
    kernel_f16()(row, query)
}

fn scan_with<T: Sync>(
    values: &[T],
    dim: usize,
    query: &[f32],
    k: usize,
    key_of: impl Fn(usize) -> Option<i64> + Sync,
    dot: Kernel<T>,
) -> Best {
    assert_eq!(
        values.len() % dim,
        0,
        "the matrix is not whole rows of {dim}"
    );
    let scan_block = |best: &mut Best, (block, rows): (usize, &[T])| {
        for (row, values) in (block * BLOCK..).zip(rows.chunks_exact(dim)) {
            if let Some(key) = key_of(row) {
                best.push(dot(values, query), || key);
            }
        }
    };
    if values.len() <= BLOCK * dim {
        let mut best = Best::new(k);
        scan_block(&mut best, (0, values));
        return best;
    }
    values
        .par_chunks(BLOCK * dim)
        .enumerate()
        .fold(
            || Best::new(k),
            |mut best, block| {
                scan_block(&mut best, block);
                best
            },
        )
        .reduce(|| Best::new(k), Best::merge)
}

type Kernel<T> = fn(&[T], &[f32]) -> f32;

fn kernel_f32() -> Kernel<f32> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has what the function was compiled for.
            return |row, query| unsafe { x86::dot_f32_avx512(row, query) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return |row, query| unsafe { x86::dot_f32_avx2(row, query) };
        }
    }
    |row, query| dot(row, query, |&value| value)
}

fn kernel_f16() -> Kernel<f16> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has what the function was compiled for.
            return |row, query| unsafe { x86::dot_f16_avx512(row, query) };
        }
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            // SAFETY: as above.
            return |row, query| unsafe { x86::dot_f16_avx2(row, query) };
        }
    }
    |row, query| dot(row, query, |value| value.to_f32())
}

/// The order of the sum, and what every other kernel must equal. Where the compiler may use fused
/// multiply-add (it is told so on x86, and has it on ARM) this is already fast for f32.
#[inline(always)]
fn dot<T>(row: &[T], query: &[f32], value: impl Fn(&T) -> f32) -> f32 {
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (row, query) in rows.iter().zip(queries) {
        for lane in 0..LANES {
            sums[lane] = value(&row[lane]).mul_add(query[lane], sums[lane]);
        }
    }
    add_rest(&mut sums, row_rest, query_rest, value);
    total(sums)
}

/// The values behind the last whole 32 go to the first lanes.
#[inline(always)]
fn add_rest<T>(sums: &mut [f32; LANES], row: &[T], query: &[f32], value: impl Fn(&T) -> f32) {
    for (sum, (row, query)) in sums.iter_mut().zip(row.iter().zip(query)) {
        *sum = value(row).mul_add(*query, *sum);
    }
}

/// Adds the upper half to the lower until one is left.
#[inline(always)]
fn total(mut sums: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, add_rest, dot, total};
    use half::f16;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub(super) fn dot_f32_avx512(row: &[f32], query: &[f32]) -> f32 {
        dot(row, query, |&value| value)
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn dot_f32_avx2(row: &[f32], query: &[f32]) -> f32 {
        dot(row, query, |&value| value)
    }

    #[target_feature(enable = "avx512f,avx2,fma,f16c")]
    pub(super) fn dot_f16_avx512(row: &[f16], query: &[f32]) -> f32 {
        let (rows, row_rest) = row.as_chunks::<LANES>();
        let (queries, query_rest) = query.as_chunks::<LANES>();
        let (mut low, mut high) = (_mm512_setzero_ps(), _mm512_setzero_ps());
        for (row, query) in rows.iter().zip(queries) {
            let (row, query) = (row.as_ptr().cast::<__m256i>(), query.as_ptr());
            // SAFETY: both hold 32 values; an f16 is 2 bytes, so 16 of them fill a __m256i. Loads
            // need no alignment.
            unsafe {
                let first = _mm512_cvtph_ps(_mm256_loadu_si256(row));
                let second = _mm512_cvtph_ps(_mm256_loadu_si256(row.add(1)));
                low = _mm512_fmadd_ps(first, _mm512_loadu_ps(query), low);
                high = _mm512_fmadd_ps(second, _mm512_loadu_ps(query.add(16)), high);
            }
        }
        let mut sums = [0.0f32; LANES];
        // SAFETY: 16 floats fill a register; there are 32.
        unsafe {
            _mm512_storeu_ps(sums.as_mut_ptr(), low);
            _mm512_storeu_ps(sums.as_mut_ptr().add(16), high);
        }
        add_rest(&mut sums, row_rest, query_rest, |value| value.to_f32());
        total(sums)
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn dot_f16_avx2(row: &[f16], query: &[f32]) -> f32 {
        let (rows, row_rest) = row.as_chunks::<LANES>();
        let (queries, query_rest) = query.as_chunks::<LANES>();
        let mut lanes = [_mm256_setzero_ps(); 4];
        for (row, query) in rows.iter().zip(queries) {
            let (row, query) = (row.as_ptr().cast::<__m128i>(), query.as_ptr());
            for (at, lane) in lanes.iter_mut().enumerate() {
                // SAFETY: both hold 32 values, four times eight; loads need no alignment.
                unsafe {
                    let values = _mm256_cvtph_ps(_mm_loadu_si128(row.add(at)));
                    *lane = _mm256_fmadd_ps(values, _mm256_loadu_ps(query.add(8 * at)), *lane);
                }
            }
        }
        let mut sums = [0.0f32; LANES];
        for (at, lane) in lanes.into_iter().enumerate() {
            // SAFETY: eight floats fill a register; there are four times eight.
            unsafe { _mm256_storeu_ps(sums.as_mut_ptr().add(8 * at), lane) };
        }
        add_rest(&mut sums, row_rest, query_rest, |value| value.to_f32());
        total(sums)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn best(rows: Rows<'_>, query: &[f32], k: usize) -> Vec<(i64, f32)> {
        let found = scan(rows, query, k, |row| Some(row as i64)).into_sorted();
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
        let found = scan(Rows::F32(&rows), &[1.0], 9, |row| {
            (row != 2).then_some(-(row as i64))
        });
        let expected = [
            Scored {
                key: -1,
                score: 2.0,
            },
            Scored { key: 0, score: 1.0 },
        ];
        assert_eq!(found.into_sorted(), expected);
    }

    #[test]
    fn many_blocks_give_what_one_thread_gives() {
        let rows: Vec<f16> = (0..BLOCK * 5 * 3)
            .map(|i| f16::from_f32(((i * 7919) % 1009) as f32 / 1009.0))
            .collect();
        let query = [0.3, -0.2, 0.9];
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
            .zip(rows.chunks(3))
            .map(|(key, row)| (key, product(row, &query)))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        assert_eq!(single, all[..100]);
    }

    proptest! {
        #[test]
        fn every_kernel_agrees_to_the_last_bit(
            values in prop::collection::vec((-2.0f32..2.0, -2.0f32..2.0), 0..130),
        ) {
            let (row, query): (Vec<f32>, Vec<f32>) = values.into_iter().unzip();
            let halves: Vec<f16> = row.iter().copied().map(f16::from_f32).collect();
            let single = dot(&row, &query, |&value| value);
            let half = dot(&halves, &query, |value| value.to_f32());
            prop_assert_eq!(kernel_f32()(&row, &query).to_bits(), single.to_bits());
            prop_assert_eq!(kernel_f16()(&halves, &query).to_bits(), half.to_bits());
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
            {
                // SAFETY: the processor has the features.
                let (f32_avx2, f16_avx2) = unsafe {
                    (x86::dot_f32_avx2(&row, &query), x86::dot_f16_avx2(&halves, &query))
                };
                prop_assert_eq!((f32_avx2, f16_avx2), (single, half));
            }
        }
    }
}
