//! Python bindings of the rows of workbooks.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::error::raise;
use crate::sheet::date::DateFormat;
use crate::sheet::number::{FixedPoint, push_general};
use crate::sheet::rows::{NumberFormat, SheetRows, Style, Value};
use crate::sheet::strings::SharedStrings;

/// The text before, whether thousands have commas, decimals, the text after, the decimals to shift
/// by, whether a number below zero has a minus.
type Digits = (String, bool, u16, String, u16, bool);
/// The kind of each token of a code, and its text.
type Tokens = Vec<(String, String)>;

/// A format of numbers that the core shows.
#[derive(FromPyObject)]
enum Format {
    FixedPoint(Digits),
    Date(Tokens),
}

/// The shared strings of a workbook.
#[pyclass(module = "crx._native", name = "SheetStrings")]
pub(crate) struct Strings {
    parser: SharedStrings,
    strings: Arc<[Box<str>]>,
}

#[pymethods]
impl Strings {
    #[new]
    fn new() -> Self {
        Strings {
            parser: SharedStrings::default(),
            strings: Arc::new([]),
        }
    }

    fn feed(&mut self, py: Python<'_>, piece: &[u8]) -> PyResult<()> {
        py.detach(|| self.parser.feed(piece)).map_err(raise)
    }

    fn close(&mut self) -> PyResult<()> {
        self.strings = self.parser.close().map_err(raise)?;
        Ok(())
    }
}

/// The rows of a sheet.
#[pyclass(module = "crx._native", name = "SheetRows")]
pub(crate) struct Rows(SheetRows, usize);

#[pymethods]
impl Rows {
    #[new]
    #[pyo3(signature = (strings, styles, *, from_1904))]
    fn new(
        strings: &Strings,
        styles: Vec<Option<([Option<Format>; 3], bool)>>,
        from_1904: bool,
    ) -> Self {
        let styles = styles.into_iter().map(|style| match style {
            None => Style::default(),
            Some((numbers, formats_text)) => Style {
                numbers: numbers.map(number_format),
                formats_text,
            },
        });
        Rows(
            SheetRows::new(strings.strings.clone(), styles.collect(), from_1904),
            0,
        )
    }

    #[getter]
    fn uncomputed(&self) -> usize {
        self.0.uncomputed()
    }

    fn feed<'py>(
        &mut self,
        py: Python<'py>,
        piece: &[u8],
    ) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
        let values = py.detach(|| self.0.feed(piece)).map_err(raise)?;
        self.1 = values.len();
        let values = values.into_iter().map(|(style, value)| {
            let value = match value {
                Value::Number(number) => number.into_bound_py_any(py)?,
                Value::Text(text) => text.into_bound_py_any(py)?,
            };
            Ok((style, value))
        });
        values.collect()
    }

    #[allow(clippy::needless_pass_by_value)]
    fn take_rows<'py>(
        &mut self,
        py: Python<'py>,
        shown: Vec<String>,
    ) -> PyResult<Vec<(u32, Bound<'py, PyTuple>, String)>> {
        if shown.len() != self.1 {
            return Err(PyValueError::new_err("shown: give a text for each value"));
        }
        self.1 = 0;
        let rows = py.detach(|| self.0.take_rows(&shown));
        let mut last: Option<(Vec<u32>, Bound<'py, PyTuple>)> = None;
        let mut taken = Vec::with_capacity(rows.len());
        for row in rows {
            let columns = match last {
                Some((columns, tuple)) if columns == row.columns => (columns, tuple),
                _ => {
                    let tuple = PyTuple::new(py, &row.columns)?;
                    (row.columns, tuple)
                }
            };
            taken.push((row.number, columns.1.clone(), row.cells));
            last = Some(columns);
        }
        Ok(taken)
    }

    fn close(&self) -> PyResult<()> {
        self.0.close().map_err(raise)
    }
}

fn number_format(format: Option<Format>) -> NumberFormat {
    match format {
        Some(Format::FixedPoint(digits)) => NumberFormat::FixedPoint(fixed_point(digits)),
        Some(Format::Date(tokens)) => NumberFormat::Date(DateFormat::new(&tokens)),
        None => NumberFormat::Other,
    }
}

fn fixed_point((before, is_grouped, decimals, after, shift, is_signed): Digits) -> FixedPoint {
    FixedPoint {
        before,
        is_grouped,
        decimals,
        after,
        shift,
        is_signed,
    }
}

/// Returns a number with up to 15 significant digits, a whole number without a fraction.
#[pyfunction]
fn show_general(value: f64) -> String {
    let mut shown = String::new();
    push_general(&mut shown, value);
    shown
}

/// Returns a number in a format of one row of digits.
#[pyfunction]
fn show_fixed_point(value: f64, format: Digits) -> String {
    let mut shown = String::new();
    fixed_point(format).push(&mut shown, value);
    shown
}

/// Returns a serial number of days as the tokens of a code show it, None if it is no date.
#[pyfunction]
#[pyo3(signature = (value, tokens, *, from_1904))]
#[allow(clippy::needless_pass_by_value)]
fn show_date(value: f64, tokens: Tokens, from_1904: bool) -> Option<String> {
    let mut shown = String::new();
    let is_date = DateFormat::new(&tokens).push(&mut shown, value, from_1904);
    is_date.then_some(shown)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Strings>()?;
    module.add_class::<Rows>()?;
    module.add_function(wrap_pyfunction!(show_date, module)?)?;
    module.add_function(wrap_pyfunction!(show_general, module)?)?;
    module.add_function(wrap_pyfunction!(show_fixed_point, module)?)
}
