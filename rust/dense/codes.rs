//! Codes of a matrix: its rows in eight bits a value, so that a scan reads half of the memory.
//!
//! The codes choose candidates. Their scores, and so their order, are those of the rows themselves.
//! A value is coded as a multiple of a 127th of the largest of its row: the product with a query is off
//! by a fortieth of what scores differ by on the average, so that of the candidates, twice as many as
//! are asked for, the worst are far from the best that were left out.

use half::f16;
use rayon::prelude::*;

use super::kernels::kernel_codes;
use super::matrix::Matrix;
use super::row_set::Selection;
use super::scan::{TopRows, best_rows, product};
use crate::pool;

/// Candidates for each row that is asked for.
const CANDIDATES: usize = 2;
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
        values >= FEWEST_VALUES && 4 * CANDIDATES * k <= matrix.rows()
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
    /// with a query.
    pub(super) fn nearest(
        &self,
        matrix: &Matrix,
        query: &[f32],
        k: usize,
        allowed: &impl Selection,
    ) -> TopRows {
        let query_codes = code_query(query);
        let dot = kernel_codes();
        let score = |row: usize| {
            let codes = &self.values[row * self.dim..][..self.dim];
            dot(codes, &query_codes) as f32 * self.steps[row]
        };
        let shape = [self.steps.len(), self.dim];
        let candidates = best_rows(shape, CANDIDATES * k, score, allowed, |row| row as i64);
        let mut best = TopRows::new(k);
        for candidate in candidates.into_sorted() {
            let row = candidate.key as usize;
            best.push(product(matrix.row(row), query), || matrix.keys()[row]);
        }
        best
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

/// Returns the codes of a query; its scale changes no order.
fn code_query(query: &[f32]) -> Vec<i16> {
    let most = query.iter().map(|value| value.abs()).fold(0.0, f32::max);
    let step = most / QUERY_STEPS;
    let code = |value: &f32| {
        if step > 0.0 {
            (value / step).round() as i16
        } else {
            0
        }
    };
    query.iter().map(code).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::matrix::{Row, write};
    use super::super::scan::{Rows, Scored, scan};
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
    fn codes_find_what_a_scan_of_the_rows_finds_with_its_scores() {
        let folder = tempfile::tempdir().unwrap();
        let matrix = matrix_of(5000, folder.path());
        let codes = Codes::of(&matrix);
        matrix.release();
        let queries = noise(50 * DIM);
        let (mut found, mut wanted) = (0, 0);
        for query in queries.chunks(DIM) {
            let allowed = |row: usize| row % 3 > 0;
            let by_codes = codes.nearest(&matrix, query, 20, &allowed).into_sorted();
            let rows = Rows::F16(matrix.all_values());
            let keys = matrix.keys();
            let exact = scan(rows, query, 20, &allowed, |row| keys[row]).into_sorted();
            assert_eq!(by_codes.len(), 20);
            wanted += exact.len();
            found += by_codes
                .iter()
                .filter(|row: &&Scored| exact.contains(row))
                .count();
        }
        assert!(found as f64 >= 0.999 * wanted as f64, "{found} of {wanted}");
    }

    #[test]
    fn rows_without_a_direction_are_coded() {
        let mut codes = [9; 4];
        assert_eq!(code_row(&[f16::ZERO; 4], &mut [0; 4]), 0.0);
        let row = [0.5, -1.0, 0.25, 0.0].map(f16::from_f32);
        assert_eq!(code_row(&row, &mut codes), 1.0 / 127.0);
        assert_eq!(codes, [64, -127, 32, 0]);
        assert_eq!(code_query(&[0.0, 0.0]), [0, 0]);
        assert_eq!(code_query(&[-2.0, 1.0]), [-1023, 512]);
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
