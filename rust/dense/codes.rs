//! Codes of a matrix: its rows in eight bits a value, so that a scan reads half of the memory.
//!
//! The codes choose candidates: all rows that may be among the best. Their scores, and so their order,
//! are those of the rows themselves.

use half::f16;
use rayon::prelude::*;

use super::kernels::kernel_codes;
use super::matrix::Matrix;
use super::row_set::Selection;
use super::scan::{BLOCK, FEW_VALUES, TopRows, product};
use crate::interrupt::{self, Interrupt};
use crate::pool;

/// A row that is asked for may be missing if its score by codes is lower by more standard errors than
/// the last of the best by codes. The difference of two such scores has one and a half: of a million
/// rows near the last, less than one is missed.
const STANDARD_ERRORS: f32 = 8.0;
/// A search whose candidates are more than this part of the rows is a scan.
const LEAST_SAVED: usize = 8;
/// Values of the smallest matrix with codes: 4 MB of f16. A smaller one stays in the processor's cache.
const FEWEST_VALUES: usize = 1 << 21;
/// Searches of a matrix before it is coded, which takes as long as ten.
pub(super) const SEARCHES: usize = 20;
/// The largest code of a value of a row, and of a query: so sums of 16,000 products fit into an i32.
const ROW_STEPS: f32 = 127.0;
const QUERY_STEPS: f32 = 1023.0;

/// The codes of all rows of a matrix.
pub(super) struct Codes {
    dim: usize,
    values: Vec<i8>,
    /// The value of a step of each row.
    steps: Vec<f32>,
}

impl Codes {
    /// Returns whether a search for the best `k` rows of a matrix is faster by codes.
    pub(super) fn are_worth_it(matrix: &Matrix, k: usize) -> bool {
        let values = matrix.rows() * matrix.dim();
        values >= FEWEST_VALUES && 2 * LEAST_SAVED * k <= matrix.rows()
    }

    /// Codes the rows of a matrix, which were checked.
    pub(super) fn of(matrix: &Matrix) -> Self {
        let (rows, dim) = (matrix.rows(), matrix.dim());
        let mut codes = Codes {
            dim,
            values: vec![0; rows * dim],
            steps: vec![0.0; rows],
        };
        let all = matrix.all_values();
        pool::install(|| {
            let coded = codes.values.par_chunks_mut(dim).zip(&mut codes.steps);
            coded
                .zip(all.par_chunks(dim))
                .for_each(|((codes, step), row)| {
                    *step = code_row(row, codes);
                });
        });
        codes
    }

    /// Returns the `k` allowed rows of a matrix, whose codes these are, with the largest inner product
    /// with a query; None if too many rows may be among them, as where many scores are equal.
    pub(super) fn nearest(
        &self,
        matrix: &Matrix,
        query: &[f32],
        k: usize,
        allowed: &impl Selection,
    ) -> Option<TopRows> {
        let (query_codes, query_step) = code_query(query);
        let scores = self.scores(&query_codes, query_step, allowed);
        let mut by_codes = TopRows::new(k);
        for (row, &score) in scores.iter().enumerate() {
            by_codes.push(score, || row as i64);
        }
        let last = by_codes.into_sorted().last().map_or(0.0, |last| last.score);
        let least = last - STANDARD_ERRORS * self.standard_error(query);
        let is_candidate =
            |&(_, score): &(usize, &f32)| *score > f32::NEG_INFINITY && *score >= least;
        let candidates = scores.iter().enumerate().filter(is_candidate);
        if candidates.clone().count() > scores.len() / LEAST_SAVED {
            return None;
        }
        let mut best = TopRows::new(k);
        for (row, _) in candidates {
            best.push(product(matrix.row(row), query), || matrix.keys()[row]);
        }
        Some(best)
    }

    /// Returns the score of each row by codes, minus infinity of those that are not allowed and of
    /// those that an interrupt leaves out.
    fn scores(&self, query: &[i16], query_step: f32, allowed: &impl Selection) -> Vec<f32> {
        let dot = kernel_codes();
        let interrupt = interrupt::current();
        let mut scores = vec![f32::NEG_INFINITY; self.steps.len()];
        let score_block = |(block, scores): (usize, &mut [f32])| {
            if interrupt.as_ref().is_some_and(Interrupt::is_due) {
                return;
            }
            let start = block * BLOCK;
            for row in allowed.within(start..start + scores.len()) {
                let codes = &self.values[row * self.dim..][..self.dim];
                scores[row - start] = dot(codes, query) as f32 * self.steps[row] * query_step;
            }
        };
        if self.values.len() <= FEW_VALUES {
            scores.chunks_mut(BLOCK).enumerate().for_each(score_block);
        } else {
            pool::install(|| {
                scores
                    .par_chunks_mut(BLOCK)
                    .enumerate()
                    .for_each(score_block)
            });
        }
        scores
    }

    /// Returns the standard deviation of the error of a score by codes, of the row with the largest
    /// step: errors of values are as likely to be anywhere within half a step.
    fn standard_error(&self, query: &[f32]) -> f32 {
        let length = query.iter().map(|value| value * value).sum::<f32>().sqrt();
        self.steps.iter().copied().fold(0.0, f32::max) / 12.0_f32.sqrt() * length
    }
}

/// Codes a row; returns the value of a step.
fn code_row(row: &[f16], codes: &mut [i8]) -> f32 {
    let most = row
        .iter()
        .map(|value| value.to_f32().abs())
        .fold(0.0, f32::max);
    let step = most / ROW_STEPS;
    if step > 0.0 && step.is_finite() {
        for (code, value) in codes.iter_mut().zip(row) {
            *code = (value.to_f32() / step).round() as i8;
        }
    }
    step
}

/// Returns the codes of a query and the value of a step.
fn code_query(query: &[f32]) -> (Vec<i16>, f32) {
    let most = query.iter().map(|value| value.abs()).fold(0.0, f32::max);
    let step = most / QUERY_STEPS;
    let code = |value: &f32| {
        if step > 0.0 {
            (value / step).round() as i16
        } else {
            0
        }
    };
    (query.iter().map(code).collect(), step)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::matrix::{Row, write};
    use super::super::scan::{Rows, scan};
    use super::*;

    const DIM: usize = 48;

    /// Returns numbers around 0 that look like chance.
    fn noise(count: usize) -> Vec<f32> {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..count).map(|_| (0..4).map(|_| next()).sum()).collect()
    }

    fn matrix_of(rows: usize, folder: &std::path::Path) -> Matrix {
        let values: Vec<f16> = noise(rows * DIM).into_iter().map(f16::from_f32).collect();
        let rows: Vec<Row<'_>> = (0i64..)
            .zip(values.chunks(DIM))
            .map(|(row, values)| Row {
                key: 7 + row,
                doc: row / 10,
                values,
            })
            .collect();
        let path = folder.join("vectors-1.f16");
        let seal = write(&path, &[3; 32], DIM, 1, &rows).unwrap();
        let matrix = Matrix::open(&path, &[3; 32], &seal).unwrap();
        matrix.check().unwrap();
        matrix
    }

    #[test]
    fn codes_find_what_a_scan_of_the_rows_finds() {
        let folder = tempfile::tempdir().unwrap();
        let matrix = matrix_of(5000, folder.path());
        let codes = Codes::of(&matrix);
        matrix.release();
        for query in noise(50 * DIM).chunks(DIM) {
            let allowed = |row: usize| row % 3 > 0;
            let by_codes = codes.nearest(&matrix, query, 20, &allowed);
            let rows = Rows::F16(matrix.all_values());
            let keys = matrix.keys();
            let exact = scan(rows, query, 20, &allowed, |row| keys[row]).into_sorted();
            assert_eq!(by_codes.map(TopRows::into_sorted), Some(exact));
        }
    }

    #[test]
    fn rows_with_equal_scores_are_scanned() {
        let folder = tempfile::tempdir().unwrap();
        let matrix = matrix_of(5000, folder.path());
        let codes = Codes::of(&matrix);
        let none = codes.nearest(&matrix, &[0.0; DIM], 20, &|_: usize| true);
        assert!(none.is_none());
        let found = codes.nearest(&matrix, &[0.0; DIM], 20, &|row: usize| row < 30);
        assert_eq!(found.map(|found| found.into_sorted().len()), Some(20));
    }

    #[test]
    fn rows_without_a_direction_are_coded() {
        let mut codes = [9; 4];
        assert_eq!(code_row(&[f16::ZERO; 4], &mut [0; 4]), 0.0);
        let row = [0.5, -1.0, 0.25, 0.0].map(f16::from_f32);
        assert_eq!(code_row(&row, &mut codes), 1.0 / 127.0);
        assert_eq!(codes, [64, -127, 32, 0]);
        assert_eq!(code_query(&[0.0, 0.0]), (vec![0, 0], 0.0));
        assert_eq!(code_query(&[-2.0, 1.0]), (vec![-1023, 512], 2.0 / 1023.0));
    }

    #[test]
    fn a_small_matrix_and_a_search_for_many_rows_are_scanned() {
        let folder = tempfile::tempdir().unwrap();
        let matrix = matrix_of(FEWEST_VALUES / DIM + 1, folder.path());
        assert!(Codes::are_worth_it(&matrix, 150));
        assert!(!Codes::are_worth_it(&matrix, 20_000));
        let matrix = matrix_of(1000, folder.path());
        assert!(!Codes::are_worth_it(&matrix, 10));
    }
}
