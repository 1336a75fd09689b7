//! Python bindings of ONNX graphs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::onnx;

/// Returns the names of the files that a graph reads tensors from, as it gives them.
#[pyfunction]
fn onnx_external_files(py: Python<'_>, path: PathBuf) -> PyResult<BTreeSet<String>> {
    let file = std::fs::File::open(path)?;
    py.detach(|| {
        // SAFETY: as with the files of an index, nobody shortens a model's file while it is read.
        let model = unsafe { memmap2::Mmap::map(&file)? };
        onnx::external_files(&model).map_err(PyValueError::new_err)
    })
}

/// Returns a model with one more output, the states of all tokens; None if it has none.
#[pyfunction]
fn onnx_with_states(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<Option<std::borrow::Cow<'static, [u8]>>> {
    py.detach(|| {
        let mut model = std::fs::read(path)?;
        Ok(onnx::states_output(&model).map(|output| {
            model.extend(output);
            model.into()
        }))
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(onnx_external_files, module)?)?;
    module.add_function(wrap_pyfunction!(onnx_with_states, module)?)
}
