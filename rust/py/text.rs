//! The door to analysis and splitting.

use pyo3::prelude::*;

use crate::analyze;

/// The terms of a text, in order, as the index and the query see them.
#[pyfunction]
#[pyo3(name = "analyze", signature = (text, lang = ""))]
fn analyze_text(py: Python<'_>, text: &str, lang: &str) -> Vec<String> {
    py.detach(|| {
        analyze::terms(text, lang)
            .iter()
            .map(str::to_owned)
            .collect()
    })
}

/// The ISO 639-1 code of the text's language, or "" where it is not reliable.
#[pyfunction]
fn detect_lang(py: Python<'_>, text: &str) -> &'static str {
    py.detach(|| analyze::detect_lang(text))
}

/// The 32-byte BLAKE3 of the parts, each preceded by its length (eight bytes, little endian).
#[pyfunction]
#[pyo3(signature = (*parts))]
fn digest(parts: Vec<pyo3::pybacked::PyBackedBytes>) -> std::borrow::Cow<'static, [u8]> {
    let mut hasher = blake3::Hasher::new();
    for part in &parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().as_bytes().to_vec().into()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(analyze_text, module)?)?;
    module.add_function(wrap_pyfunction!(detect_lang, module)?)?;
    module.add_function(wrap_pyfunction!(digest, module)?)
}
