//! Python bindings of the ranking of source code.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::code::{self, Candidate, Kind, Weights};

/// A candidate: the document's number, its URI, its kind and the chunk's text.
type Row = (i64, PyBackedStr, PyBackedStr, PyBackedStr);

/// Keys and their scores.
type Ranked<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f32>>);

#[pyfunction]
#[pyo3(signature = (query, rows, scores, *, definition, names, path, aside, prose, file))]
#[expect(
    clippy::too_many_arguments,
    reason = "the weights of the rules by name"
)]
fn rank_code<'py>(
    py: Python<'py>,
    query: &str,
    rows: Vec<Row>,
    scores: PyReadonlyArray1<'py, f32>,
    definition: f64,
    names: f64,
    path: f64,
    aside: f64,
    prose: f64,
    file: f64,
) -> PyResult<Ranked<'py>> {
    let scores = scores.as_slice()?;
    if rows.len() != scores.len() {
        return Err(PyValueError::new_err(format!(
            "scores: {} for {} rows; give one a row",
            scores.len(),
            rows.len()
        )));
    }
    let kinds = rows
        .iter()
        .map(|(_, _, kind, _)| {
            Kind::named(kind)
                .ok_or_else(|| PyValueError::new_err(format!("rows: {kind}: no such kind")))
        })
        .collect::<PyResult<Vec<Kind>>>()?;
    let weights = Weights {
        definition,
        names,
        path,
        aside,
        prose,
        file,
    };
    let ranked = py.detach(|| {
        let candidates: Vec<Candidate<'_>> = rows
            .iter()
            .zip(kinds)
            .zip(scores)
            .map(|(((doc, uri, _, text), kind), &score)| Candidate {
                doc: *doc,
                uri,
                kind,
                text,
                score,
            })
            .collect();
        code::rank(query, &candidates, &weights)
    });
    let (order, scores): (Vec<i64>, Vec<f32>) = ranked
        .into_iter()
        .map(|(at, score)| (at as i64, score))
        .unzip();
    Ok((order.into_pyarray(py), scores.into_pyarray(py)))
}

/// Returns the names of source code that a query has: `parse_args`, `Socket.close`, its only word.
#[pyfunction]
fn query_symbols(query: &str) -> Vec<String> {
    code::symbols(query)
}

/// How a text declares a name; greater says more of what it is.
#[pyclass(
    eq,
    ord,
    hash,
    frozen,
    module = "crx._native",
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Declaration {
    /// It uses the name, or lacks it.
    None,
    /// It gives the name a value.
    Value,
    /// A parameter, a field, a key, an entry of a list.
    Member,
    /// A function, a class, a type, a macro.
    Definition,
}

impl From<code::Declaration> for Declaration {
    fn from(found: code::Declaration) -> Self {
        match found {
            code::Declaration::None => Self::None,
            code::Declaration::Value => Self::Value,
            code::Declaration::Member => Self::Member,
            code::Declaration::Definition => Self::Definition,
        }
    }
}

/// Returns how each chunk, a URI and a text, declares a name where it says most of it.
#[pyfunction]
fn declarations(
    py: Python<'_>,
    rows: Vec<(PyBackedStr, PyBackedStr)>,
    name: &str,
) -> Vec<Declaration> {
    py.detach(|| {
        rows.iter()
            .map(|(uri, text)| code::strongest_declaration(uri, text, name).into())
            .collect()
    })
}

/// Returns the definitions of a source text: starts and ends in code points, labels and levels.
#[pyfunction]
#[pyo3(signature = (text, *, language))]
fn outline(py: Python<'_>, text: &str, language: &str) -> Vec<(usize, usize, String, u32)> {
    py.detach(|| {
        let spans = code::outline(text, language);
        let mut edges: Vec<usize> = spans
            .iter()
            .flat_map(|span| [span.start, span.end])
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let (mut at, mut points) = (0, 0);
        let mut characters = Vec::with_capacity(edges.len());
        for &edge in &edges {
            points += text[at..edge].chars().count();
            at = edge;
            characters.push(points);
        }
        let point = |byte| characters[edges.partition_point(|&edge| edge < byte)];
        spans
            .into_iter()
            .map(|span| (point(span.start), point(span.end), span.label, span.level))
            .collect()
    })
}

/// Returns the languages of source files by extension, without a dot.
#[pyfunction]
fn source_languages() -> std::collections::HashMap<&'static str, &'static str> {
    code::extensions().collect()
}

/// Returns the kind of a document, by its path, else by its text.
#[pyfunction]
fn document_kind(uri: &str, text: &str) -> &'static str {
    Kind::of(uri, text).name()
}

/// Returns whether a path below a project is that of a test, an example, vendored or generated code.
#[pyfunction]
fn is_aside(path: &str) -> bool {
    code::is_aside(path)
}

/// Returns the same of each URI, without the folders that all of them have in common.
#[pyfunction]
fn aside(py: Python<'_>, uris: Vec<PyBackedStr>) -> Vec<bool> {
    py.detach(|| {
        let common = code::common_folders(uris.iter().map(|uri| &**uri));
        let aside = uris.iter().map(|uri| code::is_aside(&uri[common..]));
        aside.collect()
    })
}

/// Returns whether a text is source code or the like.
#[pyfunction]
fn is_source_code(text: &str) -> bool {
    code::is_source_code(text)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rank_code, module)?)?;
    module.add_function(wrap_pyfunction!(outline, module)?)?;
    module.add("BEST", code::BEST)?;
    module.add_class::<Declaration>()?;
    module.add_function(wrap_pyfunction!(declarations, module)?)?;
    module.add_function(wrap_pyfunction!(aside, module)?)?;
    module.add_function(wrap_pyfunction!(source_languages, module)?)?;
    module.add_function(wrap_pyfunction!(is_aside, module)?)?;
    module.add_function(wrap_pyfunction!(query_symbols, module)?)?;
    module.add_function(wrap_pyfunction!(document_kind, module)?)?;
    module.add_function(wrap_pyfunction!(is_source_code, module)?)
}
