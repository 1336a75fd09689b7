//! Python bindings of the lines of a PDF page.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::pdf::{FieldText, Kind, PdfiumFunctions, PdfiumPage, Rect};

/// The left, lower, right and upper edge of a box.
type Edges = (f32, f32, f32, f32);

/// A line: text; left, lower, right and upper edge; height; whether it is bold, a row of a table
/// and the beginning of a paragraph; block.
type Row = (String, Edges, f32, bool, bool, bool, u32);

/// Returns the lines of a page, its characters, those that its fonts name no character for, and
/// whether it has more than are read. `bounds` is the box of the page, outside of which nothing is
/// seen; `fields` are the texts of its form fields and annotations with their boxes.
#[pyfunction]
fn pdf_lines(
    py: Python<'_>,
    addresses: [usize; PdfiumFunctions::NAMES.len()],
    page: usize,
    bounds: Edges,
    fields: Vec<(String, Edges)>,
) -> PyResult<(Vec<Row>, usize, usize, bool)> {
    if page == 0 {
        return Err(PyValueError::new_err("page: null; give an open text page"));
    }
    // SAFETY: the caller, `crx.ingest.readers.pdf_page` alone, takes the addresses from the loaded
    // library by `PDFIUM_FUNCTIONS`, and keeps the page open and locked during the call.
    let page = unsafe {
        PdfiumFunctions::from_addresses(addresses)
            .map(|found| PdfiumPage::new(found, page, rect(bounds)))
    }
    .ok_or_else(|| PyValueError::new_err("addresses: one is null; give those of PDFium"))?;
    let fields: Vec<FieldText> = fields
        .into_iter()
        .map(|(text, edges)| FieldText {
            text,
            rect: rect(edges),
        })
        .collect();
    let (lines, chars, unknown) = py.detach(|| crate::pdf::read_page(&page, &fields));
    let rows = lines
        .into_iter()
        .map(|line| {
            let rect = line.rect;
            (
                line.text,
                (rect.left, rect.low, rect.right, rect.high),
                line.size,
                line.bold,
                line.kind == Kind::Row,
                line.opens,
                line.block,
            )
        })
        .collect();
    Ok((rows, chars, unknown, page.is_cut()))
}

fn rect((left, low, right, high): Edges) -> Rect {
    Rect {
        left,
        low,
        right,
        high,
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add(
        "PDFIUM_FUNCTIONS",
        PyTuple::new(module.py(), PdfiumFunctions::NAMES)?,
    )?;
    module.add_function(wrap_pyfunction!(pdf_lines, module)?)
}
