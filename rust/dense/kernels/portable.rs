//! The reference kernel, and the order of summation of all kernels.

/// The lanes in which products are summed: two AVX-512 registers, four of AVX2.
pub(super) const LANES: usize = 32;

/// The reference kernel, whose sum every other kernel must equal. If the compiler may use fused
/// multiply-add (enabled on x86 by the callers, always there on ARM), it is fast for f32 as it is.
#[inline(always)]
pub(super) fn dot<T>(row: &[T], query: &[f32], value: impl Fn(&T) -> f32) -> f32 {
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

/// Adds the values after the last whole block of lanes to the first lanes.
#[inline(always)]
pub(super) fn add_rest<T>(
    sums: &mut [f32; LANES],
    row: &[T],
    query: &[f32],
    value: impl Fn(&T) -> f32,
) {
    for (sum, (row, query)) in sums.iter_mut().zip(row.iter().zip(query)) {
        *sum = value(row).mul_add(*query, *sum);
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
