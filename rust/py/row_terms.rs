//! Python binding of a query's terms in the rows of a text.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::row_terms;

/// A query, which is analyzed once.
#[pyclass(frozen, module = "crx._native")]
struct LexicalQuery(row_terms::LexicalQuery);

/// The terms of each row as numbers of the weights, the weights, and the rows that define the query.
type RowTerms = (Vec<Vec<usize>>, Vec<(String, f64)>, Vec<usize>);

#[pymethods]
impl LexicalQuery {
    #[new]
    fn new(py: Python<'_>, query: &str) -> Self {
        LexicalQuery(py.detach(|| row_terms::LexicalQuery::new(query)))
    }

    #[getter]
    fn wholes(&self) -> Vec<String> {
        self.0.wholes().to_vec()
    }

    fn terms_for(&self, py: Python<'_>, text: &str) -> Vec<String> {
        py.detach(|| self.0.terms_for(text))
    }

    #[getter]
    fn is_plain_word(&self) -> bool {
        self.0.is_plain_word()
    }

    fn count_word(&self, py: Python<'_>, texts: Vec<PyBackedStr>) -> Vec<(usize, usize)> {
        py.detach(|| {
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            let counts = self.0.count_word(&texts);
            counts.iter().map(|each| (each.whole, each.part)).collect()
        })
    }

    #[pyo3(signature = (rows, *, known))]
    fn row_terms(
        &self,
        py: Python<'_>,
        rows: Vec<PyBackedStr>,
        known: HashSet<String>,
    ) -> RowTerms {
        py.detach(|| {
            let rows: Vec<&str> = rows.iter().map(|row| &**row).collect();
            let found = self.0.row_terms(&rows, &known);
            (found.rows, found.weights, found.defining)
        })
    }

    fn find_answers(&self, py: Python<'_>, texts: Vec<PyBackedStr>) -> Vec<(usize, usize)> {
        py.detach(|| {
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            self.0.find_answers(&texts)
        })
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LexicalQuery>()
}
