//! The door to exact scan and ANN.

use half::f16;
use numpy::{
    Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dense::scan::{Rows, Scored, scan};

/// Keys and their scores, as numpy arrays.
type Ranked<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f32>>);

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
    let query = unit(query, dim)?;
    // `as_slice` takes Fortran order too, where an array is contiguous in it.
    if !matrix.is_c_contiguous() {
        return Err(PyValueError::new_err(
            "matrix: not in C order; copy it first",
        ));
    }
    let values = matrix.as_slice().map_err(|_| not_contiguous("matrix"))?;
    let mask = mask
        .map(|mask| mask.as_slice().map_err(|_| not_contiguous("mask")))
        .transpose()?;
    if mask.is_some_and(|mask| mask.len() != n) {
        return Err(PyValueError::new_err(format!(
            "mask: not one value for each of {n} rows"
        )));
    }
    let found = py.detach(|| {
        let key_of = |row: usize| mask.is_none_or(|mask| mask[row]).then_some(row as i64);
        scan(values.into(), query, k, key_of).into_sorted()
    });
    Ok(ranked(py, found))
}

/// The query's values, checked to be `dim` finite numbers.
fn unit<'a>(query: &'a PyReadonlyArray1<'_, f32>, dim: usize) -> PyResult<&'a [f32]> {
    let query = query.as_slice().map_err(|_| not_contiguous("query"))?;
    if query.len() != dim || dim == 0 {
        return Err(PyValueError::new_err(format!(
            "query: {} values for rows of {dim}",
            query.len()
        )));
    }
    if query.iter().any(|value| !value.is_finite()) {
        return Err(PyValueError::new_err(
            "query: not finite; was the text embedded?",
        ));
    }
    Ok(query)
}

fn not_contiguous(name: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: not contiguous; copy it first"))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(dense_topk, module)?)
}
