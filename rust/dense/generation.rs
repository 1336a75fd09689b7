//! Generations of published files: the matrix `vectors-<n>.f16`, and above a number of rows the
//! graph `ann-<n>.usearch` over it.
//!
//! The store has a pointer to each of the two files, with its seal. The pointers are set one after
//! the other, so a graph is used only if its number is that of the matrix.

use std::path::{Path, PathBuf};

use super::hnsw::{self, Hnsw};
use super::matrix::{self, Matrix, Row};
use super::source::Source;
use crate::error::{Error, Result};
use crate::seal::Key;
use crate::store::Derived;

/// The name of the pointer to the matrix, and the start of the matrix's file name.
pub(super) const VECTORS: &str = "vectors";
/// The name of the pointer to the graph, and the start of the graph's file name.
const ANN: &str = "ann";

/// An open generation.
pub(super) struct Generation {
    pub(super) pointer: Derived,
    pub(super) matrix: Matrix,
    pub(super) graph: Option<Hnsw>,
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

    /// Opens the generation that a pointer names, and returns it with the fault of its graph, if
    /// the graph cannot be used.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the matrix cannot be used, or reflects another state of the store
    /// than one up to `seq`.
    pub(super) fn open(
        &self,
        store: &impl Source,
        pointer: &Derived,
        seq: i64,
    ) -> Result<(Generation, Option<String>)> {
        let file = &pointer.file;
        let number = matrix_number(file)
            .ok_or_else(|| Error::Damaged(format!("{file}: not the file name of a generation")))?;
        let matrix = Matrix::open(&self.path.join(file), &self.key, &pointer.seal)?;
        if matrix.seq() != pointer.seq || matrix.seq() > seq {
            return Err(Error::Damaged(format!("{file}: belongs to another store")));
        }
        let graph = match store.derived(ANN)? {
            Some(graph) if graph.file == graph_file(number) => {
                self.open_graph(&graph, &matrix).map(Some)
            }
            // The graph of another generation, whose pointers are being replaced.
            _ => Ok(None),
        };
        let (graph, fault) = match graph {
            Ok(graph) => (graph, None),
            Err(error) => (None, Some(format!("{error}; all rows are scanned"))),
        };
        let generation = Generation {
            pointer: pointer.clone(),
            matrix,
            graph,
        };
        Ok((generation, fault))
    }

    /// Publishes rows, in document order, as a new generation, and points the store to it.
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
        std::fs::create_dir_all(&self.path).map_err(|error| Error::io(&self.path, &error))?;
        let numbers = self.files()?.into_iter().map(|(_, number)| number);
        let number = 1 + numbers.max().unwrap_or(0);
        let file = matrix_file(number);
        let path = self.path.join(&file);
        let seal = matrix::write(&path, &self.key, dim, seq, rows)?;
        let matrix = Matrix::open(&path, &self.key, &seal)?;
        let pointer = Derived { file, seq, seal };
        let graph = self
            .needs_graph(matrix.rows())
            .then(|| self.publish_graph(number, &matrix, seq))
            .transpose()?;
        store.set_derived(VECTORS, Some(&pointer))?;
        store.set_derived(ANN, graph.as_ref())?;
        let graph = graph
            .map(|graph| self.open_graph(&graph, &matrix))
            .transpose()?;
        Ok(Generation {
            pointer,
            matrix,
            graph,
        })
    }

    /// Removes the files of all other generations, including those that a crash left behind.
    pub(super) fn remove_others(&self, kept: &Generation) -> Result<()> {
        let kept = matrix_number(&kept.pointer.file);
        for (path, number) in self.files()? {
            if Some(number) != kept {
                match std::fs::remove_file(&path) {
                    // Windows does not remove a file that a reader has mapped: it stays until the
                    // next generation.
                    Err(_) if cfg!(windows) => {}
                    removed => removed.map_err(|error| Error::io(&path, &error))?,
                }
            }
        }
        Ok(())
    }

    fn open_graph(&self, graph: &Derived, matrix: &Matrix) -> Result<Hnsw> {
        let path = self.path.join(&graph.file);
        Hnsw::open(&path, &self.key, &graph.seal, matrix.dim(), matrix.rows())
    }

    fn publish_graph(&self, number: u64, matrix: &Matrix, seq: i64) -> Result<Derived> {
        let file = graph_file(number);
        let path = self.path.join(&file);
        let seal = hnsw::write(&path, &self.key, matrix.dim(), matrix.all_values())?;
        Ok(Derived { file, seq, seal })
    }

    /// Returns the files of all generations with their numbers, unfinished files included.
    fn files(&self) -> Result<Vec<(PathBuf, u64)>> {
        let failed = |error| Error::io(&self.path, &error);
        let mut found = Vec::new();
        for entry in self.path.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let file = path
                .file_name()
                .and_then(|file| file.to_str())
                .unwrap_or_default();
            let file = file.strip_suffix(".tmp").unwrap_or(file);
            let number = matrix_number(file).or_else(|| number_between(file, ANN, ".usearch"));
            found.extend(number.map(|number| (path.clone(), number)));
        }
        Ok(found)
    }
}

fn matrix_file(number: u64) -> String {
    format!("{VECTORS}-{number}.f16")
}

fn graph_file(number: u64) -> String {
    format!("{ANN}-{number}.usearch")
}

fn matrix_number(file: &str) -> Option<u64> {
    number_between(file, VECTORS, ".f16")
}

fn number_between(file: &str, start: &str, end: &str) -> Option<u64> {
    let number = file.strip_prefix(start)?.strip_prefix('-')?;
    number.strip_suffix(end)?.parse().ok()
}
