//! Python bindings of patterns.

use pyo3::prelude::*;

use super::error::raise;

/// A regular expression or a literal text.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct Pattern(pub(crate) crate::pattern::Pattern);

#[pymethods]
impl Pattern {
    #[staticmethod]
    fn regex(py: Python<'_>, source: &str) -> PyResult<Self> {
        py.detach(|| crate::pattern::Pattern::regex(source))
            .map(Pattern)
            .map_err(raise)
    }

    #[staticmethod]
    fn literal(py: Python<'_>, text: &str) -> PyResult<Self> {
        py.detach(|| crate::pattern::Pattern::literal(text))
            .map(Pattern)
            .map_err(raise)
    }

    fn spans(&self, py: Python<'_>, text: &str) -> Vec<(usize, usize)> {
        py.detach(|| self.0.spans(text))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Pattern>()
}
