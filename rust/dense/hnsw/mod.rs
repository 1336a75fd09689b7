//! Approximate nearest neighbours: HNSW (Malkov, Yashunin 2016) over the rows of one generation.
//!
//! The graph has no rows of its own: a search reads those of the matrix, so its scores are those of the
//! exact scan, and nothing is stored twice. A search mostly waits for memory, so the rows of a node's
//! neighbours are prefetched while others are compared.

mod file;
mod graph;
mod near;
mod walk;

use std::path::Path;

use super::kernels::Aligned;
use super::matrix::Matrix;
use super::row_set::RowSet;
use crate::error::{Error, Result};
use crate::seal::{Key, Seal};
use file::GraphFile;
use graph::Graph;
use walk::{LINKS, Reach, Rows, Scratches, Walk};

/// The number of nearest rows that a walk keeps, at least (`ef` of Malkov and Yashunin 2016).
const EXPANSION_SEARCH: usize = 256;

/// The same of a walk with a filter, of allowed rows, if a tenth of all rows are allowed. The number
/// falls to this from `EXPANSION_SEARCH` with the share of allowed rows, and below `SMALL` it grows in
/// inverse proportion to the share.
const EXPANSION_ALLOWED: usize = 192;
const SMALL: f64 = 0.1;

/// The nearest rows, allowed or not, of which such a walk compares all neighbours.
const PASSED: usize = 32;

/// The comparisons and lists of neighbours that it reads for each row that it keeps, and the allowed
/// rows that a scan reads in the CPU time of one such read. At 1,000,000 x 384 walks with shares of
/// 1 to 80% read 28 to 50 for a row, at 100,000 rows 20 to 53; a read took 0.12 to 0.29 microseconds
/// and a scanned row 0.06 (AMD EPYC).
const READS_PER_ROW: f64 = 40.0;
const SCANNED_PER_READ: usize = 3;

/// The graph over the rows of one generation.
pub(super) struct Hnsw {
    file: GraphFile,
    /// One for each search at a time, used again by those after it.
    scratches: Scratches,
}

impl Hnsw {
    /// Opens the published graph of a matrix.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal or is that of other rows;
    /// [`Error::System`] if it cannot be read.
    pub(super) fn open(path: &Path, key: &Key, seal: &Seal, rows: usize) -> Result<Self> {
        Ok(Hnsw {
            file: GraphFile::open(path, key, seal, rows)?,
            scratches: Scratches::default(),
        })
    }

    /// Checks all of the file.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it does not match its seal.
    pub(super) fn check(&self) -> Result<()> {
        self.file.check()
    }

    /// # Errors
    /// [`Error::Damaged`] if a part that was read is not as it was written.
    pub(super) fn require_undamaged(&self) -> Result<()> {
        self.file.require_undamaged()
    }

    /// Returns at least `count` rows near the query with their inner products, in no particular order;
    /// fewer if it meets fewer.
    ///
    /// # Errors
    /// [`Error::Damaged`] if something that was read is not as it was written.
    pub(super) fn search(
        &self,
        matrix: &Matrix,
        query: &[f32],
        count: usize,
    ) -> Result<Vec<(usize, f32)>> {
        let (rows, query) = (rows_of(matrix), Aligned::new(query));
        let walk = Walk::new(&self.file, &rows, &query);
        let mut scratch = self.scratches.lend();
        let entry = walk.descend(self.file.entry, self.file.top(), 0, &mut scratch);
        walk.search(0, entry, count.max(EXPANSION_SEARCH), &mut scratch);
        self.require_read_undamaged(matrix)?;
        Ok(self.with_duplicates(scratch.take_unsorted(), count, |_| true))
    }

    /// Returns at least `count` allowed rows near the query with their inner products, in no particular
    /// order; fewer if it meets fewer. Returns `None` if a scan of the allowed rows is likely to cost
    /// less, or would have cost less than the walk until then.
    ///
    /// # Errors
    /// [`Error::Damaged`] if something that was read is not as it was written.
    pub(super) fn search_allowed(
        &self,
        matrix: &Matrix,
        query: &[f32],
        count: usize,
        allowed: &RowSet,
    ) -> Result<Option<Vec<(usize, f32)>>> {
        let reach = reach(count, allowed.len(), matrix.rows());
        if !is_likely_to_end(reach) {
            return Ok(None);
        }
        self.walk_allowed(matrix, query, count, allowed, reach)
    }

    /// Returns the allowed rows that a walk finds, or `None` if it gives up.
    fn walk_allowed(
        &self,
        matrix: &Matrix,
        query: &[f32],
        count: usize,
        allowed: &RowSet,
        reach: Reach,
    ) -> Result<Option<Vec<(usize, f32)>>> {
        let is_allowed = |row: usize| allowed.contains(row);
        let any_allowed = |row: u32| {
            let row = row as usize;
            is_allowed(row) || self.file.duplicates(row).any(is_allowed)
        };
        let (rows, query) = (rows_of(matrix), Aligned::new(query));
        let walk = Walk::new(&self.file, &rows, &query);
        let mut scratch = self.scratches.lend();
        let entry = walk.descend(self.file.entry, self.file.top(), 0, &mut scratch);
        let ended = walk.search_allowed(entry, reach, any_allowed, &mut scratch);
        self.require_read_undamaged(matrix)?;
        let found = || self.with_duplicates(scratch.take_unsorted(), count, is_allowed);
        Ok(ended.then(found))
    }

    /// # Errors
    /// [`Error::Damaged`] if a row or a list that was read is not as it was written.
    fn require_read_undamaged(&self, matrix: &Matrix) -> Result<()> {
        matrix.require_undamaged()?;
        self.require_undamaged()
    }

    /// Returns the allowed ones of these rows and of their duplicates, of equal ones at most `count`.
    fn with_duplicates(
        &self,
        linked: Vec<(usize, f32)>,
        count: usize,
        allowed: impl Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        let mut found = Vec::with_capacity(linked.len());
        for (row, score) in linked {
            let equal = std::iter::once(row).chain(self.file.duplicates(row));
            let equal = equal.filter(|&row| allowed(row)).take(count);
            found.extend(equal.map(|row| (row, score)));
        }
        found
    }
}

/// Returns how far a walk for the best `count` of so many allowed rows goes: at most as far as a scan
/// of them costs.
fn reach(count: usize, allowed: usize, rows: usize) -> Reach {
    let share = allowed as f64 / rows.max(1) as f64;
    let more = share * (EXPANSION_SEARCH - EXPANSION_ALLOWED) as f64;
    let least = (count as f64).max(EXPANSION_ALLOWED as f64 + more);
    Reach {
        best: (least * (SMALL / share).max(1.0)) as usize,
        passed: PASSED,
        share,
        links: (LINKS as f64 / share).min(3.0 * LINKS as f64) as usize,
        reads: allowed / SCANNED_PER_READ,
    }
}

/// Returns whether a walk is likely to end before it gives up.
fn is_likely_to_end(reach: Reach) -> bool {
    reach.best as f64 * READS_PER_ROW < reach.reads as f64
}

/// Returns the rows of a matrix, each of which is checked when it is read.
fn rows_of(matrix: &Matrix) -> Rows<'_, impl Fn(usize) -> bool> {
    Rows {
        values: matrix.all_values(),
        dim: matrix.dim(),
        check: |row: usize| matrix.check_row(row),
    }
}

/// Builds and publishes the graph of all rows; returns its seal. Equal rows give an equal file.
///
/// # Errors
/// [`Error::Invalid`] if there are 2^32 - 1 rows or more; [`Error::NoRoom`] or [`Error::System`].
pub(super) fn write(path: &Path, key: &Key, matrix: &Matrix) -> Result<Seal> {
    let rows = matrix.rows();
    if rows >= u32::MAX as usize {
        return Err(Error::Invalid(format!(
            "{rows} vectors are more than one graph can have; split the index"
        )));
    }
    let graph = Graph::build(matrix.all_values(), matrix.dim());
    file::write(path, key, &graph, rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use half::f16;

    use crate::dense::matrix;
    use crate::dense::scan::{Rows, scan};

    const DIM: usize = 384;
    const KEY: Key = [1; 32];
    const NAME: &str = "ann-1.hnsw";

    /// About normally distributed numbers, the same on every run (splitmix64).
    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> f32 {
            let uniform = |_| {
                self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1u64 << 24) as f32 - 0.5
            };
            (0..4).map(uniform).sum()
        }

        /// Returns a unit vector near another, like those of two chunks on one subject.
        fn near(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
            let row: Vec<f32> = centre
                .iter()
                .map(|value| value + spread * self.next())
                .collect();
            let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
            row.iter().map(|value| value / norm).collect()
        }
    }

    /// Returns rows around subjects, which are grouped in fields: cosines of 0.7 within a subject,
    /// 0.4 within a field.
    fn mixture(rows: usize, queries: usize) -> (Vec<f16>, Vec<Vec<f32>>) {
        let mut noise = Noise(1);
        let fields: Vec<_> = (0..12).map(|_| noise.near(&[0.0; DIM], 1.0)).collect();
        let subjects: Vec<_> = (0..rows / 50)
            .map(|at| noise.near(&fields[at % 12], 0.09))
            .collect();
        let mut row = |at: usize| noise.near(&subjects[at * 7 % subjects.len()], 0.06);
        let values = (0..rows).flat_map(&mut row).map(f16::from_f32).collect();
        (values, (0..queries).map(|at| row(at * 13)).collect())
    }

    /// Returns a published matrix of rows, the seal of its graph, and their folder.
    fn published(values: &[f16]) -> (Matrix, Seal, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors-1.f16");
        let matrix = Matrix::open(&path, &KEY, &write_rows(&path, values)).unwrap();
        let seal = write(&folder.path().join(NAME), &KEY, &matrix).unwrap();
        (matrix, seal, folder)
    }

    fn write_rows(path: &Path, values: &[f16]) -> Seal {
        let row = |(at, values)| matrix::Row {
            key: at,
            doc: 0,
            values,
        };
        let rows: Vec<_> = (0i64..).zip(values.chunks_exact(DIM)).map(row).collect();
        matrix::write(path, &KEY, DIM, 1, &rows).unwrap()
    }

    fn open(matrix: &Matrix, seal: &Seal, folder: &tempfile::TempDir) -> Result<Hnsw> {
        Hnsw::open(&folder.path().join(NAME), &KEY, seal, matrix.rows())
    }

    /// Returns the best allowed rows that a walk finds that does not give up after less than so many
    /// reads.
    fn walk_allowed(
        graph: &Hnsw,
        matrix: &Matrix,
        query: &[f32],
        count: usize,
        allowed: &RowSet,
        reads: usize,
    ) -> Option<Vec<(usize, f32)>> {
        let usual = reach(count, allowed.len(), matrix.rows());
        let reach = Reach { reads, ..usual };
        let found = graph.walk_allowed(matrix, query, count, allowed, reach);
        found.unwrap()
    }

    /// Returns the set of these of so many rows.
    fn set(count: usize, rows: impl IntoIterator<Item = usize>) -> RowSet {
        let mut set = RowSet::none(count);
        for row in rows {
            set.insert(row..row + 1);
        }
        set
    }

    /// Returns the share of the best 20 of the rows whose number modulo 10 is less than `tenths`.
    fn recall_at_20(values: &[f16], queries: &[Vec<f32>], tenths: usize) -> f64 {
        let (matrix, seal, folder) = published(values);
        let graph = open(&matrix, &seal, &folder).unwrap();
        let rows = matrix.rows();
        let allowed = set(rows, (0..rows).filter(|row| row % 10 < tenths));
        let mut shared = 0;
        for query in queries {
            let exact = scan(Rows::F16(values), query, 20, &allowed, |row| row as i64);
            let found = match tenths {
                10 => graph.search(&matrix, query, 150).unwrap(),
                _ => walk_allowed(&graph, &matrix, query, 150, &allowed, usize::MAX).unwrap(),
            };
            assert!(found.iter().all(|&(row, _)| allowed.contains(row)));
            for best in exact.into_sorted() {
                let same = found.iter().find(|(row, _)| *row == best.key as usize);
                assert!(same.is_none_or(|(_, score)| *score == best.score));
                shared += usize::from(same.is_some());
            }
        }
        shared as f64 / (20 * queries.len()) as f64
    }

    #[test]
    fn it_finds_99_of_100_of_the_best_20() {
        let (values, queries) = mixture(5_000, 100);
        let recall = recall_at_20(&values, &queries, 10);
        assert!(recall >= 0.99, "{recall}");
    }

    #[test]
    fn it_finds_99_of_100_of_the_best_20_of_a_third() {
        let (values, queries) = mixture(5_000, 100);
        let recall = recall_at_20(&values, &queries, 3);
        assert!(recall >= 0.99, "{recall}");
    }

    #[test]
    fn it_finds_99_of_100_of_the_best_20_among_many_equal_rows() {
        let (mut values, queries) = mixture(5_000, 100);
        // A tenth of the rows are copies of ten.
        for at in (1_000..1_500).map(|row| row * DIM) {
            values.copy_within((at % (10 * DIM))..(at % (10 * DIM)) + DIM, at);
        }
        let recall = recall_at_20(&values, &queries, 10);
        assert!(recall >= 0.99, "{recall}");
    }

    #[test]
    fn it_finds_99_of_100_of_the_best_20_beside_a_group_of_equal_rows() {
        let (mut values, mut queries) = mixture(2_000, 50);
        values.copy_within(0..DIM, 600 * DIM);
        for at in (600..1_200).map(|row| row * DIM) {
            values.copy_within(0..DIM, at);
        }
        // Some queries are nearest to the group, and some to its neighbours.
        let mut noise = Noise(2);
        let group: Vec<f32> = values[..DIM].iter().map(|value| value.to_f32()).collect();
        queries.extend((0..50).map(|_| noise.near(&group, 0.08)));
        for tenths in [10, 3] {
            let recall = recall_at_20(&values, &queries, tenths);
            assert!(recall >= 0.99, "{tenths}: {recall}");
        }
    }

    #[test]
    fn of_equal_rows_the_allowed_ones_are_found() {
        let (mut values, queries) = mixture(2_000, 1);
        for at in (500..1_500).map(|row| row * DIM) {
            values.copy_within(0..DIM, at);
        }
        let (matrix, seal, folder) = published(&values);
        let graph = open(&matrix, &seal, &folder).unwrap();
        let last = set(2_000, std::iter::once(7).chain(1_480..1_500));
        let found = walk_allowed(&graph, &matrix, &queries[0], 30, &last, usize::MAX).unwrap();
        let mut rows: Vec<_> = found.iter().map(|found| found.0).collect();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(std::iter::once(7).chain(1_480..1_500)));
    }

    #[test]
    fn it_finds_99_of_100_of_the_best_10_of_the_nearest_rows_and_of_those_of_other_fields() {
        let (values, queries) = mixture(2_000, 50);
        let (matrix, seal, folder) = published(&values);
        let graph = open(&matrix, &seal, &folder).unwrap();
        let field = |row: usize| row * 7 % 40 % 12;
        let (mut of_nearest, mut of_others) = (0, 0);
        for query in &queries {
            let sorted = scan(Rows::F16(&values), query, 2_000, &|_: usize| true, |row| {
                row as i64
            });
            let sorted: Vec<_> = sorted.into_sorted();
            let sorted: Vec<usize> = sorted.iter().map(|row| row.key as usize).collect();
            let shared = |rows: &[usize]| {
                let allowed = set(2_000, rows.iter().copied());
                let found = walk_allowed(&graph, &matrix, query, 10, &allowed, usize::MAX).unwrap();
                let is_found = |row: &&usize| found.iter().any(|(other, _)| other == *row);
                rows[..10].iter().filter(is_found).count()
            };
            of_nearest += shared(&sorted[..500]);
            let is_other =
                |&row: &usize| (3..8).contains(&((12 + field(row) - field(sorted[0])) % 12));
            of_others += shared(&sorted.iter().copied().filter(is_other).collect::<Vec<_>>());
        }
        assert!(
            of_nearest >= 495 && of_others >= 495,
            "{of_nearest} {of_others}"
        );
    }

    #[test]
    fn it_finds_19_of_20_of_the_best_10_behind_rows_that_are_not_allowed() {
        let (values, queries) = mixture(5_000, 50);
        let (matrix, seal, folder) = published(&values);
        let graph = open(&matrix, &seal, &folder).unwrap();
        let mut found = 0;
        for query in &queries {
            let all = |_: usize| true;
            let sorted = scan(Rows::F16(&values), query, 5_000, &all, |row| row as i64);
            let sorted = sorted.into_sorted();
            let behind: Vec<usize> = sorted[2_000..].iter().map(|row| row.key as usize).collect();
            let allowed = set(5_000, behind.iter().copied());
            let rows = walk_allowed(&graph, &matrix, query, 10, &allowed, usize::MAX).unwrap();
            let is_found = |row: &&usize| rows.iter().any(|(other, _)| other == *row);
            found += behind[..10].iter().filter(is_found).count();
        }
        assert!(found >= 475, "{found}");
    }

    #[test]
    fn a_walk_is_begun_where_a_scan_costs_more() {
        let begins = |k, allowed, rows| is_likely_to_end(reach(k, allowed, rows));
        assert!(begins(150, 100_000, 1_000_000) && begins(10, 37_000, 40_000));
        assert!(!begins(150, 10_000, 1_000_000) && !begins(150, 10_000, 10_000));
        assert!(begins(1_000, 500_000, 1_000_000) && !begins(10_000, 500_000, 1_000_000));
        assert!(!begins(150, 0, 1_000_000) && !begins(150, 0, 0));
    }

    #[test]
    fn a_search_gives_up_after_so_many_reads() {
        let (values, queries) = mixture(2_000, 1);
        let (matrix, seal, folder) = published(&values);
        let graph = open(&matrix, &seal, &folder).unwrap();
        let worst = scan(
            Rows::F16(&values),
            &queries[0],
            2_000,
            &|_: usize| true,
            |row| row as i64,
        );
        let worst = worst.into_sorted();
        let worst = set(2_000, worst[1_900..].iter().map(|row| row.key as usize));
        let search = |reads| {
            let found = walk_allowed(&graph, &matrix, &queries[0], 20, &worst, reads);
            found.map(|found| found.len().min(20))
        };
        assert_eq!((search(1_000), search(200_000)), (None, Some(20)));
    }

    #[test]
    fn pairs_of_duplicates_that_are_not_ascending_or_have_a_row_twice_are_refused() {
        let (mut values, _) = mixture(1_000, 0);
        for at in [5, 7, 9].map(|row| row * DIM) {
            values.copy_within(0..DIM, at);
        }
        let (matrix, seal, folder) = published(&values);
        let path = folder.path().join(NAME);
        let mut bytes = crate::seal::open(&path, &KEY, &seal).unwrap().to_vec();
        let pairs = bytes.len() - 1_000 * 128 - 64;
        let mut open_with = |with: [[u32; 2]; 3]| {
            let with = with.iter().flatten().flat_map(|row| row.to_le_bytes());
            bytes.splice(pairs..pairs + 24, with);
            let mut draft = crate::seal::Draft::new(&path, &KEY).unwrap();
            std::io::Write::write_all(&mut draft, &bytes).unwrap();
            open(&matrix, &draft.publish().unwrap(), &folder).is_ok()
        };
        assert!(open_with([[0, 5], [0, 7], [0, 9]]));
        assert!(open_with([[0, 5], [1, 7], [1, 9]]));
        for wrong in [
            [[0, 7], [0, 5], [0, 9]],
            [[0, 5], [0, 5], [0, 9]],
            [[0, 5], [1, 5], [1, 9]],
            [[0, 5], [5, 7], [5, 9]],
            [[0, 5], [0, 7], [0, 1_000]],
            [[5, 0], [5, 7], [5, 9]],
        ] {
            assert!(!open_with(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn links_to_rows_that_are_not_there_end_a_list() {
        let (values, queries) = mixture(1_000, 1);
        let (matrix, seal, folder) = published(&values);
        let path = folder.path().join(NAME);
        let mut bytes = crate::seal::open(&path, &KEY, &seal).unwrap().to_vec();
        let lists = bytes.len() - 1_000 * 128;
        for at in (lists + 8..bytes.len()).step_by(128) {
            bytes[at..at + 4].copy_from_slice(&1_000u32.to_le_bytes());
        }
        let mut draft = crate::seal::Draft::new(&path, &KEY).unwrap();
        std::io::Write::write_all(&mut draft, &bytes).unwrap();
        let seal = draft.publish().unwrap();
        let graph = open(&matrix, &seal, &folder).unwrap();
        assert!(!graph.search(&matrix, &queries[0], 150).unwrap().is_empty());
    }

    #[test]
    #[ignore = "builds the graph of 100,000 rows: minutes"]
    fn it_finds_99_of_100_of_the_best_20_at_the_size_it_is_built_from() {
        let (values, queries) = mixture(100_000, 100);
        let recall = recall_at_20(&values, &queries, 10);
        assert!(recall >= 0.99, "{recall}");
    }

    #[test]
    fn one_row_and_few_rows_are_all_found() {
        for rows in [1, 2, 40] {
            let (values, queries) = mixture(50, 1);
            let (matrix, seal, folder) = published(&values[..rows * DIM]);
            let graph = open(&matrix, &seal, &folder).unwrap();
            let mut found = graph.search(&matrix, &queries[0], 150).unwrap();
            found.sort_unstable_by_key(|(row, _)| *row);
            assert!(found.iter().map(|(row, _)| *row).eq(0..rows), "{rows}");
        }
    }

    #[test]
    fn several_threads_find_what_one_finds() {
        let (values, queries) = mixture(1_000, 50);
        let (matrix, seal, folder) = published(&values);
        let graph = open(&matrix, &seal, &folder).unwrap();
        let search_all = || -> Vec<Vec<(usize, f32)>> {
            let search = |query: &Vec<f32>| {
                let mut found = graph.search(&matrix, query, 20).unwrap();
                found.sort_unstable_by_key(|(row, _)| *row);
                found
            };
            queries.iter().map(search).collect()
        };
        let alone = search_all();
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..8).map(|_| scope.spawn(search_all)).collect();
            for thread in running {
                assert_eq!(thread.join().unwrap(), alone);
            }
        });
        assert!((1..=64).contains(&graph.scratches.len()));
    }

    #[test]
    fn a_damaged_list_is_found_when_it_is_read_and_damage_above_it_at_once() {
        let (values, queries) = mixture(1_000, 20);
        let (matrix, seal, folder) = published(&values);
        let path = folder.path().join(NAME);
        let good = std::fs::read(&path).unwrap();
        let damage = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            open(&matrix, &seal, &folder)
        };
        for at in [0, 25, 64, 200, good.len() - 1] {
            assert!(matches!(damage(at), Err(Error::Damaged(_))), "byte {at}");
        }
        // The lists of the lowest layer are the last part of the graph: 128 bytes a row.
        let graph = damage(good.len() / 2).unwrap();
        let searched = queries
            .iter()
            .map(|query| graph.search(&matrix, query, 150));
        assert!(searched.into_iter().any(|found| found.is_err()));
        // It is known from then on, whatever is asked.
        assert!(graph.search(&matrix, &queries[0], 1).is_err() && graph.check().is_err());
    }

    #[test]
    fn a_damaged_row_fails_the_search_that_reads_it() {
        let (values, queries) = mixture(1_000, 20);
        let (_, seal, folder) = published(&values);
        let path = folder.path().join("vectors-1.f16");
        let rows_seal = write_rows(&path, &values);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        let matrix = Matrix::open(&path, &KEY, &rows_seal).unwrap();
        let graph = open(&matrix, &seal, &folder).unwrap();
        let searched = queries
            .iter()
            .map(|query| graph.search(&matrix, query, 150));
        assert!(searched.into_iter().any(|found| found.is_err()));
    }

    #[test]
    fn a_sealed_file_of_another_shape_is_refused() {
        let (values, _) = mixture(1_000, 0);
        let (matrix, seal, folder) = published(&values);
        let path = folder.path().join(NAME);
        let good = crate::seal::open(&path, &KEY, &seal).unwrap().to_vec();
        assert!(Hnsw::open(&path, &KEY, &seal, 999).is_err());
        // Magic, version, links, rows, layers, an entry beyond the rows, duplicates, rows of the first
        // layer.
        for at in [0, 8, 12, 16, 23, 24, 27, 31, 32, 35, 65, 71] {
            let mut bytes = good.clone();
            bytes[at] ^= 0x55;
            let mut draft = crate::seal::Draft::new(&path, &KEY).unwrap();
            std::io::Write::write_all(&mut draft, &bytes).unwrap();
            let seal = draft.publish().unwrap();
            let opened = open(&matrix, &seal, &folder);
            assert!(matches!(opened, Err(Error::Damaged(_))), "byte {at}");
        }
    }

    #[test]
    fn equal_rows_give_an_equal_file() {
        let (values, _) = mixture(2_000, 0);
        assert_eq!(published(&values).1, published(&values).1);
    }
}
