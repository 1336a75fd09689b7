//! Python bindings of near-duplicates.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyTuple};

use super::chunk_row::Chunk;
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

fn candidate(row: &Chunk) -> Candidate<'_> {
    Candidate {
        text: row.text(),
        whole: row.text(),
        about: row.about(),
    }
}

/// Returns the keys of the chunks that copy no earlier one, each with those of its copies.
#[pyfunction]
#[pyo3(signature = (query, chunks, *, share))]
fn find_copied_chunks<'py>(
    query: &str,
    chunks: Vec<Bound<'py, PyAny>>,
    share: f64,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = chunks.iter().map(Chunk::of).collect::<PyResult<Vec<_>>>()?;
    let groups = py
        .detach(|| {
            let candidates: Vec<Candidate<'_>> = rows.iter().map(candidate).collect();
            crate::copies::find_groups(query, &candidates, share)
        })
        .map_err(raise)?;
    let key = |at: usize| rows[at].key(&chunks[at]);
    let copies = PyDict::new(py);
    for (first, others) in groups {
        let others = others.into_iter().map(key).collect::<PyResult<Vec<_>>>()?;
        copies.set_item(key(first)?, PyTuple::new(py, others)?)?;
    }
    Ok(copies)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(find_originals, module)?)?;
    module.add_function(wrap_pyfunction!(find_copied_chunks, module)?)
}
