//! Codes of 8 bits, of which a scan reads half as many bytes as rows have, and a bound of their error,
//! with which it finds what a scan of the rows finds.
//!
//! A row `x` is `s c + e`, where `c` are whole numbers up to 127, `s` is the row's scale, and `e`
//! what rounding leaves; a query `q` is `t d + f` likewise, with numbers of 14 bits. So
//! `x·q = s t (c·d) + (x - e)·f + e·q`, and by Cauchy and Schwarz `s t (c·d)` differs from `x·q` by at
//! most `‖e‖ ‖q‖ + (‖x‖ + ‖e‖) ‖f‖`.

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::kernels::{CodesKernel, kernel_codes};

/// The largest number of a row's codes.
const LIMIT: f32 = 127.0;
/// The largest number of a query's codes, of few dimensions.
const QUERY_LIMIT: i32 = (1 << 13) - 1;

/// Products of norms of which no part is beyond single precision, or so small that it loses digits. No
/// sum of a part of a product is larger than that of the norms.
const PRECISE: Range<f32> = 1e-20..f32::MAX / 4.0;

/// What a row's codes are multiplied by, and what they leave out.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Scale {
    scale: f32,
    /// The Euclidean norm of the row.
    norm: f32,
    /// The norm of what the codes leave out; infinite if the row has a value that is not finite.
    error: f32,
}

impl Scale {
    /// Returns its bytes, little-endian.
    pub fn to_bytes(self) -> [u8; size_of::<Scale>()] {
        let mut bytes = [0; size_of::<Scale>()];
        for (bytes, value) in bytes
            .chunks_exact_mut(4)
            .zip([self.scale, self.norm, self.error])
        {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}

/// Appends the codes of a row; returns their scale.
pub fn encode(row: &[f16], codes: &mut Vec<u8>) -> Scale {
    let mut values = vec![0.0; row.len()];
    row.convert_to_f32_slice(&mut values);
    if !values.iter().all(|value| value.is_finite()) {
        codes.extend(row.iter().map(|_| 0));
        return Scale {
            scale: 0.0,
            norm: 0.0,
            error: f32::INFINITY,
        };
    }
    let scale = largest(&values) / LIMIT;
    let start = codes.len();
    codes.extend(values.iter().map(|&value| {
        let code = nearest(value, scale) as i8;
        code.cast_unsigned()
    }));
    let coded = values.iter().zip(&codes[start..]);
    let error: f64 = coded
        .map(|(&value, code)| left_out(value, scale, f32::from(code.cast_signed())))
        .sum();
    let norm: f64 = values.iter().map(|&value| f64::from(value).powi(2)).sum();
    Scale {
        scale,
        norm: above(norm.sqrt()),
        error: above(error.sqrt()),
    }
}

/// Rows as codes, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Codes<'a> {
    /// As many values as the rows have.
    pub values: &'a [i8],
    /// The scale of each row.
    pub scales: &'a [Scale],
}

/// A query as codes, with what its products with codes of rows may be off.
pub struct Query {
    codes: Vec<i16>,
    scale: f32,
    norm: f32,
    /// What its codes leave out, and what sums in single precision may, for a row of norm 1.
    error: f32,
    kernel: CodesKernel,
}

impl Query {
    /// Encodes a query; `None` if it has a value that is not finite.
    pub fn new(query: &[f32]) -> Option<Self> {
        if !query.iter().all(|value| value.is_finite()) {
            return None;
        }
        // The sum of all dimensions has to fit into 31 bits.
        let room = i32::MAX / (LIMIT as i32 * query.len().max(1) as i32);
        let limit = QUERY_LIMIT.min(room) as f32;
        let scale = query
            .iter()
            .fold(0.0f32, |most, value| most.max(value.abs()))
            / limit;
        let mut codes = Vec::with_capacity(query.len());
        let (mut error, mut norm) = (0.0f64, 0.0f64);
        for &value in query {
            // A scale that is nearly 0 is not exact.
            let code = nearest(value, scale).clamp(-limit, limit) as i16;
            error += left_out(value, scale, f32::from(code));
            norm += f64::from(value) * f64::from(value);
            codes.push(code);
        }
        // A kernel's lane rounds once a value, and the lanes' sum and this one a few times: twice as
        // much as they can be off together.
        let roundings = (query.len() / 16 + 16) as f64 * f64::from(f32::EPSILON);
        // The norm of a row's codes is at most twice that of the row.
        let error = above(2.0 * (error.sqrt() + roundings * norm.sqrt()));
        Some(Query {
            codes,
            scale,
            norm: above(norm.sqrt()),
            error,
            kernel: kernel_codes(),
        })
    }

    /// Calls `add` with each of these rows, its product by codes, and how far its product may be from it.
    #[inline]
    pub fn products(&self, codes: Codes<'_>, rows: &[usize], mut add: impl FnMut(usize, f32, f32)) {
        let mut sums = Vec::with_capacity(rows.len());
        (self.kernel)(codes.values, rows, &self.codes, &mut sums);
        for (&row, sum) in rows.iter().zip(sums) {
            let Scale { scale, norm, error } = codes.scales[row];
            if PRECISE.contains(&(norm * self.norm)) {
                let error = error * self.norm + norm * self.error;
                add(row, scale * self.scale * sum as f32, error);
            } else {
                add(row, 0.0, f32::INFINITY);
            }
        }
    }
}

fn largest(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most, value| value.abs().max(most))
}

/// Returns what is a whole number of scales if it is cut off behind the point. 0 / 0 is NaN, which as a
/// whole number is 0. (`round` is a function that is called where SSE4.1 is not taken for granted.)
#[inline]
fn nearest(value: f32, scale: f32) -> f32 {
    value / scale + 0.5f32.copysign(value)
}

fn left_out(value: f32, scale: f32, code: f32) -> f64 {
    let left = f64::from(value) - f64::from(scale) * f64::from(code);
    left * left
}

/// Rounds up to single precision.
fn above(value: f64) -> f32 {
    (value as f32).next_up()
}

#[cfg(test)]
mod tests {
    use super::super::scan::product;
    use super::*;
    use proptest::prelude::*;

    fn encoded(row: &[f16]) -> (Vec<i8>, Scale) {
        let mut codes = Vec::new();
        let scale = encode(row, &mut codes);
        (codes.into_iter().map(u8::cast_signed).collect(), scale)
    }

    fn scored(query: &Query, codes: &[i8], scale: Scale) -> (f32, f32) {
        let mut found = (f32::NAN, f32::NAN);
        let (values, scales) = (codes, &[scale][..]);
        query.products(Codes { values, scales }, &[0], |_, score, error| {
            found = (score, error);
        });
        found
    }

    fn is_within_its_bound(row: &[f32], query: &[f32]) -> bool {
        let row: Vec<f16> = row.iter().copied().map(f16::from_f32).collect();
        let (codes, scale) = encoded(&row);
        Query::new(query).is_none_or(|asked| {
            let (score, error) = scored(&asked, &codes, scale);
            error == f32::INFINITY || (score - product(&row, query)).abs() <= error
        })
    }

    proptest! {
        #[test]
        fn no_product_is_further_off_than_its_bound(
            values in prop::collection::vec((-2.0f32..2.0, -2.0f32..2.0), 1..700),
            large in -6i32..5,
        ) {
            let (row, query): (Vec<f32>, Vec<f32>) = values.into_iter().unzip();
            let row: Vec<f32> = row.iter().map(|value| value * 10f32.powi(large)).collect();
            prop_assert!(is_within_its_bound(&row, &query));
        }

        #[test]
        fn no_value_is_too_odd(
            values in prop::collection::vec((any::<f32>(), any::<f32>()), 1..70),
        ) {
            let (row, query): (Vec<f32>, Vec<f32>) = values.into_iter().unzip();
            prop_assert!(is_within_its_bound(&row, &query));
        }
    }

    #[test]
    fn a_product_that_single_precision_does_not_hold_has_no_bound() {
        for (value, asked) in [(-2e4, -1.2e35), (2e-3, 2.4e-37), (0.0, 1.0)] {
            let (row, query) = ([value, -value], [asked, asked]);
            assert!(is_within_its_bound(&row, &query));
            let (codes, scale) = encoded(&row.map(f16::from_f32));
            let error = Query::new(&query).map(|query| scored(&query, &codes, scale).1);
            assert_eq!(error, Some(f32::INFINITY), "{value}");
        }
    }

    #[test]
    fn products_of_many_dimensions_fit() {
        for dim in [2048, 4096, 65_536] {
            assert!(
                is_within_its_bound(&vec![1.0; dim], &vec![-1.0; dim]),
                "{dim}"
            );
        }
    }

    #[test]
    fn the_bound_is_narrow_for_unit_vectors() {
        let wave = |at: usize, step: f32| (at as f32 * step).sin() / 14.0;
        let row: Vec<f16> = (0..384).map(|at| f16::from_f32(wave(at, 0.7))).collect();
        let query: Vec<f32> = (0..384).map(|at| wave(at, 1.3)).collect();
        let (codes, scale) = encoded(&row);
        let error = Query::new(&query).map(|query| scored(&query, &codes, scale).1);
        assert!(error.is_some_and(|error| error < 0.005), "{error:?}");
    }
}
