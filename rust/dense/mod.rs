//! The dense leg: the chunks whose vectors are nearest to a query's.
//!
//! Rows are those of the newest published generation, without the rows of documents that have
//! changed since, and with the present rows of those documents in memory (the tail). So a row is
//! searchable as soon as it is committed, also by a reader. The writer publishes a new generation
//! when the tail has grown; the tail of a generation with a graph is published by itself, so that an
//! edit does not build the graph again. A graph is built only by `publish`, at the end of a build.

mod generation;
mod hnsw;
mod kernels;
mod live_rows;
pub mod matrix;
pub mod scan;
mod source;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub use source::Source;

use crate::error::{Error, Result};
use crate::seal::Key;
use crate::store::Filter;
use generation::{Folder, Generation, VECTORS};
use live_rows::{LiveRows, Tail};
use scan::{Rows, Scored, TopRows, scan};

/// The rows that a scan reads in the time in which a graph search without a filter keeps one
/// candidate. At 50,000 x 384 a graph search that keeps 256 took 1.13 ms of the CPU and a scan 6.11
/// ms, so 36; filters broke even at a share of about 0.45, so 40 (`benches/ann.py`, Xeon at 2.80 GHz).
///
/// A graph search with a filter has to pass 1 / share rows for each allowed one, so it costs
/// `SCANNED_PER_CANDIDATE * candidates / share` scanned rows; a scan costs `share * rows`.
const SCANNED_PER_CANDIDATE: f64 = 40.0;

/// The rows from which the share of allowed ones is estimated: its standard error is below 0.01.
const SAMPLE: usize = 4096;

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
    /// Above `ann_above` rows a graph is built, and searched instead of all rows.
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

    /// Returns whether a search scans every row.
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
            if live.graph().is_some() {
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
    /// it is a fifth of the generation; else all rows as a new generation.
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
            self.publish_tail(store, &live)?;
        }
        Ok(())
    }

    /// Returns the `k` rows of largest inner product with the query; equal products in ascending
    /// order of key.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the query has other dimensions than the rows.
    pub fn search(&self, query: &[f32], k: usize, only: Option<&Filter>) -> Result<Vec<Scored>> {
        let live = self.live();
        if live.dim == 0 || k == 0 {
            return Ok(Vec::new());
        }
        if query.len() != live.dim {
            return Err(Error::Invalid(format!(
                "query: {} values for rows of {}; embed it with the index's model",
                query.len(),
                live.dim
            )));
        }
        let wanted = |doc: i64| only.is_none_or(|only| only.contains(doc));
        let Tail { keys, docs, values } = &*live.tail;
        let tail = scan(
            Rows::F16(values),
            query,
            k,
            |row| wanted(docs[row]),
            |row| keys[row],
        );
        let Some(base) = &live.base else {
            return Ok(tail.into_sorted());
        };
        let (keys, docs) = (base.matrix.keys(), base.matrix.docs());
        let allowed = |row: usize| {
            docs.get(row)
                .is_some_and(|&doc| !live.is_deleted(row) && wanted(doc))
        };
        let found = match &base.graph {
            Some(graph) if only.is_none() || !scan_is_cheaper(docs.len(), k, allowed) => {
                let mut best = TopRows::new(k);
                // All candidates, since they are found by the query in half precision.
                for row in graph.search(query, hnsw::candidates(k), allowed)? {
                    best.push(scan::product(base.matrix.row(row), query), || keys[row]);
                }
                best
            }
            _ => {
                let (rows, key_of) = (Rows::F16(base.matrix.all_values()), |row: usize| keys[row]);
                match only {
                    // Without a filter no row's document is read.
                    None if live.has_deleted() => {
                        scan(rows, query, k, |row| !live.is_deleted(row), key_of)
                    }
                    None => scan(rows, query, k, |_| true, key_of),
                    Some(_) => scan(rows, query, k, allowed, key_of),
                }
            }
        };
        let mut found = tail.merge(found).into_sorted();
        found.truncate(k);
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
        let lacks_graph = self.folder.needs_graph(live.base_rows()) && live.graph().is_none();
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
        for &doc in &changed {
            for vector in store.doc_vectors(doc)? {
                match &vector.bytes {
                    Some(bytes) => live.add(doc, vector.chunk, bytes)?,
                    None => live.add_damaged(doc, &store.uri(doc)?, vector.ordinal),
                }
            }
        }
        live.seq = seq;
        Ok((live, changed.len()))
    }

    /// Returns the rows to apply changes to: the present ones, or those of a newer generation.
    fn newest(&self, store: &impl Source, seq: i64) -> Result<LiveRows> {
        let live = LiveRows::clone(&self.live());
        let pointer = store.derived(VECTORS)?;
        let base = live.base.as_ref().map(|base| &base.pointer);
        let held = base.or(live.refused.as_ref());
        if held == pointer.as_ref() && live.seq <= seq {
            return Ok(live);
        }
        let mut faults = live.faults;
        let Some(pointer) = pointer else {
            return Ok(LiveRows::default().with_faults(faults));
        };
        match self.folder.open(store, &pointer, seq) {
            Ok((base, fault)) => {
                faults.extend(fault);
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

/// Returns whether a scan of the allowed rows costs less than a graph search for `k` of them.
fn scan_is_cheaper(rows: usize, k: usize, allowed: impl Fn(usize) -> bool) -> bool {
    let step = rows.div_ceil(SAMPLE).max(1);
    let sampled = rows.div_ceil(step).max(1);
    let share = (0..rows).step_by(step).filter(|&row| allowed(row)).count() as f64 / sampled as f64;
    share * share * rows as f64 <= SCANNED_PER_CANDIDATE * hnsw::candidates(k) as f64
}

#[cfg(test)]
mod tests;
