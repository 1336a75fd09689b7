//! The door: the only module that says pyo3. It knows no algorithm; the GIL is released around
//! every call that loops or touches a disk.

mod dense;
mod lexical;
mod passages;
mod store;
mod text;

use pyo3::prelude::*;

use crate::error::Error;

/// Raises the class of `crx.errors` that the core's error names.
pub(crate) fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    let name = error.python_name();
    Python::attach(|py| {
        if name == "ValueError" {
            return pyo3::exceptions::PyValueError::new_err(text);
        }
        match py
            .import("crx.errors")
            .and_then(|module| module.getattr(name))
            .and_then(|class| class.call1((text.as_str(),)))
        {
            Ok(value) => PyErr::from_value(value),
            Err(error) => error,
        }
    })
}

/// The native core of crx: the store, BM25, the dense scan, fusion and window expansion.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    text::register(module)?;
    passages::register(module)?;
    store::register(module)?;
    lexical::register(module)?;
    dense::register(module)
}
