//! Python bindings of globs and ignore patterns.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pyclass(frozen, module = "crx._native")]
struct Glob(crate::glob::Glob);

#[pymethods]
impl Glob {
    #[new]
    fn new(pattern: &str) -> PyResult<Self> {
        crate::glob::Glob::new(pattern)
            .map(Glob)
            .map_err(PyValueError::new_err)
    }

    fn matches(&self, py: Python<'_>, text: &str) -> bool {
        py.detach(|| self.0.matches(text))
    }
}

#[pyclass(frozen, module = "crx._native")]
struct IgnorePatterns(crate::glob::IgnorePatterns);

#[pymethods]
impl IgnorePatterns {
    #[new]
    fn new(py: Python<'_>, lines: Vec<String>) -> PyResult<Self> {
        py.detach(|| crate::glob::IgnorePatterns::new(&lines))
            .map(IgnorePatterns)
            .map_err(|line| {
                PyValueError::new_err(format!("line {line} has more than 1,000 characters"))
            })
    }

    fn check(&self, py: Python<'_>, path: &str) -> Option<bool> {
        py.detach(|| self.0.check(path))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Glob>()?;
    module.add_class::<IgnorePatterns>()
}
