//! Python binding of a chunk's row.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::store;

/// A chunk with its document's names and its contexts.
///
/// A text becomes a Python object when it is first asked for: of most candidates, the core alone
/// reads the texts.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct ChunkRow {
    pub(crate) row: store::ChunkRow,
    texts: [PyOnceLock<Py<PyString>>; 7],
}

impl ChunkRow {
    pub(super) fn new(row: store::ChunkRow) -> Self {
        ChunkRow {
            row,
            texts: [const { PyOnceLock::new() }; 7],
        }
    }

    /// Returns a text of the row, which is made once and kept at `at`.
    fn text_at(&self, py: Python<'_>, at: usize, text: &str) -> Py<PyString> {
        self.texts[at]
            .get_or_init(py, || PyString::new(py, text).unbind())
            .clone_ref(py)
    }
}

#[pymethods]
impl ChunkRow {
    #[getter]
    fn key(&self) -> i64 {
        self.row.key
    }

    #[getter]
    fn doc(&self) -> i64 {
        self.row.doc
    }

    #[getter]
    fn uri(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 0, &self.row.uri)
    }

    #[getter]
    fn title(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 1, &self.row.title)
    }

    #[getter]
    fn lang(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 2, &self.row.lang)
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.row.kind.name()
    }

    #[getter]
    fn ordinal(&self) -> u32 {
        self.row.ordinal
    }

    #[getter]
    fn start(&self) -> u32 {
        self.row.start
    }

    #[getter]
    fn end(&self) -> u32 {
        self.row.end
    }

    #[getter]
    fn token_start(&self) -> u32 {
        self.row.token_start
    }

    #[getter]
    fn token_end(&self) -> u32 {
        self.row.token_end
    }

    #[getter]
    fn section(&self) -> u32 {
        self.row.section
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 3, &self.row.text)
    }

    #[getter]
    fn outline(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 4, &self.row.outline)
    }

    #[getter]
    fn context(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 5, &self.row.context)
    }

    #[getter]
    fn outcome(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 6, &self.row.outcome)
    }
}
