//! Approximate nearest neighbours: HNSW (Malkov, Yashunin 2016) by usearch, over the rows of one
//! generation.
//!
//! A key is the number of a row. The graph proposes rows; their scores are computed from the matrix
//! and equal those of the exact scan.
//!
//! usearch's own product of f16 rows is a loop of bit operations unless it is built with NumKong,
//! whose 2,000 kernels take longer to compile than the rest of crx together. So its distance is the
//! kernel of the exact scan, which also makes the graph of equal rows the same on every processor.
//!
//! usearch does not validate its input, so all of a file but the rows is checked when it is opened.
//! Five sixths of a file are rows, which no code follows: the distance checks one when it reads it.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use half::f16;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::kernels::kernel_pair;
use crate::error::{Error, Result};
use crate::seal::{Draft, Key, Seal, Sealed};

/// The byte at which the rows begin in a file of usearch.
const ROWS_AT: usize = 8;

/// Links of a node; twice as many in the lowest layer.
const CONNECTIVITY: usize = 16;
/// Candidates considered when a row is added, and in a search.
const EXPANSION_ADD: usize = 128;
const EXPANSION_SEARCH: usize = 256;

/// Returns the number of candidates that a search for `count` rows keeps.
pub(super) fn candidates(count: usize) -> usize {
    count.max(EXPANSION_SEARCH)
}

/// The graph over the rows of one generation.
pub(super) struct Hnsw {
    // The index reads the file, so it is dropped first.
    index: Index,
    file: Arc<Sealed>,
    slots: Slots,
}

/// A semaphore with a slot for each thread that the index has room for: usearch rejects one more
/// caller instead of letting it wait.
struct Slots {
    free: Mutex<usize>,
    released: Condvar,
}

/// One slot of a semaphore, until it is dropped.
struct Slot<'a>(&'a Slots);

impl Slots {
    fn new(count: usize) -> Self {
        Slots {
            free: Mutex::new(count),
            released: Condvar::new(),
        }
    }

    /// Waits for a free slot.
    fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.released.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.released.notify_one();
    }
}

impl Hnsw {
    /// Opens the published graph of so many rows, after checking all of it but the rows.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal or has other rows; [`Error::System`] if
    /// it cannot be read.
    pub(super) fn open(
        path: &Path,
        key: &Key,
        seal: &Seal,
        dim: usize,
        rows: usize,
    ) -> Result<Self> {
        let file = Arc::new(Sealed::open(path, key, seal)?);
        let in_rows = rows_of(&file, dim, rows).unwrap_or(0..0);
        file.check(0..in_rows.start);
        file.check(in_rows.end..file.len());
        file.require_undamaged()?;
        let mut index = Index::new(&options(dim)).map_err(|error| failed(path, error))?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        index
            .reserve_capacity_and_threads(0, threads)
            .map_err(|error| failed(path, error))?;
        // SAFETY: the bytes are those that usearch wrote, but for rows, and outlive the index.
        unsafe { index.view_from_buffer(&file) }.map_err(|error| failed(path, error))?;
        use_kernel(&mut index, dim, Some(&file));
        if (index.dimensions(), index.size()) != (dim, rows) {
            return Err(Error::Damaged(format!(
                "{}: has other rows than its matrix",
                path.display()
            )));
        }
        Ok(Hnsw {
            index,
            file,
            slots: Slots::new(threads),
        })
    }

    /// Checks all rows.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal.
    pub(super) fn check(&self) -> Result<()> {
        self.file.check_all()
    }

    /// # Errors
    /// [`Error::Damaged`] if a row that was read is not as it was written.
    pub(super) fn require_undamaged(&self) -> Result<()> {
        self.file.require_undamaged()
    }

    /// Returns about `count` allowed rows near the query, in no particular order.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a row that was compared is not as it was written; [`Error::System`] if
    /// usearch fails.
    pub(super) fn search(
        &self,
        query: &[f32],
        count: usize,
        allowed: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>> {
        let _slot = self.slots.take();
        let count = count.min(self.index.size());
        let found = self
            .index
            .filtered_search(query, count, |row| allowed(row as usize))
            .map_err(|error| Error::System(format!("usearch: {error}")))?;
        self.require_undamaged()?;
        Ok(found.keys.into_iter().map(|row| row as usize).collect())
    }
}

/// Builds and publishes the graph of all rows; returns its seal. The rows are added in order on one
/// thread, so that equal rows give an equal file.
///
/// # Errors
/// [`Error::NoRoom`] or [`Error::System`].
pub(super) fn write(path: &Path, key: &Key, dim: usize, values: &[f16]) -> Result<Seal> {
    let mut index = Index::new(&options(dim)).map_err(|error| failed(path, error))?;
    use_kernel(&mut index, dim, None);
    index
        .reserve_capacity_and_threads(values.len() / dim, 1)
        .map_err(|error| failed(path, error))?;
    let mut row = vec![0i16; dim];
    for (number, values) in (0u64..).zip(values.chunks_exact(dim)) {
        for (to, from) in row.iter_mut().zip(values) {
            *to = from.to_bits().cast_signed();
        }
        index
            .add(number, usearch::f16::from_i16s(&row))
            .map_err(|error| failed(path, error))?;
    }
    let mut bytes = vec![0u8; index.serialized_length()];
    index
        .save_to_buffer(&mut bytes)
        .map_err(|error| failed(path, error))?;
    let mut draft = Draft::new(path, key)?;
    std::io::Write::write_all(&mut draft, &bytes).map_err(|error| Error::io(path, &error))?;
    draft.publish()
}

/// Sets the distance of two rows: 1 less their inner product, as usearch's own. Rows of a file are
/// checked when they are first read; a damaged one is compared all the same, since any bits are an f16.
fn use_kernel(index: &mut Index, dim: usize, file: Option<&Arc<Sealed>>) {
    let product = kernel_pair();
    let file = file.cloned();
    let check = move |row: *const usearch::f16| {
        if let Some(file) = &file {
            let at = (row as usize).wrapping_sub(file.as_ptr() as usize);
            // The query is no part of the file.
            if at < file.len() {
                file.check(at..at + dim * size_of::<f16>());
            }
        }
    };
    let distance = move |row: *const usearch::f16, other: *const usearch::f16| {
        check(row);
        check(other);
        // SAFETY: usearch passes rows of its index, or the query that it has cast to one: `dim` values
        // of 16 bits, aligned as such.
        let (row, other) = unsafe {
            (
                std::slice::from_raw_parts(row.cast::<f16>(), dim),
                std::slice::from_raw_parts(other.cast::<f16>(), dim),
            )
        };
        1.0 - product(row, other)
    };
    index.change_metric(Box::new(distance));
}

/// Returns the bytes of the rows in a file of usearch, which begins with their number and their
/// length, or None if they are others: then all of the file is to be checked.
fn rows_of(file: &Sealed, dim: usize, rows: usize) -> Option<Range<usize>> {
    let bytes = dim.checked_mul(size_of::<f16>())?;
    let declared = |at: usize| Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?) as usize);
    let end = rows.checked_mul(bytes)?.checked_add(ROWS_AT)?;
    let is_known = file.check(0..ROWS_AT)
        && (declared(0)?, declared(4)?) == (rows, bytes)
        && end <= file.len();
    is_known.then_some(ROWS_AT..end)
}

fn options(dim: usize) -> IndexOptions {
    IndexOptions {
        dimensions: dim,
        metric: MetricKind::IP,
        quantization: ScalarKind::F16,
        connectivity: CONNECTIVITY,
        expansion_add: EXPANSION_ADD,
        expansion_search: EXPANSION_SEARCH,
        multi: false,
    }
}

fn failed(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::System(format!("{}: usearch: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dense::scan::{Rows, scan};

    const DIM: usize = 384;

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

        /// Returns a unit vector near another, as of two chunks on one subject.
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

    /// Returns the share of the best 20 of the rows whose number modulo 10 is less than `tenths`.
    fn recall_at_20(rows: usize, tenths: usize) -> f64 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ann-1.usearch");
        let (values, queries) = mixture(rows, 100);
        let seal = write(&path, &[1; 32], DIM, &values).unwrap();
        let graph = Hnsw::open(&path, &[1; 32], &seal, DIM, rows).unwrap();
        let allowed = |row: usize| row % 10 < tenths;
        let mut shared = 0;
        for query in &queries {
            let exact = scan(Rows::F16(&values), query, 20, allowed, |row| row as i64);
            let exact = exact.into_sorted();
            let found = graph.search(query, 150, allowed).unwrap();
            assert!(found.iter().all(|&row| allowed(row)));
            shared += exact
                .iter()
                .filter(|row| found.contains(&(row.key as usize)))
                .count();
        }
        shared as f64 / (20 * queries.len()) as f64
    }

    #[test]
    fn it_finds_99_of_100_of_the_best_20() {
        let recall = recall_at_20(5_000, 10);
        assert!(recall >= 0.99, "{recall}");
    }

    #[test]
    fn it_finds_99_of_100_of_the_best_20_of_a_third() {
        let recall = recall_at_20(5_000, 3);
        assert!(recall >= 0.99, "{recall}");
    }

    #[test]
    #[ignore = "builds the graph of 100,000 rows: minutes"]
    fn it_finds_99_of_100_of_the_best_20_at_the_size_it_is_built_from() {
        let recall = recall_at_20(100_000, 10);
        assert!(recall >= 0.99, "{recall}");
    }

    #[test]
    fn more_threads_than_slots_find_what_one_finds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ann-1.usearch");
        let (values, queries) = mixture(1_000, 50);
        let seal = write(&path, &[1; 32], DIM, &values).unwrap();
        let graph = Hnsw::open(&path, &[1; 32], &seal, DIM, 1_000).unwrap();
        let search_all = || -> Vec<Vec<usize>> {
            let search = |query: &Vec<f32>| graph.search(query, 20, |_| true).unwrap();
            queries.iter().map(search).collect()
        };
        let threads = 4 + 4 * *graph.slots.free.lock().unwrap();
        let alone = search_all();
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(search_all)).collect();
            for thread in running {
                assert_eq!(thread.join().unwrap(), alone);
            }
        });
    }

    #[test]
    fn a_damaged_row_is_found_when_it_is_read_and_any_other_damage_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ann-1.usearch");
        let (values, queries) = mixture(1_000, 20);
        let seal = write(&path, &[1; 32], DIM, &values).unwrap();
        let good = std::fs::read(&path).unwrap();
        let open = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            Hnsw::open(&path, &[1; 32], &seal, DIM, 1_000)
        };
        let end = ROWS_AT + values.len() * 2;
        for at in [0, 4, 9, end - 1, end, end + 64, good.len() - 1] {
            assert!(matches!(open(at), Err(Error::Damaged(_))), "byte {at}");
        }
        let graph = open(end / 2).unwrap();
        let damaged = (end / 2 - ROWS_AT) / (2 * DIM);
        let mut query = vec![0.0; DIM];
        for (to, from) in query.iter_mut().zip(&values[damaged * DIM..]) {
            *to = from.to_f32();
        }
        assert!(graph.search(&query, 150, |_| true).is_err());
        // It is known from then on, whatever is asked.
        assert!(graph.search(&queries[0], 1, |_| true).is_err() && graph.check().is_err());
    }

    #[test]
    fn equal_rows_give_an_equal_file() {
        let folder = tempfile::tempdir().unwrap();
        let (values, _) = mixture(500, 0);
        let seal = |name: &str| write(&folder.path().join(name), &[1; 32], DIM, &values).unwrap();
        assert_eq!(seal("a"), seal("b"));
    }
}
