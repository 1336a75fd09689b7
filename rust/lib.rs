//! The core of crx: the store, the two search legs, fusion, and passages. `ARCHITECTURE.md` gives
//! a paragraph to each module.
#![warn(missing_docs)]

pub mod analyze;
pub mod code;
pub mod copies;
pub mod dense;
pub mod error;
mod files;
pub mod fuse;
pub mod glob;
pub mod html;
pub mod index_folder;
mod interner;
pub mod interrupt;
pub mod lexical;
pub mod onnx;
pub mod passages;
pub mod pattern;
pub mod pdf;
pub mod phrases;
mod pool;
#[cfg(feature = "python")]
mod py;
pub mod row_terms;
pub mod seal;
pub mod sheet;
pub mod split;
pub mod store;
pub mod trigrams;

#[cfg(test)]
#[path = "../fuzz/entry_points.rs"]
mod fuzz_entry_points;
