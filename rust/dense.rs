//! Here is a query's vector: which chunks lie nearest?
//!
//! Rows are those of the newest published generation, less the documents that have changed since
//! (dead), and with what the store says of those (the tail, in memory). So a row is searchable as
//! soon as it is committed, and a reader needs no writer. The writer folds the tail into a new
//! generation when it has grown.

pub mod matrix;
pub mod scan;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use half::f16;

use crate::ann::{self, Ann};
use crate::error::{Error, Result};
use crate::seal::Key;
use crate::store::{Derived, Filter, Store};
use matrix::{Matrix, Row};
use scan::{Best, Rows, Scored, scan};

/// Fewer changed rows than this are scanned from memory; above, from a fifth of the matrix on, a
/// new generation is published: they are read from the store at each start, row by row, where a
/// published matrix is mapped. The number is a guess at where that begins to be felt.
const TAIL: usize = 4096;
/// Below this share of allowed rows the scan of those alone is exact, and faster than a graph
/// that has to be walked past 20 forbidden rows for each allowed one.
const SELECTIVE: f64 = 0.05;

/// What [`Dense`] asks of the store.
pub trait Source {
    /// The sequence number of the last committed change.
    fn seq(&self) -> Result<i64>;
    /// Documents put, changed or removed after `seq`, ascending, each once.
    fn changed_since(&self, seq: i64) -> Result<Vec<i64>>;
    /// `(chunk key, f16 little-endian bytes)` of a document's embedded chunks.
    fn doc_vectors(&self, doc: i64) -> Result<Vec<(i64, Vec<u8>)>>;
    /// The published derived file of that name.
    fn derived(&self, name: &str) -> Result<Option<Derived>>;
    /// Points a name at a published file, or (None) at nothing.
    fn set_derived(&self, name: &str, derived: Option<&Derived>) -> Result<()>;
    /// Is this handle the writer?
    fn writable(&self) -> bool;
}

impl Source for Store {
    fn seq(&self) -> Result<i64> {
        Store::seq(self)
    }
    fn changed_since(&self, seq: i64) -> Result<Vec<i64>> {
        Store::changed_since(self, seq)
    }
    fn doc_vectors(&self, doc: i64) -> Result<Vec<(i64, Vec<u8>)>> {
        Store::doc_vectors(self, doc)
    }
    fn derived(&self, name: &str) -> Result<Option<Derived>> {
        Store::derived(self, name)
    }
    fn set_derived(&self, name: &str, derived: Option<&Derived>) -> Result<()> {
        Store::set_derived(self, name, derived)
    }
    fn writable(&self) -> bool {
        Store::writable(self)
    }
}

/// The handle on the vectors in `derived/`.
pub struct Dense {
    folder: PathBuf,
    key: Key,
    write: bool,
    ann_above: usize,
    /// One `sync` at a time; searches go on with the rows they began with.
    syncing: Mutex<()>,
    state: RwLock<Arc<State>>,
}

/// The rows as of one sequence number.
#[derive(Clone, Default)]
struct State {
    base: Option<Arc<Base>>,
    /// Rows of the base that are no longer true, as a bitmap, and how many.
    dead: Vec<u64>,
    dead_rows: usize,
    tail: Arc<Tail>,
    /// 0 until a row is known.
    dim: usize,
    seq: i64,
    /// The file that could not be used: the writer replaces it, nobody reads it again.
    refused: Option<Derived>,
    faults: Vec<String>,
}

/// A published generation.
struct Base {
    pointer: Derived,
    matrix: Matrix,
    ann: Option<Ann>,
}

/// Rows read from the store, document by document.
#[derive(Clone, Default)]
struct Tail {
    keys: Vec<i64>,
    docs: Vec<i64>,
    values: Vec<f16>,
}

impl Dense {
    /// A handle on `folder`, which is made by the first publication; `sync` fills it.
    ///
    /// Above `ann_above` rows a graph is built, and searched instead of all rows.
    pub fn open(folder: &Path, key: Key, write: bool, ann_above: usize) -> Self {
        Dense {
            folder: folder.to_owned(),
            key,
            write,
            ann_above,
            syncing: Mutex::new(()),
            state: RwLock::default(),
        }
    }

    /// The store's sequence number it reflects; 0 before the first `sync`.
    pub fn seq(&self) -> i64 {
        self.state().seq
    }

    /// How many rows can be found.
    pub fn len(&self) -> usize {
        self.state().len()
    }

    /// Can none be found?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does a search scan every row?
    pub fn exact(&self) -> bool {
        self.state().ann().is_none()
    }

    /// Derived files that could not be used, each with what was done instead.
    pub fn faults(&self) -> Vec<String> {
        self.state().faults.clone()
    }

    /// Brings it up to the store and returns how many documents were read. The writer publishes a
    /// new generation where much has changed, or where the last one was damaged.
    ///
    /// # Errors
    /// Those of the store; [`Error::Incompatible`] where rows differ in dimensions; for the writer
    /// [`Error::NoRoom`], with the rows searchable nevertheless.
    pub fn sync(&self, store: &impl Source) -> Result<usize> {
        let _alone = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, read) = self.catch_up(store)?;
        self.set(state);
        let state = self.state();
        if self.publishes(store) && state.is_stale(self.ann_above) {
            self.fold(store, &state)?;
        }
        Ok(read)
    }

    /// Brings it up to the store and, for the writer, folds all rows into a published generation.
    ///
    /// # Errors
    /// As `sync`; [`Error::Invalid`] where this is not the writer.
    pub fn publish(&self, store: &impl Source) -> Result<()> {
        if !self.publishes(store) {
            return Err(Error::Invalid(
                "vectors: only the writer publishes them".into(),
            ));
        }
        let _alone = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, _) = self.catch_up(store)?;
        self.set(state);
        let state = self.state();
        if state.changed_rows() > 0 || state.is_stale(self.ann_above) {
            self.fold(store, &state)?;
        }
        Ok(())
    }

    /// The `k` rows of largest inner product with the query; equal products by smaller key.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the query has other dimensions than the rows.
    pub fn search(&self, query: &[f32], k: usize, only: Option<&Filter>) -> Result<Vec<Scored>> {
        let state = self.state();
        if state.dim == 0 || k == 0 {
            return Ok(Vec::new());
        }
        if query.len() != state.dim {
            return Err(Error::Invalid(format!(
                "query: {} values for rows of {}; embed it with the index's model",
                query.len(),
                state.dim
            )));
        }
        let wanted = |doc: i64| only.is_none_or(|only| only.contains(doc));
        let Tail { keys, docs, values } = &*state.tail;
        let tail = scan(Rows::F16(values), query, k, |row| {
            wanted(docs[row]).then_some(keys[row])
        });
        let Some(base) = &state.base else {
            return Ok(tail.into_sorted());
        };
        let (keys, docs) = (base.matrix.keys(), base.matrix.docs());
        let allowed = |row: usize| {
            docs.get(row)
                .is_some_and(|&doc| !state.is_dead(row) && wanted(doc))
        };
        let found = match &base.ann {
            Some(ann) if only.is_none() || share(docs.len(), allowed) >= SELECTIVE => {
                let mut best = Best::new(k);
                for row in ann.search(query, k, allowed)? {
                    best.push(scan::product(base.matrix.row(row), query), || keys[row]);
                }
                best
            }
            _ => scan(Rows::F16(base.matrix.all_values()), query, k, |row| {
                allowed(row).then(|| keys[row])
            }),
        };
        let mut found = tail.merge(found).into_sorted();
        found.truncate(k);
        Ok(found)
    }

    fn publishes(&self, store: &impl Source) -> bool {
        self.write && store.writable()
    }

    fn state(&self) -> Arc<State> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// The rows as of now, and how many documents were read for them.
    fn catch_up(&self, store: &impl Source) -> Result<(State, usize)> {
        // Before the documents are read: what is committed meanwhile is read again next time.
        let seq = store.seq()?;
        let mut state = self.newest(store, seq)?;
        let changed = store.changed_since(state.seq)?;
        state.forget(&changed);
        for &doc in &changed {
            for (key, bytes) in store.doc_vectors(doc)? {
                state.add(doc, key, &bytes)?;
            }
        }
        state.seq = seq;
        Ok((state, changed.len()))
    }

    /// The state to go on from: the present one, or that of a generation published since.
    fn newest(&self, store: &impl Source, seq: i64) -> Result<State> {
        let state = State::clone(&self.state());
        let pointer = store.derived(VECTORS)?;
        let held = state
            .base
            .as_ref()
            .map(|base| &base.pointer)
            .or(state.refused.as_ref());
        if held == pointer.as_ref() && state.seq <= seq {
            return Ok(state);
        }
        let mut faults = state.faults;
        let Some(pointer) = pointer else {
            return Ok(State {
                faults,
                ..State::default()
            });
        };
        match self.load(store, &pointer, seq) {
            Ok((base, fault)) => {
                faults.extend(fault);
                Ok(State {
                    faults,
                    ..State::of(base)
                })
            }
            // The writer may have replaced it since the pointer was read.
            Err(_) if store.derived(VECTORS)?.as_ref() != Some(&pointer) => {
                self.newest(store, store.seq()?)
            }
            Err(error) => {
                faults.push(format!("{error}; rows are read from the store"));
                Ok(State {
                    faults,
                    refused: Some(pointer),
                    ..State::default()
                })
            }
        }
    }

    /// Opens a generation, and says what is wrong with its graph.
    fn load(
        &self,
        store: &impl Source,
        pointer: &Derived,
        seq: i64,
    ) -> Result<(Base, Option<String>)> {
        let generation = generation(&pointer.file, VECTORS, "f16").ok_or_else(|| {
            Error::Damaged(format!("{}: not the name of a generation", pointer.file))
        })?;
        let matrix = Matrix::open(&self.folder.join(&pointer.file), &self.key, &pointer.seal)?;
        if matrix.seq() != pointer.seq || matrix.seq() > seq {
            return Err(Error::Damaged(format!(
                "{}: of another store",
                pointer.file
            )));
        }
        let ann = match store.derived(ANN)? {
            Some(graph) if graph.file == name(ANN, generation, "usearch") => {
                let path = self.folder.join(&graph.file);
                Ann::open(&path, &self.key, &graph.seal, matrix.dim(), matrix.rows()).map(Some)
            }
            // Another generation's: the pointers are set one after the other.
            _ => Ok(None),
        };
        let (ann, fault) = match ann {
            Ok(ann) => (ann, None),
            Err(error) => (None, Some(format!("{error}; all rows are scanned"))),
        };
        Ok((
            Base {
                pointer: pointer.clone(),
                matrix,
                ann,
            },
            fault,
        ))
    }

    /// Publishes all rows as a new generation, goes over to it, and removes the older ones.
    fn fold(&self, store: &impl Source, state: &State) -> Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|error| Error::io(&self.folder, &error))?;
        let generation = 1 + self
            .generations()?
            .into_iter()
            .map(|(_, number)| number)
            .max()
            .unwrap_or(0);
        let file = name(VECTORS, generation, "f16");
        let path = self.folder.join(&file);
        let seal = matrix::write(&path, &self.key, state.dim.max(1), state.seq, &state.rows())?;
        let pointer = Derived {
            file,
            seq: state.seq,
            seal,
        };
        let matrix = Matrix::open(&path, &self.key, &seal)?;
        let graph = self.graph(generation, &matrix, state.seq)?;
        store.set_derived(VECTORS, Some(&pointer))?;
        store.set_derived(ANN, graph.as_ref())?;
        let ann = graph
            .map(|graph| {
                let path = self.folder.join(&graph.file);
                Ann::open(&path, &self.key, &graph.seal, matrix.dim(), matrix.rows())
            })
            .transpose()?;
        let faults = state.faults.clone();
        let folded = State::of(Base {
            pointer,
            matrix,
            ann,
        });
        self.set(State {
            faults,
            dim: state.dim,
            ..folded
        });
        for (path, number) in self.generations()? {
            if number != generation {
                std::fs::remove_file(&path).map_err(|error| Error::io(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Publishes the graph of a matrix that is large enough for one.
    fn graph(&self, generation: u64, matrix: &Matrix, seq: i64) -> Result<Option<Derived>> {
        if matrix.rows() <= self.ann_above {
            return Ok(None);
        }
        let file = name(ANN, generation, "usearch");
        let path = self.folder.join(&file);
        let seal = ann::write(&path, &self.key, matrix.dim(), matrix.all_values())?;
        Ok(Some(Derived { file, seq, seal }))
    }

    /// The files of all generations, those left behind by a crash included.
    fn generations(&self) -> Result<Vec<(PathBuf, u64)>> {
        let failed = |error| Error::io(&self.folder, &error);
        let mut found = Vec::new();
        for entry in self.folder.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let file = path
                .file_name()
                .and_then(|file| file.to_str())
                .unwrap_or_default();
            let file = file.strip_suffix(".tmp").unwrap_or(file);
            let number =
                generation(file, VECTORS, "f16").or_else(|| generation(file, ANN, "usearch"));
            found.extend(number.map(|number| (path.clone(), number)));
        }
        Ok(found)
    }
}

/// The names of the pointers, and what their files begin with.
const VECTORS: &str = "vectors";
const ANN: &str = "ann";

fn name(kind: &str, generation: u64, ending: &str) -> String {
    format!("{kind}-{generation}.{ending}")
}

fn generation(file: &str, kind: &str, ending: &str) -> Option<u64> {
    let number = file
        .strip_prefix(kind)?
        .strip_prefix('-')?
        .strip_suffix(ending)?;
    number.strip_suffix('.')?.parse().ok()
}

/// How much of the rows is allowed.
fn share(rows: usize, allowed: impl Fn(usize) -> bool) -> f64 {
    (0..rows).filter(|&row| allowed(row)).count() as f64 / rows.max(1) as f64
}

impl State {
    fn of(base: Base) -> Self {
        State {
            dead: vec![0; base.matrix.rows().div_ceil(64)],
            dim: if base.matrix.rows() > 0 {
                base.matrix.dim()
            } else {
                0
            },
            seq: base.matrix.seq(),
            base: Some(Arc::new(base)),
            ..State::default()
        }
    }

    fn base_rows(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.matrix.rows())
    }

    fn len(&self) -> usize {
        self.base_rows() - self.dead_rows + self.tail.keys.len()
    }

    fn ann(&self) -> Option<&Ann> {
        self.base.as_ref()?.ann.as_ref()
    }

    fn changed_rows(&self) -> usize {
        self.dead_rows + self.tail.keys.len()
    }

    /// Should the writer publish a new generation?
    fn is_stale(&self, ann_above: usize) -> bool {
        let repaired = self.refused.is_some();
        let graph = self.base_rows() > ann_above && self.ann().is_none();
        repaired || graph || self.changed_rows() > TAIL.max(self.base_rows() / 5)
    }

    fn is_dead(&self, row: usize) -> bool {
        self.dead[row / 64] >> (row % 64) & 1 == 1
    }

    /// Drops the rows of these documents, which ascend.
    fn forget(&mut self, docs: &[i64]) {
        let base = self.base.clone();
        let rows = base.as_ref().map_or(&[][..], |base| base.matrix.docs());
        for &doc in docs {
            let first = rows.partition_point(|&other| other < doc);
            for row in first..first + rows[first..].partition_point(|&other| other == doc) {
                self.dead_rows += usize::from(!self.is_dead(row));
                self.dead[row / 64] |= 1 << (row % 64);
            }
        }
        if self
            .tail
            .docs
            .iter()
            .any(|doc| docs.binary_search(doc).is_ok())
        {
            self.tail = Arc::new(self.tail.without(docs, self.dim));
        }
    }

    fn add(&mut self, doc: i64, key: i64, bytes: &[u8]) -> Result<()> {
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
        let tail = Arc::make_mut(&mut self.tail);
        tail.keys.push(key);
        tail.docs.push(doc);
        tail.values
            .extend(values.iter().map(|&value| f16::from_le_bytes(value)));
        Ok(())
    }

    /// All rows that can be found, in document order.
    fn rows(&self) -> Vec<Row<'_>> {
        let Tail { keys, docs, values } = &*self.tail;
        let tail = values
            .chunks_exact(self.dim.max(1))
            .zip(keys.iter().zip(docs));
        let mut rows: Vec<Row<'_>> = tail
            .map(|(values, (&key, &doc))| Row { key, doc, values })
            .collect();
        if let Some(base) = &self.base {
            let (keys, docs) = (base.matrix.keys(), base.matrix.docs());
            let alive = (0..keys.len()).filter(|&row| !self.is_dead(row));
            rows.extend(alive.map(|row| Row {
                key: keys[row],
                doc: docs[row],
                values: base.matrix.row(row),
            }));
        }
        // All rows of a document lie in one of the two, and in order: the sort is stable.
        rows.sort_by_key(|row| row.doc);
        rows
    }
}

impl Tail {
    /// The rows of all but these documents, which ascend.
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

#[cfg(test)]
mod tests;
