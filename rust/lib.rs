//! The core of crx: the store, the two search legs, fusion, and passages. `ARCHITECTURE.md` gives
//! a paragraph to each module.
//!
//! A document is cut into chunks and put into the [`store`], both legs catch up with it, and a query
//! is searched in both. The rankings are fused, and the best chunks are handed over with what stands
//! around them:
//!
//! ```
//! use _native::dense::Dense;
//! use _native::fuse::{ScoredRanking, fuse_scores};
//! use _native::lexical::{Lexical, Query};
//! use _native::lexical::bm25::Bm25;
//! use _native::passages::{ChunkSpan, Order};
//! use _native::split::{Size, split};
//! use _native::store::{NewDocument, Store};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("notes.crx");
//! let store = Store::open(&path, true, true)?;
//!
//! let text = "The lease ends in May.\n\nThe rent is paid monthly.\n\nPets are allowed.";
//! let size = Size { budget: 30, overlap: 0 };
//! let spans = split(text, &[], None, size);
//! let layout = Vec::from_iter(spans.into_iter().map(|(start, end)| ChunkSpan {
//!     start,
//!     end,
//!     token_start: start,
//!     token_end: end,
//!     section: 0,
//! }));
//! assert_eq!(layout.len(), 3);
//!
//! // What situates a chunk is a field of its own. A vector has a key, so that equal texts have one.
//! let vector_keys = [b"end".to_vec(), b"rent".to_vec(), b"pets".to_vec()];
//! store.put_document(&NewDocument {
//!     uri: "lease.txt",
//!     title: "Lease",
//!     lang: "en",
//!     metadata: "{}",
//!     source_hash: &[],
//!     source_size: 0,
//!     source_mtime_ns: 0,
//!     text,
//!     marks: "[]",
//!     layout: &layout,
//!     outlines: &vec!["Lease".to_string(); 3],
//!     context_keys: &vec![Vec::new(); 3],
//!     vector_keys: &vector_keys,
//! })?;
//! store.put_vectors(&vector_keys, &[1.0, 0.0, 0.6, 0.8, 0.0, 1.0], 2)?;
//!
//! let fields = ["text", "outline", "context"].map(String::from);
//! let lexical = Lexical::open(&path.join("derived/bm25"), &fields, true)?;
//! lexical.sync(&store)?;
//! let dense = Dense::open(&path.join("derived"), [0; 32], true, 100_000);
//! dense.sync(&store)?;
//!
//! let langs = ["en".to_string()];
//! let text = "when does the lease end?";
//! let bm25 = Bm25::default();
//! let words = lexical.search(&Query { text, name: "", langs: &langs, k: 150, bm25, only: None })?;
//! let near = dense.search(&[1.0, 0.0], 150, None)?;
//!
//! let near = near.into_iter().map(|row| (row.key, row.score)).collect();
//! let columns = [words, near].map(|found: Vec<(i64, f32)>| {
//!     let (keys, scores): (Vec<i64>, Vec<f32>) = found.into_iter().unzip();
//!     (vec![0.5; keys.len()], keys, scores)
//! });
//! let rankings = columns.each_ref().map(|(weights, keys, scores)| ScoredRanking {
//!     keys,
//!     scores,
//!     weights,
//!     lowest: 0.0,
//! });
//! let best = fuse_scores(&rankings, 0.5, 60.0, 1);
//!
//! let passages = store.select_passages(&best, 4_000, false, Order::Score)?;
//! assert!(passages[0].text.text.contains("The lease ends in May."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
