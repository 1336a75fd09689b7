//! Python bindings of the BM25 leg.

use std::path::Path;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use super::error::raise;
use super::store::{Filter, Store};
use crate::analyze::QueryTerm;
use crate::lexical::bm25::{Bm25, FIELDS};
use crate::lexical::{ChunkFields, Query};

#[pyclass(frozen, module = "crx._native")]
struct Lexical(crate::lexical::Lexical);

type Scored<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f32>>);

#[pymethods]
impl Lexical {
    #[staticmethod]
    #[pyo3(signature = (folder, *, fields = None, write = false))]
    fn open(
        py: Python<'_>,
        folder: &str,
        fields: Option<Vec<String>>,
        write: bool,
    ) -> PyResult<Self> {
        let fields =
            fields.unwrap_or_else(|| ["text", "outline", "context"].map(str::to_owned).to_vec());
        py.detach(|| crate::lexical::Lexical::open(Path::new(folder), &fields, write))
            .map(Lexical)
            .map_err(raise)
    }

    fn snapshot(&self) -> Self {
        Lexical(self.0.snapshot_handle())
    }

    #[getter]
    fn seq(&self) -> i64 {
        self.0.seq()
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of one table")]
    #[pyo3(signature = (doc, keys, lang, texts, outlines, contexts))]
    fn put(
        &self,
        py: Python<'_>,
        doc: i64,
        keys: PyReadonlyArray1<'_, i64>,
        lang: &str,
        texts: Vec<PyBackedStr>,
        outlines: Vec<PyBackedStr>,
        contexts: Vec<PyBackedStr>,
    ) -> PyResult<()> {
        let keys = keys.as_slice()?;
        let count = keys.len();
        if [texts.len(), outlines.len(), contexts.len()] != [count; FIELDS] {
            return Err(PyValueError::new_err(format!(
                "keys, texts, outlines, contexts: {count}, {}, {} and {} values; give one of each for a chunk",
                texts.len(),
                outlines.len(),
                contexts.len()
            )));
        }
        let entries: Vec<ChunkFields> = (0..count)
            .map(|i| ChunkFields {
                key: keys[i],
                fields: [&texts[i], &outlines[i], &contexts[i]],
            })
            .collect();
        py.detach(|| self.0.put(doc, lang, &entries)).map_err(raise)
    }

    fn commit(&self, py: Python<'_>, seq: i64) -> PyResult<()> {
        py.detach(|| self.0.commit(seq)).map_err(raise)
    }

    /// Applies the store's changes; returns the number of documents read.
    fn sync(&self, py: Python<'_>, store: &Store) -> PyResult<usize> {
        py.detach(|| self.0.sync(&store.inner)).map_err(raise)
    }

    /// Waits for running merges and releases the folder; a later `put` takes it again.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.close()).map_err(raise)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "keyword arguments of the Python method"
    )]
    #[pyo3(signature = (query, *, k, name = "", langs = None, k1 = 1.2, b = 0.75, weights = None, only = None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        k: usize,
        name: &str,
        langs: Option<Vec<String>>,
        k1: f64,
        b: f64,
        weights: Option<[f64; FIELDS]>,
        only: Option<&Filter>,
    ) -> PyResult<Scored<'py>> {
        let langs = langs.unwrap_or_else(|| vec!["en".to_owned()]);
        let query = Query {
            text: query,
            name,
            langs: &langs,
            k,
            bm25: Bm25 {
                k1,
                b,
                weights: weights.unwrap_or([1.0; FIELDS]),
            },
            only: only.map(|filter| &*filter.inner),
        };
        let ranking = py.detach(|| self.0.search(&query)).map_err(raise)?;
        let (keys, scores): (Vec<i64>, Vec<f32>) = ranking.into_iter().unzip();
        Ok((keys.into_pyarray(py), scores.into_pyarray(py)))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "keyword arguments of the Python method"
    )]
    #[pyo3(signature = (terms, *, k, k1 = 1.2, b = 0.75, weights = None, only = None))]
    fn sparse_topk<'py>(
        &self,
        py: Python<'py>,
        terms: Vec<(String, f64)>,
        k: usize,
        k1: f64,
        b: f64,
        weights: Option<[f64; FIELDS]>,
        only: Option<&Filter>,
    ) -> PyResult<Scored<'py>> {
        let bm25 = Bm25 {
            k1,
            b,
            weights: weights.unwrap_or([1.0; FIELDS]),
        };
        let term = |(word, (term, weight))| QueryTerm { term, weight, word };
        let terms: Vec<_> = terms.into_iter().enumerate().map(term).collect();
        let only = only.map(|filter| &*filter.inner);
        let ranking = py
            .detach(|| self.0.sparse_topk(&terms, k, bm25, only))
            .map_err(raise)?;
        let (keys, scores): (Vec<i64>, Vec<f32>) = ranking.into_iter().unzip();
        Ok((keys.into_pyarray(py), scores.into_pyarray(py)))
    }

    #[pyo3(signature = (terms, *, weights = None))]
    fn doc_freqs(
        &self,
        py: Python<'_>,
        terms: Vec<String>,
        weights: Option<[f64; FIELDS]>,
    ) -> PyResult<Vec<u64>> {
        let bm25 = Bm25 {
            weights: weights.unwrap_or([1.0; FIELDS]),
            ..Bm25::default()
        };
        py.detach(|| self.0.doc_freqs(&terms, &bm25)).map_err(raise)
    }

    #[getter]
    fn lengths(&self) -> [u64; FIELDS] {
        self.0.lengths()
    }

    /// Terms and their weights, for each text.
    #[pyo3(signature = (texts, *, langs))]
    fn query_terms(
        &self,
        py: Python<'_>,
        texts: Vec<String>,
        langs: Vec<String>,
    ) -> Vec<Vec<(String, f64)>> {
        py.detach(|| {
            let analyzed = self.0.query_terms(&texts, &langs).into_iter();
            let pairs = |terms: Vec<QueryTerm>| terms.into_iter().map(|t| (t.term, t.weight));
            analyzed.map(|terms| pairs(terms).collect()).collect()
        })
    }

    #[pyo3(signature = (keys, *, words, langs))]
    fn containing<'py>(
        &self,
        py: Python<'py>,
        keys: PyReadonlyArray1<'_, i64>,
        words: Vec<String>,
        langs: Vec<String>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let keys = keys.as_slice()?;
        let held = py.detach(|| self.0.containing(keys, &words, &langs));
        Ok(held.map_err(raise)?.into_pyarray(py))
    }

    #[pyo3(signature = (word, *, k))]
    fn similar_terms(&self, py: Python<'_>, word: &str, k: usize) -> PyResult<Vec<String>> {
        py.detach(|| self.0.similar_terms(word, k)).map_err(raise)
    }

    #[pyo3(signature = (part, *, k))]
    fn compounds_of(&self, py: Python<'_>, part: &str, k: usize) -> PyResult<Vec<String>> {
        py.detach(|| self.0.compounds_of(part, k)).map_err(raise)
    }

    #[pyo3(signature = (term, *, k))]
    fn chunks_with<'py>(
        &self,
        py: Python<'py>,
        term: &str,
        k: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let keys = py.detach(|| self.0.chunks_with(term, k));
        Ok(keys.map_err(raise)?.into_pyarray(py))
    }

    #[pyo3(signature = (words, *, langs))]
    fn are_known(
        &self,
        py: Python<'_>,
        words: Vec<String>,
        langs: Vec<String>,
    ) -> PyResult<Vec<bool>> {
        py.detach(|| self.0.are_known(&words, &langs))
            .map_err(raise)
    }

    fn has_term(&self, py: Python<'_>, term: &str) -> PyResult<bool> {
        py.detach(|| self.0.has_term(term)).map_err(raise)
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Lexical>()
}
