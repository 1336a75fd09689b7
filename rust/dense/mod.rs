//! The dense leg: the chunks whose vectors are nearest to a query's.
//!
//! Rows are those of the newest published generation, without the rows of documents that have
//! changed since, and with the present rows of those documents in memory (the tail). So a row is
//! searchable as soon as it is committed, also by a reader. The writer publishes a new generation
//! when the tail has grown; the tail of a generation with a graph is published by itself, so that an
//! edit does not build the graph again. A graph is built only by `publish`, at the end of a build.
//! Rows without a graph are scanned.

pub mod codes;
mod generation;
mod hnsw;
mod kernels;
mod live_rows;
pub mod matrix;
mod row_set;
pub mod scan;
mod search;
mod source;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub use source::Source;

use crate::error::{Error, Result};
use crate::interrupt;
use crate::seal::Key;
use crate::store::Filter;
use generation::{Folder, Generation, VECTORS};
use live_rows::LiveRows;
use scan::{Scored, Spread};

/// A handle on the vectors in `derived/`; it may be used from several threads.
pub struct Dense {
    folder: Folder,
    write: bool,
    /// One `sync` at a time; searches meanwhile use the rows that they began with.
    syncing: Mutex<()>,
    live: RwLock<Arc<LiveRows>>,
}

impl Dense {
    /// Returns a handle without rows on a folder, which the first publication creates; `sync` loads
    /// the rows.
    ///
    /// Above `ann_above` rows a publication builds a graph. It is searched instead of all rows, unless
    /// a filter leaves so few that a scan of them is faster.
    pub fn open(folder: &Path, key: Key, write: bool, ann_above: usize) -> Self {
        Dense {
            folder: Folder::new(folder, key, ann_above),
            write,
            syncing: Mutex::new(()),
            live: RwLock::default(),
        }
    }

    /// Returns a handle on the rows that this one has now; they stay as they are.
    #[must_use]
    pub fn snapshot_handle(&self) -> Dense {
        Dense {
            folder: self.folder.clone(),
            write: false,
            syncing: Mutex::new(()),
            live: RwLock::new(self.live()),
        }
    }

    /// Returns the store's sequence number that it reflects; 0 before the first `sync`.
    pub fn seq(&self) -> i64 {
        self.live().seq
    }

    /// Returns the number of rows that a search can find.
    pub fn len(&self) -> usize {
        self.live().len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a search finds what a comparison with every row in half precision does.
    pub fn exact(&self) -> bool {
        self.live().graph().is_none()
    }

    /// Returns one line for each derived file that could not be used, with what was done instead,
    /// and for each damaged vector, which is left out.
    pub fn faults(&self) -> Vec<String> {
        self.live().all_faults()
    }

    /// Applies the store's changes and returns the number of documents read. The writer publishes
    /// them, without a graph for the new rows, if much has changed or if a file was damaged.
    ///
    /// # Errors
    /// Those of the store; [`Error::Incompatible`] if rows differ in dimensions; for the writer
    /// [`Error::NoRoom`], after which the rows are searchable all the same.
    pub fn sync(&self, store: &impl Source) -> Result<usize> {
        let _alone = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let (live, read) = self.catch_up(store)?;
        self.set(live);
        let live = self.live();
        if self.publishes(store) && !live.has_damage() {
            if live.graph().is_some() && !live.is_of_another_model() {
                if live.needs_tail() {
                    self.publish_tail(store, &live)?;
                }
            } else if live.is_stale() {
                let rows = live.rows();
                let base = self
                    .folder
                    .publish_matrix(store, live.dim.max(1), live.seq, &rows)?;
                self.switch(store, &live, base)?;
            }
        }
        Ok(read)
    }

    /// Applies the store's changes and publishes them: the tail of a generation with a graph, until
    /// it is a fifth of the generation; else all rows as a new generation. All bytes of the present
    /// files are checked, and damaged ones are made anew.
    ///
    /// # Errors
    /// As `sync`; [`Error::Invalid`] if this is not the writer.
    pub fn publish(&self, store: &impl Source) -> Result<()> {
        if !self.publishes(store) {
            return Err(Error::Invalid(
                "vectors: opened for reading; open the index with write=True to publish them"
                    .into(),
            ));
        }
        let _alone = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let (live, _) = self.catch_up(store)?;
        self.set(live);
        if self.live().check().is_err() {
            // What is published anew is read from the store.
            self.set(self.catch_up(store)?.0);
        }
        let live = self.live();
        if live.has_damage() {
            return Ok(());
        }
        let folds = live.graph().is_none() && live.changed_rows() > 0;
        if folds || self.is_due(&live) {
            let rows = live.rows();
            let base = self
                .folder
                .publish(store, live.dim.max(1), live.seq, &rows)?;
            return self.switch(store, &live, base);
        }
        if live.is_unpublished() {
            return self.publish_tail(store, &live);
        }
        Ok(())
    }

    /// Applies the store's changes, as `sync`, after checking all bytes of the files. A search checks
    /// codes, rows and the lists of a graph as it reads them.
    ///
    /// # Errors
    /// As `sync`. A damaged file is no error but a fault.
    pub fn check(&self, store: &impl Source) -> Result<()> {
        self.sync(store)?;
        match self.live().check() {
            Ok(()) => Ok(()),
            Err(_) => self.sync(store).map(drop),
        }
    }

    /// Returns the `k` rows of largest inner product with the query; equal products in ascending
    /// order of key.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the query has other dimensions than the rows; [`Error::Damaged`] if a
    /// row that was read is not as it was written: the next `sync` reads what a damaged file holds
    /// from the store.
    pub fn search(&self, query: &[f32], k: usize, only: Option<&Filter>) -> Result<Vec<Scored>> {
        let live = self.live();
        if live.dim == 0 || k == 0 {
            return Ok(Vec::new());
        }
        check_dim(query.len(), live.dim)?;
        let mut found = search::nearest(&live, query, k, only)?.into_sorted();
        interrupt::check()?;
        found.truncate(k);
        Ok(found)
    }

    /// Returns for each query of `dim` values the highest score and the mean of all; `None` if there is
    /// a graph, so that a search does not compare a query with every row. All rows are scanned once.
    ///
    /// # Errors
    /// As `search`.
    pub fn spreads(
        &self,
        queries: &[f32],
        dim: usize,
        only: Option<&Filter>,
    ) -> Result<Option<Vec<Spread>>> {
        let live = self.live();
        if live.dim == 0 {
            return Ok(Some(vec![Spread::default(); queries.len() / dim.max(1)]));
        }
        check_dim(dim, live.dim)?;
        let found = search::collect(&live, queries, &Spread::default(), only)?;
        interrupt::check()?;
        Ok(found)
    }

    /// Returns whether this is the writer.
    ///
    /// It publishes nothing while a vector is damaged: the vector's chunk would be missing from then
    /// on without a fault.
    fn publishes(&self, store: &impl Source) -> bool {
        self.write && store.writable()
    }

    /// Returns whether the writer should publish a new generation at the end of a build.
    fn is_due(&self, live: &LiveRows) -> bool {
        let rows = live.base_rows();
        let lacks_graph = self.folder.needs_graph(rows) && live.graph().is_none();
        lacks_graph || live.is_stale()
    }

    fn live(&self) -> Arc<LiveRows> {
        let live = self.live.read();
        Arc::clone(&live.unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, live: LiveRows) {
        let mut current = self.live.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(live);
    }

    /// Returns the present rows, and the number of documents that were read for them.
    fn catch_up(&self, store: &impl Source) -> Result<(LiveRows, usize)> {
        // Before the documents are read: what is committed meanwhile is read again next time.
        let seq = store.seq()?;
        let mut live = self.newest(store, seq)?;
        let changed = store.changed_since(live.seq)?;
        live.remove(&changed);
        // An index of words has no files that say up to which change its vectors are known.
        let read = if store.has_vectors()? {
            changed.len()
        } else {
            0
        };
        for &doc in &changed[..read] {
            for vector in store.doc_vectors(doc)? {
                match &vector.bytes {
                    Some(bytes) => live.add(doc, vector.chunk, bytes)?,
                    None => live.add_damaged(doc, &store.uri(doc)?, vector.ordinal),
                }
            }
        }
        live.seq = seq;
        Ok((live, read))
    }

    /// Returns the rows to apply changes to: the present ones, or those of a newer generation.
    fn newest(&self, store: &impl Source, seq: i64) -> Result<LiveRows> {
        let live = LiveRows::clone(&self.live());
        let pointer = store.derived(VECTORS)?;
        let base = live.base.as_ref().map(|base| &base.pointer);
        let held = base.or(live.refused.as_ref());
        let damaged = live.base.as_ref().is_some_and(|base| base.is_damaged());
        if held == pointer.as_ref() && live.seq <= seq && !damaged {
            return Ok(live);
        }
        let mut faults = live.faults;
        let Some(pointer) = pointer else {
            return Ok(LiveRows::default().with_faults(faults));
        };
        match self.folder.open(store, &pointer, seq, damaged) {
            Ok((base, found)) => {
                faults.extend(found);
                self.with_tail(store, LiveRows::of(base).with_faults(faults), seq)
            }
            // The writer may have replaced it since the pointer was read.
            Err(_) if store.derived(VECTORS)?.as_ref() != Some(&pointer) => {
                self.newest(store, store.seq()?)
            }
            Err(error) => {
                faults.push(format!("{error}; rows are read from the store"));
                Ok(LiveRows::refusing(pointer).with_faults(faults))
            }
        }
    }

    /// Returns the rows of a generation with those of its tail, if it has one that can be used.
    fn with_tail(&self, store: &impl Source, mut live: LiveRows, seq: i64) -> Result<LiveRows> {
        let Some(base) = live.base.clone() else {
            return Ok(live);
        };
        match self.folder.open_tail(store, &base, seq) {
            Ok(None) => {}
            Ok(Some(tail)) => live.add_tail(&tail, &store.changed_since(live.seq)?),
            Err(error) => {
                live.faults
                    .push(format!("{error}; its rows are read from the store"));
                live.refuses_tail = true;
            }
        }
        Ok(live)
    }

    /// Publishes the tail, and removes the one before.
    fn publish_tail(&self, store: &impl Source, live: &LiveRows) -> Result<()> {
        let Some(base) = &live.base else {
            return Ok(());
        };
        let rows = live.tail_rows();
        self.folder.publish_tail(store, base, live.seq, &rows)?;
        self.set(live.clone().published());
        self.folder.remove_others(store, base)
    }

    /// Switches to a new generation of the same rows, and removes the older ones.
    fn switch(&self, store: &impl Source, live: &LiveRows, base: Generation) -> Result<()> {
        let mut published = LiveRows::of(base).with_faults(live.faults.clone());
        published.dim = live.dim;
        self.set(published);
        match &self.live().base {
            Some(base) => self.folder.remove_others(store, base),
            None => Ok(()),
        }
    }
}

fn check_dim(query: usize, rows: usize) -> Result<()> {
    if query != rows {
        return Err(Error::Invalid(format!(
            "query: {query} values for rows of {rows}; embed it with the index's model"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
