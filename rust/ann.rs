//! Here are too many rows to scan them all: which are near the query, most likely?
//!
//! HNSW (Malkov, Yashunin 2016) by usearch, over the rows of one generation of the matrix; a key
//! is the number of a row. It proposes rows; their scores are computed from the matrix, so they
//! are those of the exact scan.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use half::f16;
use memmap2::Mmap;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::error::{Error, Result};
use crate::seal::{self, Draft, Key, Seal};

/// Links a node; 32 in the lowest layer.
const CONNECTIVITY: usize = 16;
/// Candidates looked at where a row is added, and where one is searched.
const EXPANSION_ADD: usize = 128;
const EXPANSION_SEARCH: usize = 256;

/// The graph over one generation's rows.
pub struct Ann {
    // The index reads the map; fields are dropped in this order.
    index: Index,
    _map: Mmap,
    /// usearch refuses more callers at once than it made room for; a search takes about 1 ms.
    one_search: Mutex<()>,
}

impl Ann {
    /// Opens a published graph of so many rows.
    ///
    /// The seal is checked before usearch sees a byte: it trusts what it reads.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the seal does not hold, or it is of other rows; [`Error::System`]
    /// where it cannot be read.
    pub fn open(path: &Path, key: &Key, seal: &Seal, dim: usize, rows: usize) -> Result<Self> {
        let map = seal::open(path, key, seal)?;
        let index = Index::new(&options(dim)).map_err(|error| failed(path, error))?;
        // SAFETY: the bytes are those that usearch wrote, and outlive the index.
        unsafe { index.view_from_buffer(&map) }.map_err(|error| failed(path, error))?;
        if (index.dimensions(), index.size()) != (dim, rows) {
            return Err(Error::Damaged(format!("{}: of other rows", path.display())));
        }
        Ok(Ann {
            index,
            _map: map,
            one_search: Mutex::new(()),
        })
    }

    /// About `count` allowed rows near the query, in no order that matters.
    ///
    /// # Errors
    /// [`Error::System`] where usearch fails.
    pub fn search(
        &self,
        query: &[f32],
        count: usize,
        allowed: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>> {
        let _alone = self
            .one_search
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = count.min(self.index.size());
        let found = self
            .index
            .filtered_search(query, count, |row| allowed(row as usize))
            .map_err(|error| Error::System(format!("usearch: {error}")))?;
        Ok(found.keys.into_iter().map(|row| row as usize).collect())
    }
}

/// Builds the graph of all rows, in their order on one thread, so that equal rows give an equal
/// file; publishes it and returns its seal.
///
/// # Errors
/// [`Error::NoRoom`] or [`Error::System`].
pub fn write(path: &Path, key: &Key, dim: usize, values: &[f16]) -> Result<Seal> {
    let index = Index::new(&options(dim)).map_err(|error| failed(path, error))?;
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
