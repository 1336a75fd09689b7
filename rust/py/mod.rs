//! Python bindings: the only module that uses pyo3.
//!
//! It converts arguments and results, and contains no algorithm. The GIL is released around every
//! call that loops or accesses a disk.

mod chunk_row;
mod code;
mod copies;
mod dense;
mod error;
mod glob;
mod hits;
mod html;
mod index_folder;
mod interrupt;
mod lexical;
mod onnx;
mod passages;
mod pattern;
mod pdf;
mod phrases;
mod row_terms;
mod sheet;
mod store;
mod text;
mod trigrams;

use pyo3::prelude::*;

/// The native core of crx: the store, the two search legs, fusion and passages.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    text::register(module)?;
    code::register(module)?;
    copies::register(module)?;
    glob::register(module)?;
    hits::register(module)?;
    html::register(module)?;
    interrupt::register(module)?;
    passages::register(module)?;
    pattern::register(module)?;
    pdf::register(module)?;
    phrases::register(module)?;
    row_terms::register(module)?;
    sheet::register(module)?;
    store::register(module)?;
    index_folder::register(module)?;
    lexical::register(module)?;
    onnx::register(module)?;
    trigrams::register(module)?;
    dense::register(module)
}
