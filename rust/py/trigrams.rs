//! Python bindings of the trigram filter.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::dense::parse_key;
use super::error::raise;
use super::store::Store;

/// `derived/trigrams-<n>.bits`.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct Trigrams(pub(crate) crate::trigrams::Trigrams);

#[pymethods]
impl Trigrams {
    #[staticmethod]
    #[pyo3(signature = (folder, *, seal_key))]
    fn open(folder: PathBuf, seal_key: &[u8]) -> PyResult<Self> {
        let key = parse_key(seal_key)?;
        Ok(Trigrams(crate::trigrams::Trigrams::open(&folder, key)))
    }

    #[getter]
    fn faults(&self) -> Vec<String> {
        self.0.faults()
    }

    fn check(&self, py: Python<'_>, store: &Store) -> PyResult<()> {
        py.detach(|| self.0.check(&store.inner)).map_err(raise)
    }

    fn publish(&self, py: Python<'_>, store: &Store) -> PyResult<()> {
        py.detach(|| self.0.publish(&store.inner)).map_err(raise)
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Trigrams>()
}
