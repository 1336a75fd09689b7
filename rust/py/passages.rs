//! Python bindings of fusion and passages.

use std::collections::HashMap;

use numpy::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::error::raise;
use crate::fuse::ScoredRanking;
use crate::passages::{self, ChunkSpan, Growth, Hit, LayoutChunk, Order, Passage};
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

/// A stretch of a document, without its text.
#[pyclass(frozen, get_all, module = "crx._native")]
struct PassageSpan {
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

/// Layouts of documents: rows of document, ordinal, start, end, token_start, token_end, section.
struct Layouts(HashMap<i64, Vec<LayoutChunk>>);

impl Layouts {
    fn read(rows: &PyReadonlyArray2<'_, i64>) -> PyResult<Self> {
        if rows.shape()[1] != 7 {
            return Err(PyValueError::new_err(format!(
                "layouts: {} columns; they are document, ordinal and the five of a layout",
                rows.shape()[1]
            )));
        }
        let mut layouts: HashMap<i64, Vec<LayoutChunk>> = HashMap::new();
        for row in rows.as_array().rows() {
            let number = |column: usize| {
                u32::try_from(row[column]).map_err(|_| {
                    PyValueError::new_err(format!("layouts: {} is no count", row[column]))
                })
            };
            let chunk = LayoutChunk {
                ordinal: number(1)?,
                span: ChunkSpan {
                    start: number(2)?,
                    end: number(3)?,
                    token_start: number(4)?,
                    token_end: number(5)?,
                    section: number(6)?,
                },
            };
            let layout = layouts.entry(row[0]).or_default();
            if layout
                .last()
                .is_some_and(|last| last.ordinal >= chunk.ordinal)
            {
                return Err(PyValueError::new_err(
                    "layouts: ordinals of a document are not ascending; sort them",
                ));
            }
            layout.push(chunk);
        }
        Ok(Layouts(layouts))
    }

    fn of(&self, doc: i64) -> Option<&[LayoutChunk]> {
        self.0.get(&doc).map(Vec::as_slice)
    }
}

/// Returns hits of rows of document and ordinal, and their scores.
fn placed_hits(
    positions: &PyReadonlyArray2<'_, i64>,
    scores: &PyReadonlyArray1<'_, f32>,
) -> PyResult<Vec<Hit>> {
    if positions.shape() != [scores.len(), 2] {
        return Err(PyValueError::new_err(
            "hits: give the document and the ordinal of each, and one score",
        ));
    }
    let hit = |(position, &score): (ArrayView1<'_, i64>, &f32)| {
        let ordinal = u32::try_from(position[1])
            .map_err(|_| PyValueError::new_err(format!("hits: {} is no ordinal", position[1])))?;
        Ok(Hit {
            doc: position[0],
            ordinal,
            score,
        })
    };
    let positions = positions.as_array();
    positions
        .rows()
        .into_iter()
        .zip(flat(scores, "scores")?)
        .map(hit)
        .collect()
}

fn spans_of(passages: Vec<Passage>) -> Vec<PassageSpan> {
    let span = |passage| {
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
        PassageSpan {
            doc,
            start,
            end,
            first,
            last,
            tokens,
            score,
            hits,
        }
    };
    passages.into_iter().map(span).collect()
}

#[pyfunction]
#[pyo3(signature = (hits, scores, layouts, *, budget_tokens, within_section = false, order = "score"))]
fn select_spans(
    py: Python<'_>,
    hits: PyReadonlyArray2<'_, i64>,
    scores: PyReadonlyArray1<'_, f32>,
    layouts: PyReadonlyArray2<'_, i64>,
    budget_tokens: u32,
    within_section: bool,
    order: &str,
) -> PyResult<Vec<PassageSpan>> {
    let (hits, layouts) = (placed_hits(&hits, &scores)?, Layouts::read(&layouts)?);
    let order = order_of(order)?;
    let layout_of = |doc| layouts.of(doc);
    py.detach(|| passages::select(&hits, layout_of, budget_tokens, within_section, order))
        .map(spans_of)
        .map_err(raise)
}

#[pyfunction]
#[pyo3(signature = (
    hits, scores, layouts, *, budget_tokens = None, window = None, within_section = false,
    order = "score"
))]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments of the Python function"
)]
fn expand_spans(
    py: Python<'_>,
    hits: PyReadonlyArray2<'_, i64>,
    scores: PyReadonlyArray1<'_, f32>,
    layouts: PyReadonlyArray2<'_, i64>,
    budget_tokens: Option<u32>,
    window: Option<u32>,
    within_section: bool,
    order: &str,
) -> PyResult<Vec<PassageSpan>> {
    let (hits, layouts) = (placed_hits(&hits, &scores)?, Layouts::read(&layouts)?);
    let (growth, order) = (growth_of(budget_tokens, window)?, order_of(order)?);
    let layout_of = |doc| layouts.of(doc);
    py.detach(|| passages::expand(&hits, layout_of, growth, within_section, order))
        .map(spans_of)
        .map_err(raise)
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
    module.add_class::<PassageSpan>()?;
    module.add_function(wrap_pyfunction!(select_spans, module)?)?;
    module.add_function(wrap_pyfunction!(expand_spans, module)?)?;
    module.add("FLOOR_RANK", crate::fuse::FLOOR_RANK)?;
    module.add_function(wrap_pyfunction!(fuse_scores, module)?)
}
