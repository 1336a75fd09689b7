//! Inner products, with SIMD that is chosen at run time.
//!
//! Every kernel adds in the same order, in 32 lanes of fused multiply-adds that are then summed
//! pairwise, so a score is the same to the last bit on every machine.

mod aligned;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use half::f16;

pub(super) use aligned::Aligned;
pub(super) use portable::QUERIES;
use portable::{dot, dots_codes};

/// A function that returns the inner product of a row and a query.
pub(super) type Kernel<T, Q = f32> = fn(&[T], &[Q]) -> f32;

/// Returns the fastest kernel for rows of f32 on this processor.
pub(super) fn kernel_f32() -> Kernel<f32> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the features.
            return |row, query| unsafe { x86::dot_f32_avx512(row, query) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return |row, query| unsafe { x86::dot_f32_avx2(row, query) };
        }
    }
    dot
}

/// Returns the fastest kernel for rows of f16 that are read one after the other on this processor.
pub(super) fn kernel_f16() -> Kernel<f16> {
    #[cfg(target_arch = "x86_64")]
    if x86::prefetches() {
        return kernel_f16_ahead::<true>();
    }
    kernel_f16_apart()
}

/// Returns the fastest kernel for single rows of f16 on this processor.
pub(super) fn kernel_f16_apart() -> Kernel<f16> {
    kernel_f16_ahead::<false>()
}

/// `AHEAD`: whether what follows a row is fetched as well.
fn kernel_f16_ahead<const AHEAD: bool>() -> Kernel<f16> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has the features.
            return |row, query| unsafe { x86::dot_f16_avx512::<AHEAD>(row, query) };
        }
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            // SAFETY: as above.
            return |row, query| unsafe { x86::dot_f16_avx2(row, query) };
        }
    }
    dot
}

/// Returns the fastest kernel for a row of f16 and [`QUERIES`] queries on this processor.
pub(super) fn kernel_f16_batch() -> fn(&[f16], &[&[f32]; QUERIES]) -> [f32; QUERIES] {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has the features.
            return |row, queries| unsafe { x86::dots_f16_avx512(row, queries) };
        }
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            // SAFETY: as above.
            return |row, queries| queries.map(|query| unsafe { x86::dot_f16_avx2(row, query) });
        }
    }
    |row, queries| queries.map(|query| dot(row, query))
}

/// Returns the fastest kernel for two rows of f16 on this processor.
pub(super) fn kernel_pair() -> Kernel<f16, f16> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the features.
            return |row, other| unsafe { x86::dot_pair_avx512(row, other) };
        }
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            // SAFETY: as above.
            return |row, other| unsafe { x86::dot_pair_avx2(row, other) };
        }
    }
    dot
}

/// A function that appends the inner products of rows of a matrix of codes and a query's codes, which
/// have to fit.
pub(super) type CodesKernel = fn(&[i8], &[usize], &[i16], &mut Vec<i32>);

/// Returns the fastest kernel for codes on this processor.
pub(super) fn kernel_codes() -> CodesKernel {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has the features.
            return |matrix, rows, query, sums| unsafe {
                x86::dots_codes_avx512(matrix, rows, query, sums)
            };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return |matrix, rows, query, sums| unsafe {
                x86::dots_codes_avx2(matrix, rows, query, sums)
            };
        }
    }
    |matrix, rows, query, sums| dots_codes(matrix, rows, query, sums)
}

/// Fetches values into the processor's cache, if it can be told to.
#[inline]
pub(super) fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    x86::prefetch(values.as_ptr_range());
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

#[cfg(test)]
mod tests {
    use super::portable::dot_codes;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_kernel_agrees_to_the_last_bit(
            values in prop::collection::vec((-2.0f32..2.0, -2.0f32..2.0), 0..130),
            whole: bool,
        ) {
            let length = if whole { values.len() / 32 * 32 } else { values.len() };
            let (row, query): (Vec<f32>, Vec<f32>) = values.into_iter().take(length).unzip();
            let halves: Vec<f16> = row.iter().copied().map(f16::from_f32).collect();
            let others: Vec<f16> = query.iter().copied().map(f16::from_f32).collect();
            let single = dot(&row, &query);
            let half = dot(&halves, &query);
            let pair = dot(&halves, &others);
            let reversed: Vec<f32> = query.iter().rev().copied().collect();
            let queries = [&query[..], &reversed, &query, &reversed];
            let batch = kernel_f16_batch()(&halves, &queries).map(f32::to_bits);
            prop_assert_eq!(batch, queries.map(|query| dot(&halves, query).to_bits()));
            prop_assert_eq!(kernel_f32()(&row, &query).to_bits(), single.to_bits());
            for kernel in [kernel_f16_ahead::<true>(), kernel_f16_ahead::<false>()] {
                prop_assert_eq!(kernel(&halves, &query).to_bits(), half.to_bits());
            }
            prop_assert_eq!(kernel_pair()(&halves, &others).to_bits(), pair.to_bits());
            let codes: Vec<i8> = row.iter().map(|value| (value * 63.0) as i8).collect();
            let matrix = [&codes[..], &codes].concat();
            let asked: Vec<i16> = query.iter().map(|value| (value * 4095.0) as i16).collect();
            let sums = |kernel: CodesKernel| {
                let mut sums = vec![7];
                kernel(&matrix, &[1, 0], &asked, &mut sums);
                sums
            };
            let product = dot_codes(&codes, &asked);
            prop_assert_eq!(sums(kernel_codes()), [7, product, product]);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
            {
                // SAFETY: the processor has the features.
                let avx2: CodesKernel = |matrix, rows, query, sums| unsafe {
                    x86::dots_codes_avx2(matrix, rows, query, sums);
                };
                prop_assert_eq!(sums(avx2), [7, product, product]);
                // SAFETY: as above.
                let (f32_avx2, f16_avx2) = unsafe {
                    (x86::dot_f32_avx2(&row, &query), x86::dot_f16_avx2(&halves, &query))
                };
                // SAFETY: as above.
                let pair_avx2 = unsafe { x86::dot_pair_avx2(&halves, &others) };
                prop_assert_eq!((f32_avx2, f16_avx2, pair_avx2), (single, half, pair));
            }
        }
    }
}
