//! Python bindings of hits and passages: frozen values of Python, made of rows in one call.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use super::error::raise;
use super::passages::flat;
use crate::fuse;
use crate::passages::{self, Position};

/// A ranking by its name: keys and their scores.
type NamedRanking<'py> = (
    Bound<'py, PyString>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f64>,
);

/// A frozen dataclass with slots.
///
/// Its `__init__` sets each field by a call of its own: for the hits of a search that takes as long as
/// to find them.
struct Dataclass<'a, 'py>(&'a Bound<'py, PyType>);

impl<'py> Dataclass<'_, 'py> {
    /// Makes an instance of the names of all fields and their values.
    fn make(
        &self,
        fields: &[(&Bound<'py, PyString>, &Bound<'py, PyAny>)],
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.0.py();
        let new = self.0.getattr(intern!(py, "__new__"))?;
        let made = new.call1((self.0,))?;
        for (name, value) in fields {
            // SAFETY: all three are objects, and the GIL is held. Nobody else has the new one yet, so
            // that what is frozen does not change.
            let failed = unsafe {
                ffi::PyObject_GenericSetAttr(made.as_ptr(), name.as_ptr(), value.as_ptr())
            };
            if failed != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(made)
    }

    /// Raises `TypeError` if the class has not as many fields.
    fn require_fields(&self, count: usize) -> PyResult<()> {
        let fields = self.0.getattr(intern!(self.0.py(), "__match_args__"))?;
        match fields.len()? == count {
            true => Ok(()),
            false => Err(PyTypeError::new_err(format!(
                "{}: has other fields than are set here",
                self.0.name()?
            ))),
        }
    }
}

/// Returns the hits of rows: instances of a dataclass, in which `stages` are those of another.
#[pyfunction]
#[pyo3(signature = (hit, stage, rows, *, scores, rankings, copies, also_in, least))]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments of the Python function"
)]
fn make_hits<'py>(
    py: Python<'py>,
    hit: &Bound<'py, PyType>,
    stage: &Bound<'py, PyType>,
    rows: Vec<Bound<'py, PyAny>>,
    scores: Vec<f64>,
    rankings: Vec<NamedRanking<'py>>,
    copies: Vec<usize>,
    also_in: Vec<Bound<'py, PyTuple>>,
    least: f64,
) -> PyResult<Bound<'py, PyTuple>> {
    let (hit, stage) = (Dataclass(hit), Dataclass(stage));
    hit.require_fields(14)?;
    stage.require_fields(2)?;
    if [scores.len(), copies.len(), also_in.len()] != [rows.len(); 3] {
        return Err(PyValueError::new_err(format!(
            "scores, copies, also_in: {}, {} and {} values for {} rows; give one of each for a row",
            scores.len(),
            copies.len(),
            also_in.len(),
            rows.len()
        )));
    }
    let of_rows = [
        intern!(py, "key"),
        intern!(py, "uri"),
        intern!(py, "title"),
        intern!(py, "ordinal"),
        intern!(py, "start"),
        intern!(py, "end"),
        intern!(py, "text"),
        intern!(py, "outline"),
        intern!(py, "context"),
    ];
    let key = |row: &Bound<'py, PyAny>| row.getattr(of_rows[0])?.extract();
    let keys = rows.iter().map(key).collect::<PyResult<Vec<i64>>>()?;
    let mut stages = Vec::with_capacity(rankings.len());
    for (name, keys_of, scores_of) in &rankings {
        let ranks = fuse::ranks(flat(keys_of, "keys")?, &keys);
        let scores_of = flat(scores_of, "scores")?;
        if scores_of.len() != keys_of.len()? {
            return Err(PyValueError::new_err(format!(
                "{name}: {} scores for {} keys; give one for each",
                scores_of.len(),
                keys_of.len()?
            )));
        }
        stages.push((name, ranks, scores_of));
    }
    let make = |at: usize| {
        let own = PyDict::new(py);
        for (name, ranks, scores) in &stages {
            if let Some(before) = ranks[at].checked_sub(1) {
                let rank = ranks[at].into_pyobject(py)?.into_any();
                let score = scores[before].into_pyobject(py)?.into_any();
                let fields = [(intern!(py, "rank"), &rank), (intern!(py, "score"), &score)];
                own.set_item(name, stage.make(&fields)?)?;
            }
        }
        let values = of_rows.map(|name| rows[at].getattr(name));
        let mut fields = Vec::with_capacity(14);
        for (name, value) in of_rows.into_iter().zip(values) {
            fields.push((name, value?));
        }
        let is_less = (scores[at] < least).into_pyobject(py)?.to_owned();
        fields.extend([
            (
                intern!(py, "score"),
                scores[at].into_pyobject(py)?.into_any(),
            ),
            (intern!(py, "stages"), own.into_any()),
            (
                intern!(py, "copies"),
                copies[at].into_pyobject(py)?.into_any(),
            ),
            (intern!(py, "also_in"), also_in[at].clone().into_any()),
            (intern!(py, "less_relevant"), is_less.into_any()),
        ]);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value)).collect();
        hit.make(&fields)
    };
    let hits = (0..rows.len()).map(make).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, hits)
}

/// Returns the labels of the sections around a position, outermost first, and the other marks.
#[pyfunction]
fn position_in<'py>(
    py: Python<'py>,
    marks: &str,
    position: u64,
) -> PyResult<(Bound<'py, PyTuple>, String)> {
    let found = passages::position_in(marks, position).map_err(raise)?;
    Ok((PyTuple::new(py, found.headings)?, found.others))
}

/// Returns the passages of rows, instances of a dataclass, each with its other marks.
///
/// An answer is the span of the line of the row's best hit that answers, in code points.
#[pyfunction]
fn make_passages<'py>(
    py: Python<'py>,
    passage: &Bound<'py, PyType>,
    rows: Vec<Bound<'py, PyAny>>,
    hits: &Bound<'py, PyTuple>,
    answers: Vec<(u64, u64)>,
) -> PyResult<Vec<(Bound<'py, PyAny>, String)>> {
    let passage = Dataclass(passage);
    passage.require_fields(15)?;
    let (of_rows, of_hits) = (
        [
            intern!(py, "start"),
            intern!(py, "end"),
            intern!(py, "text"),
            intern!(py, "score"),
            intern!(py, "tokens"),
            intern!(py, "lines"),
        ],
        [intern!(py, "uri"), intern!(py, "title")],
    );
    let nothing = py.None().into_bound(py);
    let empty = PyString::new(py, "").into_any();
    let make = |(row, (first, _)): (&Bound<'py, PyAny>, (u64, u64))| {
        let numbers: Vec<usize> = row.getattr(intern!(py, "hits"))?.extract()?;
        let within = numbers
            .into_iter()
            .map(|at| hits.get_item(at))
            .collect::<PyResult<Vec<_>>>()?;
        let best = within.first().ok_or_else(|| {
            PyValueError::new_err("rows: a passage without a hit; give one around hits")
        })?;
        let hit_start: u64 = best.getattr(intern!(py, "start"))?.extract()?;
        let position = hit_start + first;
        let marks: PyBackedStr = row.getattr(intern!(py, "marks"))?.extract()?;
        let Position { headings, others } =
            passages::position_in(&marks, position).map_err(raise)?;
        let mut fields = Vec::with_capacity(15);
        for name in of_rows {
            fields.push((name, row.getattr(name)?));
        }
        for name in of_hits {
            fields.push((name, best.getattr(name)?));
        }
        let (start, text, lines) = (&fields[0].1, &fields[2].1, &fields[5].1);
        let line = match lines.extract::<Option<(usize, usize)>>()? {
            None => nothing.clone(),
            Some((first, _)) => {
                let before = position.saturating_sub(start.extract()?);
                let text: PyBackedStr = text.extract()?;
                let line = first + passages::line_breaks(&text, before as usize);
                line.into_pyobject(py)?.into_any()
            }
        };
        fields.extend([
            (intern!(py, "hits"), PyTuple::new(py, &within)?.into_any()),
            (
                intern!(py, "headings"),
                PyTuple::new(py, headings)?.into_any(),
            ),
            (intern!(py, "line"), line),
            (intern!(py, "pages"), nothing.clone()),
            (intern!(py, "anchor"), nothing.clone()),
            (intern!(py, "fragment"), empty.clone()),
            (intern!(py, "folder"), empty.clone()),
        ]);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value)).collect();
        Ok((passage.make(&fields)?, others))
    };
    rows.iter().zip(answers).map(make).collect()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(make_hits, module)?)?;
    module.add_function(wrap_pyfunction!(make_passages, module)?)?;
    module.add_function(wrap_pyfunction!(position_in, module)?)
}
