//! Python binding of near-duplicates.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

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
            .map(|(text, whole, about)| Candidate { text, whole, about })
            .collect();
        crate::copies::find_originals(query, &candidates, share)
    })
    .map_err(raise)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(find_originals, module)?)
}
