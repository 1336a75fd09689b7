//! The reference kernel, and the order of summation of all kernels.

use half::f16;

/// A value of a row or of a query.
pub(super) trait Value: Copy {
    /// Returns the value in single precision.
    fn single(self) -> f32;
}

impl Value for f32 {
    #[inline(always)]
    fn single(self) -> f32 {
        self
    }
}

impl Value for f16 {
    #[inline(always)]
    fn single(self) -> f32 {
        self.to_f32()
    }
}

/// The lanes in which products are summed: two AVX-512 registers, four of AVX2.
pub(super) const LANES: usize = 32;

/// The queries that a row is compared with at once.
pub const QUERIES: usize = 4;

/// The reference kernel, whose sum every other kernel must equal. If the compiler may use fused
/// multiply-add (enabled on x86 by the callers, always there on ARM), it is fast for f32 as it is.
#[inline(always)]
pub(super) fn dot<T: Value, Q: Value>(row: &[T], query: &[Q]) -> f32 {
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (row, query) in rows.iter().zip(queries) {
        for lane in 0..LANES {
            sums[lane] = row[lane].single().mul_add(query[lane].single(), sums[lane]);
        }
    }
    add_rest(&mut sums, row_rest, query_rest);
    total(sums)
}

/// Appends the inner products of rows of a matrix of whole numbers and a query; they do not depend on
/// the order of the sum.
#[inline(always)]
pub(super) fn dots_codes(matrix: &[i8], rows: &[usize], query: &[i16], sums: &mut Vec<i32>) {
    let dim = query.len();
    sums.extend(
        rows.iter()
            .map(|row| dot_codes(&matrix[row * dim..][..dim], query)),
    );
}

#[inline(always)]
pub(super) fn dot_codes(row: &[i8], query: &[i16]) -> i32 {
    let products = row.iter().zip(query);
    products
        .map(|(&code, &value)| i32::from(code) * i32::from(value))
        .sum()
}

/// Adds the values after the last whole block of lanes to the first lanes.
#[inline(always)]
pub(super) fn add_rest<T: Value, Q: Value>(sums: &mut [f32; LANES], row: &[T], query: &[Q]) {
    for (sum, (row, query)) in sums.iter_mut().zip(row.iter().zip(query)) {
        *sum = row.single().mul_add(query.single(), *sum);
    }
}

/// Sums the lanes pairwise: adds the upper half to the lower half until one lane is left.
#[inline(always)]
pub(super) fn total(mut sums: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}
