//! Python bindings of the dense leg and of the exact scan.

use std::path::PathBuf;

use half::f16;
use numpy::{
    Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::error::raise;
use super::store::{Filter, Store};
use crate::dense::scan::{Rows, Scored, scan};
use crate::seal::Key;

/// Keys and their scores.
type Ranked<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f32>>);

/// The highest score and the mean of all rows for each query, and how many rows there are.
type Spread<'py> = (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, i64);

/// Scan of `derived/vectors-<gen>.f16`, or HNSW above `ann_above` rows.
#[pyclass(frozen, module = "crx._native")]
struct Dense(crate::dense::Dense);

#[pymethods]
impl Dense {
    #[staticmethod]
    #[pyo3(signature = (folder, *, seal_key, write=false, ann_above=100_000))]
    fn open(folder: PathBuf, seal_key: &[u8], write: bool, ann_above: usize) -> PyResult<Self> {
        let key = parse_key(seal_key)?;
        let dense = crate::dense::Dense::open(&folder, key, write, ann_above);
        Ok(Dense(dense))
    }

    fn snapshot(&self) -> Self {
        Dense(self.0.snapshot_handle())
    }

    #[getter]
    fn seq(&self) -> i64 {
        self.0.seq()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn exact(&self) -> bool {
        self.0.exact()
    }

    #[getter]
    fn faults(&self) -> Vec<String> {
        self.0.faults()
    }

    fn sync(&self, py: Python<'_>, store: &Store) -> PyResult<usize> {
        py.detach(|| self.0.sync(&*store.inner)).map_err(raise)
    }

    fn check(&self, py: Python<'_>, store: &Store) -> PyResult<()> {
        py.detach(|| self.0.check(&*store.inner)).map_err(raise)
    }

    fn publish(&self, py: Python<'_>, store: &Store) -> PyResult<()> {
        py.detach(|| self.0.publish(&*store.inner)).map_err(raise)
    }

    #[pyo3(signature = (query, *, k, only=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: PyReadonlyArray1<'py, f32>,
        k: usize,
        only: Option<&Filter>,
    ) -> PyResult<Ranked<'py>> {
        let query = finite(&query)?;
        let only = only.map(|only| &*only.inner);
        let found = py.detach(|| self.0.search(query, k, only)).map_err(raise)?;
        Ok(ranked(py, found))
    }

    #[pyo3(signature = (queries, *, only=None))]
    fn spread<'py>(
        &self,
        py: Python<'py>,
        queries: PyReadonlyArray2<'py, f32>,
        only: Option<&Filter>,
    ) -> PyResult<Option<Spread<'py>>> {
        let (queries, dim) = rows_of(&queries)?;
        let only = only.map(|only| &*only.inner);
        let found = py.detach(|| self.0.spreads(queries, dim, only));
        Ok(found.map_err(raise)?.map(|found| {
            let highest: Vec<f32> = found.iter().map(|each| each.highest()).collect();
            let means: Vec<f32> = found.iter().map(|each| each.mean()).collect();
            let rows = found.first().map_or(0, |each| each.rows());
            (highest.into_pyarray(py), means.into_pyarray(py), rows)
        }))
    }
}

/// Returns the key of seals.
pub(super) fn parse_key(seal_key: &[u8]) -> PyResult<Key> {
    seal_key.try_into().map_err(|_| {
        PyValueError::new_err(format!("seal_key: {} bytes; a key has 32", seal_key.len()))
    })
}

/// Returns the values of queries and how many each has.
fn rows_of<'a>(queries: &'a PyReadonlyArray2<'_, f32>) -> PyResult<(&'a [f32], usize)> {
    let dim = queries.shape()[1];
    if !queries.is_c_contiguous() || dim == 0 {
        return Err(PyValueError::new_err(
            "queries: not (n, d) in C order; copy them first",
        ));
    }
    let queries = queries.as_slice().map_err(|_| not_contiguous("queries"))?;
    check_finite(queries)?;
    Ok((queries, dim))
}

fn ranked(py: Python<'_>, found: Vec<Scored>) -> Ranked<'_> {
    let (keys, scores): (Vec<i64>, Vec<f32>) = found
        .into_iter()
        .map(|found| (found.key, found.score))
        .unzip();
    (keys.into_pyarray(py), scores.into_pyarray(py))
}

#[pyfunction]
#[pyo3(signature = (matrix, query, *, k, mask=None))]
fn dense_topk<'py>(
    matrix: &Bound<'py, PyUntypedArray>,
    query: PyReadonlyArray1<'py, f32>,
    k: usize,
    mask: Option<PyReadonlyArray1<'py, bool>>,
) -> PyResult<Ranked<'py>> {
    if let Ok(rows) = matrix.extract::<PyReadonlyArray2<'py, f16>>() {
        return topk(matrix.py(), &rows, &query, k, mask.as_ref());
    }
    if let Ok(rows) = matrix.extract::<PyReadonlyArray2<'py, f32>>() {
        return topk(matrix.py(), &rows, &query, k, mask.as_ref());
    }
    Err(PyValueError::new_err(
        "matrix: not an (n, d) array of float32 or float16",
    ))
}

fn topk<'py, T>(
    py: Python<'py>,
    matrix: &PyReadonlyArray2<'py, T>,
    query: &PyReadonlyArray1<'py, f32>,
    k: usize,
    mask: Option<&PyReadonlyArray1<'py, bool>>,
) -> PyResult<Ranked<'py>>
where
    T: Element + Sync,
    for<'a> Rows<'a>: From<&'a [T]>,
{
    let (n, dim) = (matrix.shape()[0], matrix.shape()[1]);
    let query = finite(query)?;
    if query.len() != dim || dim == 0 {
        return Err(PyValueError::new_err(format!(
            "query: {} values for rows of {dim}",
            query.len()
        )));
    }
    // `as_slice` accepts Fortran order too.
    if !matrix.is_c_contiguous() {
        return Err(PyValueError::new_err(
            "matrix: not in C order; copy it first",
        ));
    }
    let values = matrix.as_slice().map_err(|_| not_contiguous("matrix"))?;
    let mask = mask
        .map(|mask| mask.as_slice().map_err(|_| not_contiguous("mask")))
        .transpose()?;
    if let Some(mask) = mask
        && mask.len() != n
    {
        return Err(PyValueError::new_err(format!(
            "mask: {} values for {n} rows; give one for each row",
            mask.len()
        )));
    }
    let found = py.detach(|| {
        let key_of = |row: usize| row as i64;
        let found = match mask {
            None => scan(values.into(), query, k, &|_: usize| true, key_of),
            Some(mask) => scan(values.into(), query, k, &|row: usize| mask[row], key_of),
        };
        found.into_sorted()
    });
    Ok(ranked(py, found))
}

/// Returns the query's values, after checking that they are finite.
fn finite<'a>(query: &'a PyReadonlyArray1<'_, f32>) -> PyResult<&'a [f32]> {
    let query = query.as_slice().map_err(|_| not_contiguous("query"))?;
    check_finite(query)?;
    Ok(query)
}

fn check_finite(values: &[f32]) -> PyResult<()> {
    if values.iter().any(|value| !value.is_finite()) {
        return Err(PyValueError::new_err(
            "query: a value is not finite; embed the text with the index's model",
        ));
    }
    Ok(())
}

fn not_contiguous(name: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: not contiguous; copy it first"))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Dense>()?;
    module.add_function(wrap_pyfunction!(dense_topk, module)?)
}
