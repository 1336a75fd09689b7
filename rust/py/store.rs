//! Python bindings of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::chunk_row::ChunkRow;
use super::error::raise;
use super::passages::{PassageRow, flat, growth_of, order_of};
use super::pattern::Pattern;
use super::trigrams::Trigrams;
use crate::error::{Error, Result};
use crate::passages::ChunkSpan;
use crate::store::{self, ContextRow, MatchingEnd, NewDocument};

/// A set of documents, to which a search can be restricted.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct Filter {
    pub(crate) inner: Arc<store::Filter>,
}

#[pymethods]
impl Filter {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __contains__(&self, doc: i64) -> bool {
        doc >= 0 && self.inner.contains(doc)
    }
}

/// A document without its text.
#[pyclass(frozen, get_all, module = "crx._native")]
pub(crate) struct DocumentRow {
    doc: i64,
    uri: String,
    title: String,
    lang: String,
    kind: &'static str,
    metadata: String,
    source_hash: Vec<u8>,
    source_size: i64,
    source_mtime_ns: i64,
    chunks: i64,
}

impl From<store::DocumentRow> for DocumentRow {
    fn from(row: store::DocumentRow) -> Self {
        DocumentRow {
            doc: row.doc,
            uri: row.uri,
            title: row.title,
            lang: row.lang,
            kind: row.kind.name(),
            metadata: row.metadata,
            source_hash: row.source_hash,
            source_size: row.source_size,
            source_mtime_ns: row.source_mtime_ns,
            chunks: row.chunks,
        }
    }
}

/// The text of a span of a document, with its position.
#[pyclass(frozen, get_all, module = "crx._native")]
pub(crate) struct PassageText {
    text: String,
    lines: (u64, u64),
    marks: String,
}

/// A handle on `crx.db`.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct Store {
    pub(crate) inner: Arc<store::Store>,
}

impl Store {
    /// Runs the core without the GIL.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&store::Store) -> Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&self.inner)).map_err(raise)
    }
}

#[pymethods]
impl Store {
    #[staticmethod]
    #[pyo3(signature = (path, *, write=false, create=false, base=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        write: bool,
        create: bool,
        base: Option<&str>,
    ) -> PyResult<Self> {
        let open = || {
            let opened = store::Store::open(&path, write, create)?;
            match base {
                Some(folder) => opened.located(folder),
                None => Ok(opened),
            }
        };
        let opened = py.detach(open).map_err(raise)?;
        Ok(Store {
            inner: Arc::new(opened),
        })
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.inner.close());
    }

    #[getter]
    fn path(&self) -> String {
        self.inner.path().to_string_lossy().into_owned()
    }

    fn stored_uri(&self, uri: &str) -> String {
        self.inner.stored_uri(uri)
    }

    fn absolute_uri(&self, stored: &str) -> String {
        self.inner.absolute_uri(stored)
    }

    #[getter]
    fn log_lost(&self) -> bool {
        self.inner.log_lost()
    }

    fn backup(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        self.run(py, |store| store.backup(&folder))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, store::Store::flush)
    }

    fn begin_read(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, store::Store::begin_read)
    }

    fn end_read(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, store::Store::end_read)
    }

    #[getter]
    fn seq(&self, py: Python<'_>) -> PyResult<i64> {
        self.run(py, store::Store::seq)
    }

    fn settings(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        self.run(py, |store| Ok(store.settings()?.into_iter().collect()))
    }

    fn set_settings(&self, py: Python<'_>, settings: BTreeMap<String, String>) -> PyResult<()> {
        let settings = Vec::from_iter(settings);
        self.run(py, |store| store.set_settings(&settings))
    }

    fn documents(&self, py: Python<'_>) -> PyResult<Vec<DocumentRow>> {
        let rows = self.run(py, store::Store::documents)?;
        Ok(rows.into_iter().map(DocumentRow::from).collect())
    }

    fn metadata_fields(&self, py: Python<'_>) -> PyResult<BTreeSet<String>> {
        self.run(py, store::Store::metadata_fields)
    }

    fn document(&self, py: Python<'_>, uri: &str) -> PyResult<Option<DocumentRow>> {
        Ok(self
            .run(py, |store| store.document(uri))?
            .map(DocumentRow::from))
    }

    fn document_by_id(&self, py: Python<'_>, doc: i64) -> PyResult<Option<DocumentRow>> {
        Ok(self
            .run(py, |store| store.document_by_id(doc))?
            .map(DocumentRow::from))
    }

    fn text(&self, py: Python<'_>, doc: i64) -> PyResult<String> {
        self.run(py, |store| store.text(doc))
    }

    fn marks(&self, py: Python<'_>, doc: i64) -> PyResult<String> {
        self.run(py, |store| store.marks(doc))
    }

    fn layout<'py>(&self, py: Python<'py>, doc: i64) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let spans = self.run(py, |store| store.layout(doc))?;
        let flat: Vec<u32> = spans
            .iter()
            .flat_map(|span| {
                [
                    span.start,
                    span.end,
                    span.token_start,
                    span.token_end,
                    span.section,
                ]
            })
            .collect();
        flat.into_pyarray(py).reshape([spans.len(), 5])
    }

    #[pyo3(signature = (*, uri, title, lang, metadata, source_hash, source_size, source_mtime_ns,
                        text, marks, layout, outlines, context_keys, vector_keys))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the columns of a document, all keyword arguments"
    )]
    fn put_document(
        &self,
        py: Python<'_>,
        uri: &str,
        title: &str,
        lang: &str,
        metadata: &str,
        source_hash: &[u8],
        source_size: i64,
        source_mtime_ns: i64,
        text: &str,
        marks: &str,
        layout: PyReadonlyArray2<'_, u32>,
        outlines: Vec<String>,
        context_keys: Vec<Vec<u8>>,
        vector_keys: Vec<Vec<u8>>,
    ) -> PyResult<i64> {
        let layout = spans(&layout)?;
        let document = NewDocument {
            uri,
            title,
            lang,
            metadata,
            source_hash,
            source_size,
            source_mtime_ns,
            text,
            marks,
            layout: &layout,
            outlines: &outlines,
            context_keys: &context_keys,
            vector_keys: &vector_keys,
        };
        self.run(py, |store| store.put_document(&document))
    }

    #[pyo3(signature = (uri, *, source_mtime_ns, source_size))]
    fn touch_document(
        &self,
        py: Python<'_>,
        uri: &str,
        source_mtime_ns: i64,
        source_size: i64,
    ) -> PyResult<()> {
        self.run(py, |store| {
            store.touch_document(uri, source_mtime_ns, source_size)
        })
    }

    #[pyo3(signature = (old, new, *, metadata, source_mtime_ns))]
    fn rename_document(
        &self,
        py: Python<'_>,
        old: &str,
        new: &str,
        metadata: &str,
        source_mtime_ns: i64,
    ) -> PyResult<()> {
        self.run(py, |store| {
            store.rename_document(old, new, metadata, source_mtime_ns)
        })
    }

    fn remove_documents(&self, py: Python<'_>, uris: Vec<String>) -> PyResult<usize> {
        self.run(py, |store| store.remove_documents(&uris))
    }

    fn have_vectors(&self, py: Python<'_>, keys: Vec<Vec<u8>>) -> PyResult<Vec<bool>> {
        self.run(py, |store| store.have_vectors(&keys))
    }

    fn vectors(&self, py: Python<'_>, keys: Vec<Vec<u8>>) -> PyResult<Vec<Option<Vec<u8>>>> {
        self.run(py, |store| store.vectors(&keys))
    }

    fn chunk_links(&self, py: Python<'_>, doc: i64) -> PyResult<Vec<[Vec<u8>; 3]>> {
        self.run(py, |store| store.chunk_links(doc))
    }

    fn put_vectors(
        &self,
        py: Python<'_>,
        keys: Vec<Vec<u8>>,
        rows: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<()> {
        let [count, dim] = *rows.shape() else {
            return Err(raise(shape("rows", "(n, d)")));
        };
        if count != keys.len() {
            return Err(raise(Error::Invalid(format!(
                "keys: {} for {count} rows; give one for each row",
                keys.len()
            ))));
        }
        if count == 0 {
            return Ok(());
        }
        let rows = rows.as_array().iter().copied().collect::<Vec<f32>>();
        self.run(py, |store| store.put_vectors(&keys, &rows, dim))
    }

    #[pyo3(signature = (*, after=0, limit=1024))]
    fn pending<'py>(
        &self,
        py: Python<'py>,
        after: i64,
        limit: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(self
            .run(py, |store| store.pending(after, limit))?
            .into_pyarray(py))
    }

    fn count_pending(&self, py: Python<'_>) -> PyResult<i64> {
        self.run(py, store::Store::count_pending)
    }

    fn pending_chunks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let pending = self.run(py, store::Store::pending_chunks)?;
        let flat: Vec<i64> = pending
            .iter()
            .flat_map(|each| [each.chunk, each.doc, each.ordinal])
            .collect();
        flat.into_pyarray(py).reshape([pending.len(), 3])
    }

    fn without_vector<'py>(
        &self,
        py: Python<'py>,
        keys: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let keys = keys.as_array().to_vec();
        Ok(self
            .run(py, |store| store.without_vector(&keys))?
            .into_pyarray(py))
    }

    fn drop_damaged_vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(self
            .run(py, store::Store::drop_damaged_vectors)?
            .into_pyarray(py))
    }

    fn put_contexts(
        &self,
        py: Python<'_>,
        rows: Vec<(Vec<u8>, String, String, String)>,
    ) -> PyResult<()> {
        let row = |(key, generator, outcome, text)| {
            (
                key,
                ContextRow {
                    generator,
                    outcome,
                    text,
                },
            )
        };
        let rows: Vec<_> = rows.into_iter().map(row).collect();
        self.run(py, |store| store.put_contexts(&rows))
    }

    fn contexts(
        &self,
        py: Python<'_>,
        keys: Vec<Vec<u8>>,
    ) -> PyResult<Vec<Option<(String, String, String)>>> {
        let rows = self.run(py, |store| store.contexts(&keys))?;
        let words = |row: ContextRow| (row.generator, row.outcome, row.text);
        Ok(rows.into_iter().map(|row| row.map(words)).collect())
    }

    fn link_context(
        &self,
        py: Python<'_>,
        chunk: i64,
        context_key: &[u8],
        vector_key: &[u8],
    ) -> PyResult<()> {
        self.run(py, |store| {
            store.link_context(chunk, context_key, vector_key)
        })
    }

    fn chunks(&self, py: Python<'_>, keys: PyReadonlyArray1<'_, i64>) -> PyResult<Vec<ChunkRow>> {
        let keys = keys.as_array().to_vec();
        let rows = self.run(py, |store| store.chunks(&keys))?;
        Ok(rows.into_iter().map(ChunkRow::new).collect())
    }

    fn passage(&self, py: Python<'_>, doc: i64, start: u32, end: u32) -> PyResult<PassageText> {
        let passage = self.run(py, |store| store.passage(doc, start, end))?;
        let store::PassageText { text, lines, marks } = passage;
        Ok(PassageText { text, lines, marks })
    }

    #[pyo3(signature = (keys, scores, *, budget_tokens, within_section=false, order="score"))]
    fn select_passages(
        &self,
        py: Python<'_>,
        keys: PyReadonlyArray1<'_, i64>,
        scores: PyReadonlyArray1<'_, f32>,
        budget_tokens: u32,
        within_section: bool,
        order: &str,
    ) -> PyResult<Vec<PassageRow>> {
        let (hits, order) = (hits(&keys, &scores)?, order_of(order)?);
        let shown = self.run(py, |store| {
            store.select_passages(&hits, budget_tokens, within_section, order)
        })?;
        Ok(shown.into_iter().map(PassageRow::from).collect())
    }

    #[pyo3(signature = (
        keys, scores, *, budget_tokens=None, window=None, within_section=false, order="score"
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "keyword arguments of the Python method"
    )]
    fn expand_passages(
        &self,
        py: Python<'_>,
        keys: PyReadonlyArray1<'_, i64>,
        scores: PyReadonlyArray1<'_, f32>,
        budget_tokens: Option<u32>,
        window: Option<u32>,
        within_section: bool,
        order: &str,
    ) -> PyResult<Vec<PassageRow>> {
        let (hits, order) = (hits(&keys, &scores)?, order_of(order)?);
        let growth = growth_of(budget_tokens, window)?;
        let shown = self.run(py, |store| {
            store.expand_passages(&hits, growth, within_section, order)
        })?;
        Ok(shown.into_iter().map(PassageRow::from).collect())
    }

    fn chunk_keys<'py>(&self, py: Python<'py>, doc: i64) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(self
            .run(py, |store| store.chunk_keys(doc))?
            .into_pyarray(py))
    }

    #[pyo3(signature = (r#where))]
    fn select(&self, py: Python<'_>, r#where: &str) -> PyResult<Filter> {
        Ok(Filter {
            inner: Arc::new(self.run(py, |store| store.select(r#where))?),
        })
    }

    /// The keys of the chunks that match, and what ended the search.
    #[pyo3(signature = (pattern, *, trigrams, k, only = None))]
    fn matching<'py>(
        &self,
        py: Python<'py>,
        pattern: &Pattern,
        trigrams: &Trigrams,
        k: usize,
        only: Option<&Filter>,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, &'static str)> {
        let only = only.map(|filter| &*filter.inner);
        let found = self.run(py, |store| store.matching(&pattern.0, only, &trigrams.0, k))?;
        let end = match found.end {
            MatchingEnd::Complete => "complete",
            MatchingEnd::Count => "count",
            MatchingEnd::Time => "time",
            MatchingEnd::Bytes => "bytes",
        };
        Ok((found.keys.into_pyarray(py), end))
    }

    fn langs(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.run(py, store::Store::langs)
    }

    fn chunks_by_lang(&self, py: Python<'_>) -> PyResult<Vec<(String, i64)>> {
        self.run(py, store::Store::chunks_by_lang)
    }

    fn stats(&self, py: Python<'_>) -> PyResult<BTreeMap<String, i64>> {
        self.run(py, store::Store::stats)
    }

    fn record_failure(&self, py: Python<'_>, uri: &str, reason: &str) -> PyResult<()> {
        self.run(py, |store| store.record_failure(uri, reason))
    }

    fn forget_failures(&self, py: Python<'_>, uris: Vec<String>) -> PyResult<()> {
        self.run(py, |store| store.forget_failures(&uris))
    }

    fn failures(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        self.run(py, store::Store::failures)
    }

    fn verify(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.run(py, store::Store::verify)
    }

    #[pyo3(signature = (*, contexts=false))]
    fn gc(&self, py: Python<'_>, contexts: bool) -> PyResult<BTreeMap<String, i64>> {
        self.run(py, |store| store.gc(contexts))
    }
}

/// Returns the keys and scores of hits.
fn hits(
    keys: &PyReadonlyArray1<'_, i64>,
    scores: &PyReadonlyArray1<'_, f32>,
) -> PyResult<Vec<(i64, f32)>> {
    let (keys, scores) = (flat(keys, "keys")?, flat(scores, "scores")?);
    if keys.len() != scores.len() {
        return Err(raise(Error::Invalid(format!(
            "keys, scores: {} and {} values; give one of each for a hit",
            keys.len(),
            scores.len()
        ))));
    }
    Ok(keys.iter().copied().zip(scores.iter().copied()).collect())
}

fn shape(name: &str, wanted: &str) -> Error {
    Error::Invalid(format!("{name}: its shape is not {wanted}; reshape it"))
}

fn spans(layout: &PyReadonlyArray2<'_, u32>) -> PyResult<Vec<ChunkSpan>> {
    let [_, 5] = *layout.shape() else {
        return Err(raise(shape("layout", "(n, 5)")));
    };
    let span = |row: numpy::ndarray::ArrayView1<'_, u32>| ChunkSpan {
        start: row[0],
        end: row[1],
        token_start: row[2],
        token_end: row[3],
        section: row[4],
    };
    Ok(layout.as_array().rows().into_iter().map(span).collect())
}

/// Takes the intact rows of a damaged index into a new index folder; returns counts.
#[pyfunction]
#[pyo3(signature = (source, target, *, settings))]
fn salvage(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    settings: BTreeMap<String, String>,
) -> PyResult<BTreeMap<String, i64>> {
    let settings = Vec::from_iter(settings);
    py.detach(|| store::salvage(&source, &target, &settings))
        .map_err(raise)
}

/// Returns a filter, a JSON object, with the values that a person writes as documents have them.
#[pyfunction]
fn mend_filter(where_: &str) -> PyResult<String> {
    crate::store::mend_filter(where_).map_err(pyo3::exceptions::PyValueError::new_err)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(mend_filter, module)?)?;
    module.add_function(wrap_pyfunction!(salvage, module)?)?;
    module.add_class::<Filter>()?;
    module.add_class::<DocumentRow>()?;
    module.add_class::<ChunkRow>()?;
    module.add_class::<PassageText>()?;
    module.add_class::<Store>()
}
