//! The core of crx. Each module answers one question; `ARCHITECTURE.md` lists them.
#![warn(missing_docs)]

pub mod analyze;
pub mod ann;
pub mod bm25;
pub mod choose;
pub mod dense;
pub mod error;
pub mod fuse;
pub mod lexical;
#[cfg(feature = "python")]
mod py;
pub mod seal;
pub mod split;
pub mod store;
pub mod widen;
