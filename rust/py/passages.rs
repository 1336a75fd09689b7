//! Python bindings of fusion and passages.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fuse::{Ranking, ScoredRanking};
use crate::passages::{Growth, Order, Passage};
use crate::store::{PassageText, ShownPassage};

/// A stretch of a document and its text; `hits` are indices of the hits in it, best first.
#[pyclass(frozen, get_all, module = "crx._native")]
pub(super) struct PassageRow {
    doc: i64,
    start: u32,
    end: u32,
    first: u32,
    last: u32,
    tokens: u32,
    score: f32,
    hits: Vec<u32>,
    text: String,
    lines: (u64, u64),
    marks: String,
    uri: String,
    metadata: String,
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

/// A ranking: keys, their scores, their weights, and the score of a chunk that it does not hold.
type ScoredRow<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f32>,
    PyReadonlyArray1<'py, f64>,
    f64,
);

#[pyfunction]
#[pyo3(signature = (rankings, *, score_share, rrf_k, k))]
fn fuse_scores<'py>(
    py: Python<'py>,
    rankings: Vec<ScoredRow<'py>>,
    score_share: f64,
    rrf_k: f64,
    k: usize,
) -> PyResult<Ranked<'py>> {
    let rankings = rankings
        .iter()
        .map(|(keys, scores, weights, lowest)| {
            let ranking = ScoredRanking {
                keys: flat(keys, "keys")?,
                scores: flat(scores, "scores")?,
                weights: flat(weights, "weights")?,
                lowest: *lowest,
            };
            let counts = [ranking.scores.len(), ranking.weights.len()];
            if counts != [ranking.keys.len(); 2] {
                return Err(PyValueError::new_err(format!(
                    "rankings: {} scores and {} weights for {} keys; give one of each for a key",
                    counts[0],
                    counts[1],
                    ranking.keys.len()
                )));
            }
            Ok(ranking)
        })
        .collect::<PyResult<Vec<_>>>()?;
    let fused = py.detach(|| crate::fuse::fuse_scores(&rankings, score_share, rrf_k, k));
    let (keys, scores): (Vec<i64>, Vec<f32>) = fused.into_iter().unzip();
    Ok((keys.into_pyarray(py), scores.into_pyarray(py)))
}

/// Returns how far hits grow.
pub(super) fn growth_of(budget_tokens: Option<u32>, window: Option<u32>) -> PyResult<Growth> {
    match (budget_tokens, window) {
        (None, None) => Ok(Growth::None),
        (Some(budget), None) => Ok(Growth::Tokens(budget)),
        (None, Some(window)) => Ok(Growth::Chunks(window)),
        (Some(_), Some(_)) => Err(PyValueError::new_err(
            "budget_tokens, window: both given; give one of them",
        )),
    }
}

/// Returns the order of a name.
pub(super) fn order_of(name: &str) -> PyResult<Order> {
    match name {
        "score" => Ok(Order::Score),
        "document" => Ok(Order::Document),
        other => Err(PyValueError::new_err(format!(
            "order: \"{other}\" is neither \"score\" nor \"document\""
        ))),
    }
}

impl From<ShownPassage> for PassageRow {
    fn from(shown: ShownPassage) -> Self {
        let Passage {
            doc,
            start,
            end,
            first,
            last,
            tokens,
            score,
            hits,
        } = shown.passage;
        let PassageText { text, lines, marks } = shown.text;
        PassageRow {
            doc,
            start,
            end,
            first,
            last,
            tokens,
            score,
            hits,
            text,
            lines,
            marks,
            uri: shown.uri,
            metadata: shown.metadata,
        }
    }
}

/// Returns the values of a one-dimensional array, or a `ValueError` with its name.
pub(super) fn flat<'a, T: numpy::Element>(
    array: &'a PyReadonlyArray1<'_, T>,
    name: &str,
) -> PyResult<&'a [T]> {
    array
        .as_slice()
        .map_err(|_| PyValueError::new_err(format!("{name}: not contiguous; copy it first")))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PassageRow>()?;
    module.add_function(wrap_pyfunction!(fuse, module)?)?;
    module.add_function(wrap_pyfunction!(fuse_scores, module)?)
}
