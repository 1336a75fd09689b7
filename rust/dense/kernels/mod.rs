//! Inner products, with SIMD that is chosen at run time.
//!
//! Every kernel adds in the same order, in 32 lanes of fused multiply-adds that are then summed
//! pairwise, so a score is the same to the last bit on every machine.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use half::f16;

use portable::dot;

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

/// Returns the fastest kernel for rows of f16 on this processor.
pub(super) fn kernel_f16() -> Kernel<f16> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has the features.
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
    dot
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

#[cfg(test)]
mod tests {
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
            prop_assert_eq!(kernel_f32()(&row, &query).to_bits(), single.to_bits());
            prop_assert_eq!(kernel_f16()(&halves, &query).to_bits(), half.to_bits());
            prop_assert_eq!(kernel_pair()(&halves, &others).to_bits(), pair.to_bits());
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
            {
                // SAFETY: the processor has the features.
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
