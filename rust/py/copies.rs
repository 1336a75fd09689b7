//! Python bindings of near-duplicates.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use super::chunk_row::ChunkRow;
use super::error::raise;
use crate::copies::Candidate;

/// A text, the whole that it is a part of, and what is said about its document.
type Row = (PyBackedStr, PyBackedStr, PyBackedStr);

/// Returns for each text the number of the first one that it copies, or its own.
#[pyfunction]
#[pyo3(signature = (query, rows, *, share))]
fn find_originals(py: Python<'_>, query: &str, rows: Vec<Row>, share: f64) -> PyResult<Vec<usize>> {
    py.detach(|| {
        let candidates: Vec<Candidate<'_>> = rows
            .iter()
            .map(|(text, whole, about)| Candidate {
                text,
                whole,
                about: [about, "", "", ""],
            })
            .collect();
        crate::copies::find_originals(query, &candidates, share)
    })
    .map_err(raise)
}

/// A chunk of the store, or the texts of one from elsewhere.
enum Chunk {
    Stored(Py<ChunkRow>),
    Other(PyBackedStr, [PyBackedStr; 4]),
}

impl Chunk {
    fn of(row: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(stored) = row.cast::<ChunkRow>() {
            return Ok(Chunk::Stored(stored.clone().unbind()));
        }
        let text = |name: &str| row.getattr(name)?.extract::<PyBackedStr>();
        let about = [
            text("outline")?,
            text("context")?,
            text("title")?,
            text("uri")?,
        ];
        Ok(Chunk::Other(text("text")?, about))
    }

    fn candidate(&self) -> Candidate<'_> {
        let (text, about): (&str, [&str; 4]) = match self {
            Chunk::Stored(stored) => {
                let row = &stored.get().row;
                (
                    &row.text,
                    [&row.outline, &row.context, &row.title, &row.uri],
                )
            }
            Chunk::Other(text, about) => (text, about.each_ref().map(|text| &**text)),
        };
        let whole = text;
        Candidate { text, whole, about }
    }
}

/// Returns for each chunk the number of the first one that it copies, or its own.
#[pyfunction]
#[pyo3(signature = (query, chunks, *, share))]
fn find_copied_chunks(
    query: &str,
    chunks: Vec<Bound<'_, PyAny>>,
    share: f64,
    py: Python<'_>,
) -> PyResult<Vec<usize>> {
    let chunks = chunks.iter().map(Chunk::of).collect::<PyResult<Vec<_>>>()?;
    py.detach(|| {
        let candidates: Vec<Candidate<'_>> = chunks.iter().map(Chunk::candidate).collect();
        crate::copies::find_originals(query, &candidates, share)
    })
    .map_err(raise)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(find_originals, module)?)?;
    module.add_function(wrap_pyfunction!(find_copied_chunks, module)?)
}
