//! The rows that a search can find, at one sequence number: a published generation, a bitmap of
//! its deleted rows, and the newer rows in memory.

use std::sync::Arc;

use half::f16;

use super::generation::Generation;
use super::hnsw::Hnsw;
use super::matrix::{Matrix, Row};
use super::row_set::RowSet;
use crate::error::{Error, Result};
use crate::store::{Derived, Filter};

/// The number of changed rows from which a new generation is published, or a fifth of the matrix
/// if that is more. Changed rows are read from the store one by one at each start; published rows
/// are mapped. The number is an estimate of when that difference becomes noticeable.
pub(super) const MAX_CHANGED: usize = 4096;

/// The rows that a search can find, at one sequence number.
#[derive(Clone, Default)]
pub(super) struct LiveRows {
    pub(super) base: Option<Arc<Generation>>,
    /// The deleted rows of the base.
    deleted: RowSet,
    pub(super) tail: Arc<Tail>,
    /// The number of changed documents and added rows that no published file reflects.
    unpublished: usize,
    /// Whether the published tail cannot be used; the writer replaces it.
    pub(super) refuses_tail: bool,
    /// 0 until there is a row.
    pub(super) dim: usize,
    pub(super) seq: i64,
    /// A published file that cannot be used; the writer replaces it.
    pub(super) refused: Option<Derived>,
    pub(super) faults: Vec<String>,
    /// The documents of the damaged vectors that were left out, each with a line about the vector.
    damaged: Vec<(i64, String)>,
}

/// Rows that were read from the store, document by document.
#[derive(Clone, Default)]
pub(super) struct Tail {
    pub(super) keys: Vec<i64>,
    pub(super) docs: Vec<i64>,
    pub(super) values: Vec<f16>,
}

impl LiveRows {
    /// Returns the rows of a generation.
    pub(super) fn of(base: Generation) -> Self {
        let rows = base.matrix.rows();
        LiveRows {
            deleted: RowSet::none(rows),
            dim: if rows > 0 { base.matrix.dim() } else { 0 },
            seq: base.matrix.seq(),
            base: Some(Arc::new(base)),
            ..LiveRows::default()
        }
    }

    /// Returns no rows, because a published file cannot be used.
    pub(super) fn refusing(pointer: Derived) -> Self {
        LiveRows {
            refused: Some(pointer),
            ..LiveRows::default()
        }
    }

    /// Returns the same rows with these faults.
    pub(super) fn with_faults(self, faults: Vec<String>) -> Self {
        LiveRows { faults, ..self }
    }

    pub(super) fn base_rows(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.matrix.rows())
    }

    /// Returns the base, unless all of its rows are deleted: those of the tail may be another model's.
    pub(super) fn searched_base(&self) -> Option<&Generation> {
        self.base
            .as_deref()
            .filter(|base| self.deleted.len() < base.matrix.rows())
    }

    fn base_dim(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.matrix.dim())
    }

    /// Returns the number of rows that a search can find.
    pub(super) fn len(&self) -> usize {
        self.base_rows() - self.deleted.len() + self.tail.keys.len()
    }

    pub(super) fn graph(&self) -> Option<&Hnsw> {
        self.base.as_ref()?.graph.as_ref()
    }

    /// Returns the number of rows that differ from the published generation.
    pub(super) fn changed_rows(&self) -> usize {
        self.deleted.len() + self.tail.keys.len()
    }

    /// Returns whether a published file lacks a change, or the tail is unusable.
    pub(super) fn is_unpublished(&self) -> bool {
        self.unpublished > 0 || self.refuses_tail
    }

    /// Returns whether so much is unpublished that a tail is due without a request.
    pub(super) fn needs_tail(&self) -> bool {
        self.refuses_tail || self.unpublished > MAX_CHANGED.max(self.changed_rows() / 5)
    }

    /// Returns the same rows, all published.
    pub(super) fn published(self) -> Self {
        LiveRows {
            unpublished: 0,
            refuses_tail: false,
            ..self
        }
    }

    /// Adds the rows of a published tail; `changed` are the documents that have changed since the
    /// base.
    pub(super) fn add_tail(&mut self, tail: &Matrix, changed: &[i64]) {
        self.remove(changed);
        self.tail = Arc::new(Tail {
            keys: tail.keys().to_vec(),
            docs: tail.docs().to_vec(),
            values: tail.all_values().to_vec(),
        });
        if tail.rows() > 0 {
            self.dim = tail.dim();
        }
        self.seq = tail.seq();
        self.unpublished = 0;
    }

    /// Returns whether so much has changed that a new generation is due, or a file is unusable.
    pub(super) fn is_stale(&self) -> bool {
        let changed = self.changed_rows() > MAX_CHANGED.max(self.base_rows() / 5);
        self.refused.is_some() || self.is_of_another_model() || changed
    }

    /// Returns whether the rows are another model's, after all of the base's were removed.
    pub(super) fn is_of_another_model(&self) -> bool {
        self.base_rows() > 0 && self.base_dim() != self.dim
    }

    /// Returns whether any row of the base is deleted.
    pub(super) fn has_deleted(&self) -> bool {
        self.deleted.len() > 0
    }

    /// Returns the rows of a base that a search may find; `None` if these are all.
    pub(super) fn allowed_in(&self, base: &Matrix, only: Option<&Filter>) -> Option<RowSet> {
        let Some(only) = only else {
            return self.has_deleted().then(|| {
                let mut allowed = RowSet::all(base.rows());
                allowed.remove(&self.deleted);
                allowed
            });
        };
        let mut allowed = RowSet::none(base.rows());
        for (_, rows) in base.documents().filter(|(doc, _)| only.contains(*doc)) {
            allowed.insert(rows);
        }
        allowed.remove(&self.deleted);
        Some(allowed)
    }

    /// Removes the rows of these documents, which are in ascending order.
    pub(super) fn remove(&mut self, docs: &[i64]) {
        self.unpublished += docs.len();
        let base = self.base.clone();
        let rows = base.as_ref().map_or(&[][..], |base| base.matrix.docs());
        for &doc in docs {
            let first = rows.partition_point(|&other| other < doc);
            let count = rows[first..].partition_point(|&other| other == doc);
            self.deleted.insert(first..first + count);
        }
        let removed = |doc: &i64| docs.binary_search(doc).is_ok();
        self.damaged.retain(|(doc, _)| !removed(doc));
        if self.tail.docs.iter().any(removed) {
            self.tail = Arc::new(self.tail.without(docs, self.dim));
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if it has another number of dimensions than the others.
    pub(super) fn add(&mut self, doc: i64, key: i64, bytes: &[u8]) -> Result<()> {
        let (values, odd) = bytes.as_chunks::<2>();
        if self.len() == 0 {
            self.dim = values.len();
        }
        if values.len() != self.dim || !odd.is_empty() || values.is_empty() {
            return Err(Error::Incompatible(format!(
                "vectors: rows of {} and of {} values in one index; index it again with one model",
                self.dim,
                values.len()
            )));
        }
        self.unpublished += 1;
        let tail = Arc::make_mut(&mut self.tail);
        tail.keys.push(key);
        tail.docs.push(doc);
        tail.values
            .extend(values.iter().map(|&value| f16::from_le_bytes(value)));
        Ok(())
    }

    /// Notes a damaged vector of a chunk, which has no row.
    pub(super) fn add_damaged(&mut self, doc: i64, uri: &str, ordinal: u32) {
        let line = format!(
            "{uri}: the vector of chunk {ordinal} is damaged, so only BM25 finds this chunk; \
             `crx verify` embeds it again"
        );
        self.damaged.push((doc, line));
    }

    /// Returns whether a vector is left out because it is damaged.
    pub(super) fn has_damage(&self) -> bool {
        !self.damaged.is_empty()
    }

    /// Returns the faults of files and of vectors.
    pub(super) fn all_faults(&self) -> Vec<String> {
        let damaged = self.damaged.iter().map(|(_, line)| line);
        self.faults.iter().chain(damaged).cloned().collect()
    }

    /// Checks all bytes of the base.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a file does not match its seal.
    pub(super) fn check(&self) -> Result<()> {
        self.base.as_ref().map_or(Ok(()), |base| base.check())
    }

    /// Returns the rows of the tail, in document order.
    pub(super) fn tail_rows(&self) -> Vec<Row<'_>> {
        let Tail { keys, docs, values } = &*self.tail;
        let tail = values
            .chunks_exact(self.dim.max(1))
            .zip(keys.iter().zip(docs));
        let mut rows: Vec<Row<'_>> = tail
            .map(|(values, (&key, &doc))| Row { key, doc, values })
            .collect();
        // A stable sort keeps the order of the rows of a document.
        rows.sort_by_key(|row| row.doc);
        rows
    }

    /// Returns all live rows, in document order, which must have been checked.
    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = self.tail_rows();
        if let Some(base) = &self.base {
            let (keys, docs) = (base.matrix.keys(), base.matrix.docs());
            let live = (0..keys.len()).filter(|&row| !self.deleted.contains(row));
            rows.extend(live.map(|row| Row {
                key: keys[row],
                doc: docs[row],
                values: base.matrix.row(row),
            }));
        }
        // The rows of one document are all in the base or all in the tail; a stable sort keeps
        // their order.
        rows.sort_by_key(|row| row.doc);
        rows
    }
}

impl Tail {
    /// Returns the rows of all but these documents, which are in ascending order.
    fn without(&self, docs: &[i64], dim: usize) -> Tail {
        let mut kept = Tail::default();
        for (row, &doc) in self.docs.iter().enumerate() {
            if docs.binary_search(&doc).is_err() {
                kept.keys.push(self.keys[row]);
                kept.docs.push(doc);
                kept.values
                    .extend_from_slice(&self.values[row * dim..][..dim]);
            }
        }
        kept
    }
}
