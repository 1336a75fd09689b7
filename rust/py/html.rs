//! Python bindings of the text of HTML pages.

use pyo3::prelude::*;

/// Returns the main text of a page and its headings: start, label and level.
#[pyfunction]
#[pyo3(signature = (markup, *, ignore_case))]
fn page_text(
    py: Python<'_>,
    markup: &str,
    ignore_case: bool,
) -> (String, Vec<(usize, String, u8)>) {
    let page = py.detach(|| crate::html::page_text(markup, ignore_case));
    let headings = page.headings.into_iter();
    let headings = headings.map(|heading| (heading.start, heading.label, heading.level));
    (page.text, headings.collect())
}

/// Returns the markup of a page within bounds of depth and attributes; None for one that is.
#[pyfunction]
fn bounded_page(py: Python<'_>, markup: &str) -> Option<String> {
    py.detach(|| crate::html::bounded(markup))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bounded_page, module)?)?;
    module.add_function(wrap_pyfunction!(page_text, module)?)
}
