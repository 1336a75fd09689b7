//! Generations of published files: the matrix `vectors-<n>.f16`, above a number of rows the graph
//! `ann-<n>.hnsw` over it, and what has changed since the graph was built, the tail
//! `tail-<n>-<sequence number>.f16`.
//!
//! The tail has the format of the matrix, and the rows of the documents that have changed since the
//! matrix; which these are is in the store's change log. So an edit writes a file of the size of the
//! changes, and the graph is built again only when the tail is long.
//!
//! The store has a pointer to each of the files, with its seal. The pointers are set one after the
//! other, so a graph or a tail is used only if its number is that of the matrix.

use std::path::{Path, PathBuf};

use super::hnsw::{self, Hnsw};
use super::matrix::{self, Matrix, Row};
use super::source::Source;
use crate::error::{Error, Result};
use crate::index_folder::IndexFolder;
use crate::seal::Key;
use crate::store::Derived;

/// The name of the pointer to the matrix, and the start of the matrix's file name.
pub(super) const VECTORS: &str = "vectors";
/// The name of the pointer to the graph, and the start of the graph's file name.
const ANN: &str = "ann";
/// The name of the pointer to the tail, and the start of the tail's file name.
pub(super) const TAIL: &str = "tail";

/// An open generation.
pub(super) struct Generation {
    pub(super) pointer: Derived,
    pub(super) matrix: Matrix,
    pub(super) graph: Option<Hnsw>,
}

impl Generation {
    /// Checks all bytes of its files.
    ///
    /// # Errors
    /// [`Error::Damaged`] if one does not match its seal.
    pub(super) fn check(&self) -> Result<()> {
        self.matrix.check()?;
        self.graph.as_ref().map_or(Ok(()), Hnsw::check)
    }

    /// Returns whether a part that was read is not as it was written.
    pub(super) fn is_damaged(&self) -> bool {
        let graph = self.graph.as_ref();
        self.matrix.require_undamaged().is_err()
            || graph.is_some_and(|graph| graph.require_undamaged().is_err())
    }
}

/// The folder with the files of all generations.
#[derive(Clone)]
pub(super) struct Folder {
    path: PathBuf,
    key: Key,
    ann_above: usize,
}

impl Folder {
    /// Returns the folder at a path; a generation of more than `ann_above` rows gets a graph.
    pub(super) fn new(path: &Path, key: Key, ann_above: usize) -> Self {
        Folder {
            path: path.to_owned(),
            key,
            ann_above,
        }
    }

    /// Returns whether a generation of so many rows needs a graph.
    pub(super) fn needs_graph(&self, rows: usize) -> bool {
        rows > self.ann_above
    }

    /// Opens the generation that a pointer names, and returns it with the fault of its graph, if that
    /// cannot be used.
    ///
    /// Codes, rows and lists are checked now if `wholly` is set, else when they are read.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the matrix cannot be used, or reflects another state of the store
    /// than one up to `seq`.
    pub(super) fn open(
        &self,
        store: &impl Source,
        pointer: &Derived,
        seq: i64,
        wholly: bool,
    ) -> Result<(Generation, Vec<String>)> {
        let file = &pointer.file;
        let number = matrix_number(file)
            .ok_or_else(|| Error::Damaged(format!("{file}: not the file name of a generation")))?;
        let matrix = Matrix::open(&self.path.join(file), &self.key, &pointer.seal)?;
        if matrix.seq() != pointer.seq || matrix.seq() > seq {
            return Err(Error::Damaged(format!("{file}: belongs to another store")));
        }
        let graph = match store.derived(ANN)? {
            Some(graph) if graph.file == graph_file(number) => {
                let graph = self.open_graph(&graph, &matrix);
                let checked = |graph: Hnsw| graph.check().map(|()| graph);
                graph
                    .and_then(|graph| if wholly { checked(graph) } else { Ok(graph) })
                    .map(Some)
            }
            // The graph of another generation, whose pointers are being replaced.
            _ => Ok(None),
        };
        let mut faults = Vec::new();
        let graph = graph.unwrap_or_else(|error| {
            faults.push(format!("{error}; all rows are scanned"));
            None
        });
        if wholly {
            matrix.check()?;
        }
        let generation = Generation {
            pointer: pointer.clone(),
            matrix,
            graph,
        };
        Ok((generation, faults))
    }

    /// Opens the tail of a generation, if it has one that is not newer than `seq`.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the tail cannot be used; those of the store.
    pub(super) fn open_tail(
        &self,
        store: &impl Source,
        base: &Generation,
        seq: i64,
    ) -> Result<Option<Matrix>> {
        let number = matrix_number(&base.pointer.file);
        let tail = store.derived(TAIL)?;
        let Some(tail) = tail.filter(|tail| tail_number(&tail.file) == number && tail.seq <= seq)
        else {
            return Ok(None);
        };
        let path = self.path.join(&tail.file);
        if !path.exists() {
            // Replaced since the pointer was read; what it holds is in the store.
            return Ok(None);
        }
        let matrix = Matrix::open(&path, &self.key, &tail.seal)?;
        matrix.check()?;
        if (matrix.seq(), matrix.dim()) != (tail.seq, base.matrix.dim()) {
            return Err(Error::Damaged(format!(
                "{}: belongs to another matrix",
                tail.file
            )));
        }
        Ok(Some(matrix))
    }

    /// Publishes the rows of the documents that have changed since a generation.
    ///
    /// # Errors
    /// [`Error::NoRoom`] or [`Error::System`] if the file cannot be written; those of the store.
    pub(super) fn publish_tail(
        &self,
        store: &impl Source,
        base: &Generation,
        seq: i64,
        rows: &[Row<'_>],
    ) -> Result<()> {
        let dim = base.matrix.dim();
        let number = matrix_number(&base.pointer.file).unwrap_or(0);
        let file = tail_file(number, seq);
        let seal = matrix::write(&self.path.join(&file), &self.key, dim, seq, rows)?;
        store.set_derived(TAIL, Some(&Derived { file, seq, seal }))
    }

    /// Publishes rows, in document order, as a new generation without a graph.
    ///
    /// # Errors
    /// As `publish`.
    pub(super) fn publish_matrix(
        &self,
        store: &impl Source,
        dim: usize,
        seq: i64,
        rows: &[Row<'_>],
    ) -> Result<Generation> {
        let (_, pointer, matrix) = self.write_matrix(dim, seq, rows)?;
        self.finish(store, (pointer, matrix), None)
    }

    /// Publishes rows, in document order, as a new generation, with a graph if there are many, and
    /// points the store to it.
    ///
    /// # Errors
    /// [`Error::NoRoom`] or [`Error::System`] if a file cannot be written; those of the store.
    pub(super) fn publish(
        &self,
        store: &impl Source,
        dim: usize,
        seq: i64,
        rows: &[Row<'_>],
    ) -> Result<Generation> {
        let (number, pointer, matrix) = self.write_matrix(dim, seq, rows)?;
        let graph = self
            .needs_graph(matrix.rows())
            .then(|| self.publish_graph(number, &matrix, seq))
            .transpose()?;
        self.finish(store, (pointer, matrix), graph.as_ref())
    }

    /// Points the store to a new generation and opens it.
    fn finish(
        &self,
        store: &impl Source,
        (pointer, matrix): (Derived, Matrix),
        graph: Option<&Derived>,
    ) -> Result<Generation> {
        point(store, &pointer, graph)?;
        let graph = graph.map(|graph| self.open_graph(graph, &matrix));
        Ok(Generation {
            pointer,
            graph: graph.transpose()?,
            matrix,
        })
    }

    /// Writes the matrix of a new generation; returns the generation's number, and the matrix with
    /// the pointer to it.
    fn write_matrix(
        &self,
        dim: usize,
        seq: i64,
        rows: &[Row<'_>],
    ) -> Result<(u64, Derived, Matrix)> {
        let (index, name) = IndexFolder::of_file(&self.path)?;
        index.make_below(&name)?;
        let numbers = self.files()?.into_iter().map(|(_, number)| number);
        let number = 1 + numbers.max().unwrap_or(0);
        let file = matrix_file(number);
        let path = self.path.join(&file);
        let seal = matrix::write(&path, &self.key, dim, seq, rows)?;
        let matrix = Matrix::open(&path, &self.key, &seal)?;
        matrix.check()?;
        Ok((number, Derived { file, seq, seal }, matrix))
    }

    /// Removes the files of all other generations and tails, including those that a crash left
    /// behind.
    pub(super) fn remove_others(&self, store: &impl Source, kept: &Generation) -> Result<()> {
        let kept = matrix_number(&kept.pointer.file);
        let tail = store.derived(TAIL)?.map(|tail| self.path.join(tail.file));
        for (path, number) in self.files()? {
            let is_tail = name(&path).starts_with(TAIL);
            if Some(number) != kept || (is_tail && tail.as_ref() != Some(&path)) {
                let (folder, file) = IndexFolder::of_file(&path)?;
                match folder.remove(&file) {
                    // Windows does not remove a file that a reader has mapped: it stays until the
                    // next generation.
                    Err(_) if cfg!(windows) => {}
                    removed => removed?,
                }
            }
        }
        Ok(())
    }

    fn open_graph(&self, graph: &Derived, matrix: &Matrix) -> Result<Hnsw> {
        let path = self.path.join(&graph.file);
        Hnsw::open(&path, &self.key, &graph.seal, matrix.rows())
    }

    fn publish_graph(&self, number: u64, matrix: &Matrix, seq: i64) -> Result<Derived> {
        let file = graph_file(number);
        let path = self.path.join(&file);
        let seal = hnsw::write(&path, &self.key, matrix)?;
        Ok(Derived { file, seq, seal })
    }

    /// Returns the files of all generations with their numbers, unfinished files included.
    fn files(&self) -> Result<Vec<(PathBuf, u64)>> {
        let failed = |error| Error::io(&self.path, &error);
        let mut found = Vec::new();
        for entry in self.path.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let file = name(&path);
            let file = file.strip_suffix(".tmp").unwrap_or(file);
            let number = matrix_number(file)
                .or_else(|| number_between(file, ANN, ".hnsw"))
                .or_else(|| tail_number(file));
            found.extend(number.map(|number| (path.clone(), number)));
        }
        Ok(found)
    }
}

/// Points the store to a new generation, which has no tail.
fn point(store: &impl Source, matrix: &Derived, graph: Option<&Derived>) -> Result<()> {
    store.set_derived(VECTORS, Some(matrix))?;
    store.set_derived(ANN, graph)?;
    if store.derived(TAIL)?.is_some() {
        store.set_derived(TAIL, None)?;
    }
    Ok(())
}

fn name(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str());
    name.unwrap_or_default()
}

fn tail_file(number: u64, seq: i64) -> String {
    format!("{TAIL}-{number}-{seq}.f16")
}

/// Returns the number of the generation that a tail belongs to.
fn tail_number(file: &str) -> Option<u64> {
    let numbers = file.strip_prefix(TAIL)?.strip_prefix('-')?;
    let (number, seq) = numbers.strip_suffix(".f16")?.split_once('-')?;
    seq.parse::<i64>().ok()?;
    number.parse().ok()
}

fn matrix_file(number: u64) -> String {
    format!("{VECTORS}-{number}.f16")
}

fn graph_file(number: u64) -> String {
    format!("{ANN}-{number}.hnsw")
}

fn matrix_number(file: &str) -> Option<u64> {
    number_between(file, VECTORS, ".f16")
}

fn number_between(file: &str, start: &str, end: &str) -> Option<u64> {
    let number = file.strip_prefix(start)?.strip_prefix('-')?;
    number.strip_suffix(end)?.parse().ok()
}
