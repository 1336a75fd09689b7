//! Python bindings of phrases and names in texts.

use pyo3::prelude::*;

use super::chunk_row::{Chunk, RowText};
use crate::phrases::{self, Name};

/// Returns the numbers of the rows whose texts may hold all phrases.
#[pyfunction]
fn rows_with_phrases(
    py: Python<'_>,
    rows: Vec<Bound<'_, PyAny>>,
    phrases: Vec<String>,
) -> PyResult<Vec<usize>> {
    let rows = rows.iter().map(RowText::of).collect::<PyResult<Vec<_>>>()?;
    Ok(py.detach(|| {
        let texts: Vec<&str> = rows.iter().map(RowText::text).collect();
        phrases::may_hold(&texts, &phrases)
    }))
}

/// Returns the numbers of the rows whose texts may hold a name.
#[pyfunction]
fn rows_with_names(
    py: Python<'_>,
    rows: Vec<Bound<'_, PyAny>>,
    names: Vec<(String, Vec<String>)>,
) -> PyResult<Vec<usize>> {
    let rows = rows.iter().map(Chunk::of).collect::<PyResult<Vec<_>>>()?;
    let name = |(name, document)| Name { name, document };
    let names: Vec<Name> = names.into_iter().map(name).collect();
    Ok(py.detach(|| {
        let texts = rows.iter().map(|row| {
            let [outline, _, title, _] = row.about();
            (row.text(), [title, outline])
        });
        phrases::may_name(texts, &names)
    }))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rows_with_phrases, module)?)?;
    module.add_function(wrap_pyfunction!(rows_with_names, module)?)
}
