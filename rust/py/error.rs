//! Python exceptions for the errors of the core.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Error;

/// Converts an error of the core to the exception of `crx.errors` that it names.
pub(super) fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    let name = error.python_name();
    Python::attach(|py| {
        if name == "ValueError" {
            return PyValueError::new_err(text);
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
