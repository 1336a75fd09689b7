//! Python binding of a chunk's row.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::store;

/// A chunk with its document's names and its contexts.
///
/// A text becomes a Python object when it is first asked for: of most candidates, the core alone
/// reads the texts.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct ChunkRow {
    pub(crate) row: Arc<store::ChunkRow>,
    texts: [PyOnceLock<Py<PyString>>; 7],
}

impl ChunkRow {
    pub(super) fn new(row: Arc<store::ChunkRow>) -> Self {
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
        self.row.key()
    }

    #[getter]
    fn doc(&self) -> i64 {
        self.row.doc()
    }

    #[getter]
    fn uri(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 0, self.row.uri())
    }

    #[getter]
    fn title(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 1, self.row.title())
    }

    #[getter]
    fn lang(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 2, self.row.lang())
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.row.kind().name()
    }

    #[getter]
    fn ordinal(&self) -> u32 {
        self.row.ordinal()
    }

    #[getter]
    fn start(&self) -> u32 {
        self.row.span().start
    }

    #[getter]
    fn end(&self) -> u32 {
        self.row.span().end
    }

    #[getter]
    fn token_start(&self) -> u32 {
        self.row.span().token_start
    }

    #[getter]
    fn token_end(&self) -> u32 {
        self.row.span().token_end
    }

    #[getter]
    fn section(&self) -> u32 {
        self.row.span().section
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 3, self.row.text())
    }

    #[getter]
    fn outline(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 4, self.row.outline())
    }

    #[getter]
    fn context(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 5, self.row.context())
    }

    #[getter]
    fn outcome(&self, py: Python<'_>) -> Py<PyString> {
        self.text_at(py, 6, self.row.outcome())
    }
}

/// The text of a chunk of the store, or of one from elsewhere.
pub(super) enum RowText {
    Stored(Arc<store::ChunkRow>),
    Other(PyBackedStr),
}

impl RowText {
    pub(super) fn of(row: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(match row.cast::<ChunkRow>() {
            Ok(stored) => RowText::Stored(Arc::clone(&stored.get().row)),
            Err(_) => RowText::Other(row.getattr("text")?.extract()?),
        })
    }

    pub(super) fn text(&self) -> &str {
        match self {
            RowText::Stored(row) => row.text(),
            RowText::Other(text) => text,
        }
    }
}

/// A chunk of the store, or the texts of one from elsewhere.
pub(super) enum Chunk {
    Stored(Arc<store::ChunkRow>),
    Other(PyBackedStr, [PyBackedStr; 4]),
}

impl Chunk {
    pub(super) fn of(row: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(stored) = row.cast::<ChunkRow>() {
            return Ok(Chunk::Stored(Arc::clone(&stored.get().row)));
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

    /// Returns the key, that of `row` for a chunk from elsewhere.
    pub(super) fn key(&self, row: &Bound<'_, PyAny>) -> PyResult<i64> {
        match self {
            Chunk::Stored(stored) => Ok(stored.key()),
            Chunk::Other(..) => row.getattr("key")?.extract(),
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Chunk::Stored(stored) => stored.text(),
            Chunk::Other(text, _) => text,
        }
    }

    /// Returns what is said about the document: outline, context, title and URI.
    pub(super) fn about(&self) -> [&str; 4] {
        match self {
            Chunk::Stored(row) => [row.outline(), row.context(), row.title(), row.uri()],
            Chunk::Other(_, about) => about.each_ref().map(|text| &**text),
        }
    }
}
