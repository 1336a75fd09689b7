//! Kernels for AVX2 and AVX-512.

use std::arch::x86_64::*;
use std::ops::Range;
use std::sync::LazyLock;

use half::f16;

use super::portable::{LANES, QUERIES, add_rest, dot, dot_codes, dots_codes, total};

/// Fetches the cache lines of an object.
#[inline]
pub(super) fn prefetch<T>(object: Range<*const T>) {
    const LINE: usize = 64;
    let (start, end) = (object.start.cast::<i8>(), object.end.cast::<i8>());
    let mut at = start.map_addr(|addr| addr & !(LINE - 1));
    while at < end {
        // SAFETY: a prefetch may be of any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
        at = at.wrapping_add(LINE);
    }
}

#[target_feature(enable = "avx512f")]
pub(super) fn dot_f32_avx512(row: &[f32], query: &[f32]) -> f32 {
    dot(row, query)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_f32_avx2(row: &[f32], query: &[f32]) -> f32 {
    dot(row, query)
}

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn dots_codes_avx512(matrix: &[i8], rows: &[usize], query: &[i16], sums: &mut Vec<i32>) {
    let dim = query.len();
    let (queries, query_rest) = query.as_chunks::<LANES>();
    for &row in rows {
        let (row, row_rest) = matrix[row * dim..][..dim].as_chunks::<LANES>();
        let mut lanes = _mm512_setzero_si512();
        for (codes, query) in row.iter().zip(queries) {
            // SAFETY: both hold 32 values, of one and of two bytes; loads need no alignment.
            let (codes, query) = unsafe {
                (
                    _mm256_loadu_si256(codes.as_ptr().cast()),
                    _mm512_loadu_si512(query.as_ptr().cast()),
                )
            };
            let products = _mm512_madd_epi16(_mm512_cvtepi8_epi16(codes), query);
            lanes = _mm512_add_epi32(lanes, products);
        }
        sums.push(_mm512_reduce_add_epi32(lanes) + dot_codes(row_rest, query_rest));
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn dots_codes_avx2(matrix: &[i8], rows: &[usize], query: &[i16], sums: &mut Vec<i32>) {
    dots_codes(matrix, rows, query, sums);
}

/// Bytes ahead of a row that are fetched while it is read, if [`prefetches`] says so.
const PREFETCH: usize = 4096;

/// Returns whether the rows after one should be fetched while it is read.
///
/// The prefetching of Intel's processors stops at each page: on a Xeon a scan took 1.2 times as long
/// without, with 2 KB 1.08 times, with 8 KB the same. On an AMD EPYC (Zen 4) it took 1.25 times as long
/// with 4 KB as without, with 1 KB 1.1 times, with 8 KB 1.5 times.
pub(super) fn prefetches() -> bool {
    static PREFETCHES: LazyLock<bool> = LazyLock::new(|| {
        // SAFETY: all processors with AVX have the instruction. Newer compilers take it for safe.
        #[allow(unused_unsafe)]
        let vendor = unsafe { __cpuid(0) };
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        name.as_flattened() != b"AuthenticAMD"
    });
    *PREFETCHES
}

#[target_feature(enable = "avx512f,avx512dq,avx2,fma,f16c")]
pub(super) fn dot_f16_avx512<const AHEAD: bool>(row: &[f16], query: &[f32]) -> f32 {
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let (mut low, mut high) = (_mm512_setzero_ps(), _mm512_setzero_ps());
    for (row, query) in rows.iter().zip(queries) {
        let (row, query) = (row.as_ptr().cast::<__m256i>(), query.as_ptr());
        // SAFETY: both hold 32 values; an f16 is 2 bytes, so 16 of them fill a __m256i. Loads
        // need no alignment. A prefetch may be of any address.
        unsafe {
            if AHEAD {
                _mm_prefetch::<_MM_HINT_T0>(row.cast::<i8>().wrapping_add(PREFETCH));
            }
            let first = _mm512_cvtph_ps(_mm256_loadu_si256(row));
            let second = _mm512_cvtph_ps(_mm256_loadu_si256(row.add(1)));
            low = _mm512_fmadd_ps(first, _mm512_loadu_ps(query), low);
            high = _mm512_fmadd_ps(second, _mm512_loadu_ps(query.add(16)), high);
        }
    }
    if row_rest.is_empty() {
        return total_avx512(low, high);
    }
    let mut sums = [0.0f32; LANES];
    // SAFETY: 16 floats fill a register; there are 32.
    unsafe {
        _mm512_storeu_ps(sums.as_mut_ptr(), low);
        _mm512_storeu_ps(sums.as_mut_ptr().add(16), high);
    }
    add_rest(&mut sums, row_rest, query_rest);
    total(sums)
}

#[target_feature(enable = "avx512f,avx512dq,avx2,fma,f16c")]
pub(super) fn dots_f16_avx512(row: &[f16], queries: &[&[f32]; QUERIES]) -> [f32; QUERIES] {
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let blocks = queries.map(|query| query.as_chunks::<LANES>());
    if !row_rest.is_empty() || blocks.iter().any(|(blocks, _)| blocks.len() != rows.len()) {
        return queries.map(|query| dot_f16_avx512::<false>(row, query));
    }
    let mut low = [_mm512_setzero_ps(); QUERIES];
    let mut high = [_mm512_setzero_ps(); QUERIES];
    for (at, row) in rows.iter().enumerate() {
        let row = row.as_ptr().cast::<__m256i>();
        // SAFETY: as in `dot_f16_avx512`.
        let (first, second) = unsafe {
            (
                _mm512_cvtph_ps(_mm256_loadu_si256(row)),
                _mm512_cvtph_ps(_mm256_loadu_si256(row.add(1))),
            )
        };
        for query in 0..QUERIES {
            let values = blocks[query].0[at].as_ptr();
            // SAFETY: a block has 32 values; loads need no alignment.
            unsafe {
                low[query] = _mm512_fmadd_ps(first, _mm512_loadu_ps(values), low[query]);
                high[query] = _mm512_fmadd_ps(second, _mm512_loadu_ps(values.add(16)), high[query]);
            }
        }
    }
    std::array::from_fn(|query| total_avx512(low[query], high[query]))
}

/// Sums the lanes as [`total`] does.
#[target_feature(enable = "avx512f,avx512dq,avx2")]
fn total_avx512(low: __m512, high: __m512) -> f32 {
    let sixteen = _mm512_add_ps(low, high);
    let eight = _mm256_add_ps(
        _mm512_castps512_ps256(sixteen),
        _mm512_extractf32x8_ps::<1>(sixteen),
    );
    let four = _mm_add_ps(
        _mm256_castps256_ps128(eight),
        _mm256_extractf128_ps::<1>(eight),
    );
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
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
    add_rest(&mut sums, row_rest, query_rest);
    total(sums)
}

#[target_feature(enable = "avx512f,avx2,fma,f16c")]
pub(super) fn dot_pair_avx512(row: &[f16], other: &[f16]) -> f32 {
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let (others, other_rest) = other.as_chunks::<LANES>();
    let (mut low, mut high) = (_mm512_setzero_ps(), _mm512_setzero_ps());
    for (row, other) in rows.iter().zip(others) {
        let (row, other) = (
            row.as_ptr().cast::<__m256i>(),
            other.as_ptr().cast::<__m256i>(),
        );
        // SAFETY: both hold 32 values; an f16 is 2 bytes, so 16 of them fill a __m256i. Loads
        // need no alignment.
        unsafe {
            let first = _mm512_cvtph_ps(_mm256_loadu_si256(row));
            let second = _mm512_cvtph_ps(_mm256_loadu_si256(row.add(1)));
            low = _mm512_fmadd_ps(first, _mm512_cvtph_ps(_mm256_loadu_si256(other)), low);
            let other = _mm512_cvtph_ps(_mm256_loadu_si256(other.add(1)));
            high = _mm512_fmadd_ps(second, other, high);
        }
    }
    let mut sums = [0.0f32; LANES];
    // SAFETY: 16 floats fill a register; there are 32.
    unsafe {
        _mm512_storeu_ps(sums.as_mut_ptr(), low);
        _mm512_storeu_ps(sums.as_mut_ptr().add(16), high);
    }
    add_rest(&mut sums, row_rest, other_rest);
    total(sums)
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn dot_pair_avx2(row: &[f16], other: &[f16]) -> f32 {
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let (others, other_rest) = other.as_chunks::<LANES>();
    let mut lanes = [_mm256_setzero_ps(); 4];
    for (row, other) in rows.iter().zip(others) {
        let (row, other) = (
            row.as_ptr().cast::<__m128i>(),
            other.as_ptr().cast::<__m128i>(),
        );
        for (at, lane) in lanes.iter_mut().enumerate() {
            // SAFETY: both hold 32 values, four times eight; loads need no alignment.
            unsafe {
                let values = _mm256_cvtph_ps(_mm_loadu_si128(row.add(at)));
                let others = _mm256_cvtph_ps(_mm_loadu_si128(other.add(at)));
                *lane = _mm256_fmadd_ps(values, others, *lane);
            }
        }
    }
    let mut sums = [0.0f32; LANES];
    for (at, lane) in lanes.into_iter().enumerate() {
        // SAFETY: eight floats fill a register; there are four times eight.
        unsafe { _mm256_storeu_ps(sums.as_mut_ptr().add(8 * at), lane) };
    }
    add_rest(&mut sums, row_rest, other_rest);
    total(sums)
}
