//! Python bindings of fusion and passages.

use std::collections::HashMap;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::fuse::Ranking;
use crate::passages::{self, Growth, Hit, Layout, Order, Passage};

/// A stretch of a document; `hits` are indices of the hits in it, best first.
#[pyclass(frozen, get_all, module = "crx._native")]
struct PassageRow {
    doc: i64,
    start: u32,
    end: u32,
    first: u32,
    last: u32,
    tokens: u32,
    score: f32,
    hits: Vec<u32>,
}

/// Keys and their scores.
type Ranked<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f32>>);

#[pyfunction]
#[pyo3(signature = (rankings, *, weights, rrf_k, k))]
fn fuse<'py>(
    py: Python<'py>,
    rankings: Vec<PyReadonlyArray1<'py, i64>>,
    weights: Vec<f64>,
    rrf_k: f64,
    k: usize,
) -> PyResult<Ranked<'py>> {
    if weights.len() != rankings.len() {
        return Err(PyValueError::new_err(format!(
            "weights: {} for {} rankings; give one each",
            weights.len(),
            rankings.len()
        )));
    }
    if weights
        .iter()
        .any(|weight| !(weight.is_finite() && *weight >= 0.0))
    {
        return Err(PyValueError::new_err("weights: one is not 0 or more"));
    }
    if !(rrf_k.is_finite() && rrf_k >= 0.0) {
        return Err(PyValueError::new_err(format!(
            "rrf_k: {rrf_k} is not 0 or more"
        )));
    }
    let rankings = rankings
        .iter()
        .zip(weights)
        .map(|(ranking, weight)| {
            Ok(Ranking {
                keys: flat(ranking, "rankings")?,
                weight,
            })
        })
        .collect::<PyResult<Vec<_>>>()?;
    let (keys, scores): (Vec<i64>, Vec<f32>) =
        py.detach(|| crate::fuse::fuse(&rankings, rrf_k, k).into_iter().unzip());
    Ok((keys.into_pyarray(py), scores.into_pyarray(py)))
}

#[pyfunction]
#[pyo3(signature = (
    docs, ordinals, scores, *, layouts, budget_tokens=None, window=None, within_section=false,
    order="score"
))]
#[expect(
    clippy::too_many_arguments,
    reason = "the keyword arguments of the contract"
)]
fn widen<'py>(
    py: Python<'py>,
    docs: PyReadonlyArray1<'py, i64>,
    ordinals: PyReadonlyArray1<'py, u32>,
    scores: PyReadonlyArray1<'py, f32>,
    layouts: &Bound<'py, PyDict>,
    budget_tokens: Option<u32>,
    window: Option<u32>,
    within_section: bool,
    order: &str,
) -> PyResult<Vec<PassageRow>> {
    let growth = match (budget_tokens, window) {
        (None, None) => Growth::None,
        (Some(budget), None) => Growth::Tokens(budget),
        (None, Some(window)) => Growth::Chunks(window),
        (Some(_), Some(_)) => {
            return Err(PyValueError::new_err(
                "budget_tokens, window: both given; give one of them",
            ));
        }
    };
    let order = order_of(order)?;
    let hits = hits_of(&docs, &ordinals, &scores)?;
    let arrays = arrays_of(layouts)?;
    let layouts = layouts_of(&arrays)?;
    let found = py
        .detach(|| {
            let layout_of = |doc| layouts.get(&doc).copied();
            passages::expand(&hits, layout_of, growth, within_section, order)
        })
        .map_err(super::error::raise)?;
    Ok(found.into_iter().map(PassageRow::from).collect())
}

#[pyfunction]
#[pyo3(signature = (
    docs, ordinals, scores, *, layouts, budget_tokens, within_section=false, order="score"
))]
#[expect(
    clippy::too_many_arguments,
    reason = "the keyword arguments of the contract"
)]
fn choose<'py>(
    py: Python<'py>,
    docs: PyReadonlyArray1<'py, i64>,
    ordinals: PyReadonlyArray1<'py, u32>,
    scores: PyReadonlyArray1<'py, f32>,
    layouts: &Bound<'py, PyDict>,
    budget_tokens: u32,
    within_section: bool,
    order: &str,
) -> PyResult<Vec<PassageRow>> {
    let order = order_of(order)?;
    let hits = hits_of(&docs, &ordinals, &scores)?;
    let arrays = arrays_of(layouts)?;
    let layouts = layouts_of(&arrays)?;
    let found = py
        .detach(|| {
            let layout_of = |doc| layouts.get(&doc).copied();
            passages::select(&hits, layout_of, budget_tokens, within_section, order)
        })
        .map_err(super::error::raise)?;
    Ok(found.into_iter().map(PassageRow::from).collect())
}

fn order_of(name: &str) -> PyResult<Order> {
    match name {
        "score" => Ok(Order::Score),
        "document" => Ok(Order::Document),
        other => Err(PyValueError::new_err(format!(
            "order: \"{other}\" is neither \"score\" nor \"document\""
        ))),
    }
}

/// Returns the hits of parallel arrays.
fn hits_of(
    docs: &PyReadonlyArray1<'_, i64>,
    ordinals: &PyReadonlyArray1<'_, u32>,
    scores: &PyReadonlyArray1<'_, f32>,
) -> PyResult<Vec<Hit>> {
    let (docs, ordinals, scores) = (
        flat(docs, "docs")?,
        flat(ordinals, "ordinals")?,
        flat(scores, "scores")?,
    );
    if docs.len() != ordinals.len() || docs.len() != scores.len() {
        return Err(PyValueError::new_err(format!(
            "docs, ordinals, scores: {}, {} and {} values; give one of each a hit",
            docs.len(),
            ordinals.len(),
            scores.len()
        )));
    }
    let places = docs.iter().zip(ordinals).zip(scores);
    Ok(places
        .map(|((&doc, &ordinal), &score)| Hit {
            doc,
            ordinal,
            score,
        })
        .collect())
}

/// A document and its layout as a numpy array.
type LayoutArray<'py> = (i64, PyReadonlyArray2<'py, u32>);

fn arrays_of<'py>(layouts: &Bound<'py, PyDict>) -> PyResult<Vec<LayoutArray<'py>>> {
    layouts
        .iter()
        .map(|(doc, layout)| Ok((doc.extract()?, layout.extract()?)))
        .collect()
}

fn layouts_of<'a>(arrays: &'a [LayoutArray<'_>]) -> PyResult<HashMap<i64, Layout<'a>>> {
    arrays
        .iter()
        .map(|(doc, layout)| Ok((*doc, rows(layout)?)))
        .collect()
}

impl From<Passage> for PassageRow {
    fn from(passage: Passage) -> Self {
        let Passage {
            doc,
            start,
            end,
            first,
            last,
            tokens,
            score,
            hits,
        } = passage;
        PassageRow {
            doc,
            start,
            end,
            first,
            last,
            tokens,
            score,
            hits,
        }
    }
}

/// Returns the values of a one-dimensional array, or a `ValueError` with its name.
fn flat<'a, T: numpy::Element>(
    array: &'a PyReadonlyArray1<'_, T>,
    name: &str,
) -> PyResult<&'a [T]> {
    array
        .as_slice()
        .map_err(|_| PyValueError::new_err(format!("{name}: not contiguous; copy it first")))
}

/// Returns the rows of an (n, 5) layout.
fn rows<'a>(layout: &'a PyReadonlyArray2<'_, u32>) -> PyResult<Layout<'a>> {
    let flat = layout
        .as_slice()
        .map_err(|_| PyValueError::new_err("layouts: not contiguous; copy them first"))?;
    if layout.shape()[1] != 5 {
        return Err(PyValueError::new_err(format!(
            "layouts: {} columns; start, end, token_start, token_end, section are 5",
            layout.shape()[1]
        )));
    }
    Ok(flat.as_chunks().0)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PassageRow>()?;
    module.add_function(wrap_pyfunction!(fuse, module)?)?;
    module.add_function(wrap_pyfunction!(widen, module)?)?;
    module.add_function(wrap_pyfunction!(choose, module)?)
}
