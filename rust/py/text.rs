//! Python bindings of analysis, splitting and hashing.

use numpy::ndarray::Array2;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::analyze;
use crate::split::{Cut, Size};

#[pyfunction]
#[pyo3(signature = (text, *, cuts, token_starts, budget, overlap=0))]
fn split<'py>(
    py: Python<'py>,
    text: &str,
    cuts: PyReadonlyArray2<'py, u32>,
    token_starts: Option<PyReadonlyArray1<'py, u32>>,
    budget: u32,
    overlap: u32,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    if overlap >= budget {
        return Err(PyValueError::new_err(format!(
            "overlap: {overlap} is not below the budget of {budget}"
        )));
    }
    let contiguous = |name| PyValueError::new_err(format!("{name}: not contiguous; copy it first"));
    let levels = cuts.as_slice().map_err(|_| contiguous("cuts"))?;
    if cuts.shape()[1] != 2 {
        return Err(PyValueError::new_err(format!(
            "cuts: {} columns; they are position and level",
            cuts.shape()[1]
        )));
    }
    let tokens = token_starts
        .as_ref()
        .map(|starts| starts.as_slice().map_err(|_| contiguous("token_starts")))
        .transpose()?;
    let spans = py.detach(|| {
        if tokens.is_some_and(|tokens| !tokens.is_sorted()) {
            return None;
        }
        let cuts: Vec<Cut> = levels
            .as_chunks()
            .0
            .iter()
            .map(|&[at, level]| Cut { at, level })
            .collect();
        let spans = crate::split::split(text, &cuts, tokens, Size { budget, overlap });
        Some(
            spans
                .into_iter()
                .flat_map(|(start, end)| [start, end])
                .collect::<Vec<u32>>(),
        )
    });
    let spans =
        spans.ok_or_else(|| PyValueError::new_err("token_starts: not ascending; sort them"))?;
    let rows = spans.len() / 2;
    let spans = Array2::from_shape_vec((rows, 2), spans)
        .map_err(|error| PyValueError::new_err(format!("spans: {error}")))?;
    Ok(spans.into_pyarray(py))
}

/// Returns the terms of a text, in order.
#[pyfunction]
#[pyo3(name = "analyze", signature = (text, lang = ""))]
fn analyze_text(py: Python<'_>, text: &str, lang: &str) -> Vec<String> {
    py.detach(|| analyze::terms(text, lang))
}

/// Returns the distinct terms of each text with their weights.
#[pyfunction]
#[pyo3(signature = (texts, *, langs, name = ""))]
fn query_terms(
    py: Python<'_>,
    texts: Vec<String>,
    langs: Vec<String>,
    name: &str,
) -> Vec<Vec<(String, f64)>> {
    py.detach(|| {
        let mut analyzer = analyze::QueryAnalyzer::new(&langs);
        let mut weighted = |text: &String| {
            let terms = analyzer.analyze_named(text, name).into_iter();
            terms.map(|term| (term.term, term.weight)).collect()
        };
        texts.iter().map(&mut weighted).collect()
    })
}

/// Returns the distinct terms of a query with their weights and the numbers of their words.
#[pyfunction]
#[pyo3(signature = (query, *, langs, name = ""))]
fn query_words(
    py: Python<'_>,
    query: &str,
    langs: Vec<String>,
    name: &str,
) -> Vec<(String, f64, usize)> {
    py.detach(|| {
        let terms = analyze::QueryAnalyzer::new(&langs).analyze_named(query, name);
        let terms = terms.into_iter();
        terms
            .map(|term| (term.term, term.weight, term.word))
            .collect()
    })
}

/// Returns the ISO 639-1 code of a text's language, or "" if detection is not reliable.
#[pyfunction]
fn detect_lang(py: Python<'_>, text: &str) -> &'static str {
    py.detach(|| analyze::detect_lang(text))
}

/// Returns the ISO 639-1 code of a document's language, or "" without evidence.
#[pyfunction]
#[pyo3(signature = (text, *, likely = ""))]
fn document_lang(py: Python<'_>, text: &str, likely: &str) -> &'static str {
    py.detach(|| analyze::document_lang(text, likely))
}

/// Returns the score of each text by the letters that its words share with those of a query.
#[pyfunction]
fn letter_scores<'py>(
    py: Python<'py>,
    query: &str,
    texts: Vec<pyo3::pybacked::PyBackedStr>,
) -> Bound<'py, PyArray1<f32>> {
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    py.detach(|| crate::lexical::letter_scores(query, &texts))
        .into_pyarray(py)
}

/// Returns the spans, in characters, of the terms in scripts without spaces.
#[pyfunction]
fn unspaced_spans(text: &str) -> Vec<(usize, usize)> {
    analyze::unspaced_spans(text)
}

/// Returns the 32-byte BLAKE3 of the parts, each preceded by its length (eight bytes, little endian).
#[pyfunction]
#[pyo3(signature = (*parts))]
fn digest(parts: Vec<pyo3::pybacked::PyBackedBytes>) -> std::borrow::Cow<'static, [u8]> {
    let mut hasher = blake3::Hasher::new();
    for part in &parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().as_bytes().to_vec().into()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(analyze_text, module)?)?;
    module.add_function(wrap_pyfunction!(detect_lang, module)?)?;
    module.add_function(wrap_pyfunction!(digest, module)?)?;
    module.add_function(wrap_pyfunction!(document_lang, module)?)?;
    module.add_function(wrap_pyfunction!(letter_scores, module)?)?;
    module.add_function(wrap_pyfunction!(query_terms, module)?)?;
    module.add_function(wrap_pyfunction!(query_words, module)?)?;
    module.add_function(wrap_pyfunction!(unspaced_spans, module)?)?;
    module.add_function(wrap_pyfunction!(split, module)?)
}
