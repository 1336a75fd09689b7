//! The door to the store.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::store;

/// A set of documents, pushed into both legs.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct Filter {
    pub(crate) inner: Arc<store::Filter>,
}

/// The handle on `crx.db`: the only truth.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct Store {
    pub(crate) inner: Arc<store::Store>,
}

pub(super) fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
