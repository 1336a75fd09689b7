//! What is true: documents, texts, chunks, contexts, vectors and pointers, in one SQLite file.

use crate::error::{Error, Result};

/// The handle on `crx.db`.
pub struct Store;

/// One chunk with its document's words, as the steps read it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkRow {
    /// The chunk's key: never reused.
    pub key: i64,
    /// Its document.
    pub doc: i64,
    /// The document's URI.
    pub uri: String,
    /// The document's title.
    pub title: String,
    /// The document's language (ISO 639-1, "" unknown).
    pub lang: String,
    /// Its place in the document, from 0.
    pub ordinal: u32,
    /// Code points of the document's text, half open.
    pub start: u32,
    /// End of the span.
    pub end: u32,
    /// Embedder tokens of the document, half open.
    pub token_start: u32,
    /// End of the token span.
    pub token_end: u32,
    /// The innermost heading or definition it lies in, as an index into the document's marks + 1; 0 is none.
    pub section: u32,
    /// `document.text[start:end]`.
    pub text: String,
    /// The model-free context.
    pub outline: String,
    /// The model's context, or "".
    pub context: String,
    /// What became of the model's context: "", "ok", "retried", "rejected:...", "failed:...".
    pub outcome: String,
}

/// A pointer to a published derived file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// File name below `derived/`.
    pub file: String,
    /// The store's sequence number it reflects.
    pub seq: i64,
    /// Keyed BLAKE3 of its bytes.
    pub seal: [u8; 32],
}

/// A set of document ids, as a bitmap: bit `doc` of word `doc / 64`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    words: Vec<u64>,
}

impl Filter {
    /// The set of these documents. Negative ids are a programmer's mistake.
    pub fn from_docs(docs: impl IntoIterator<Item = i64>) -> Self {
        let mut words = Vec::new();
        for doc in docs {
            let doc = usize::try_from(doc).unwrap_or_else(|_| panic!("negative document id"));
            if words.len() <= doc / 64 {
                words.resize(doc / 64 + 1, 0u64);
            }
            words[doc / 64] |= 1 << (doc % 64);
        }
        Filter { words }
    }

    /// Is the document in the set?
    #[inline]
    pub fn contains(&self, doc: i64) -> bool {
        self.words
            .get(doc as usize / 64)
            .is_some_and(|word| word >> (doc as usize % 64) & 1 == 1)
    }

    /// How many documents it holds.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Does it hold none?
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}

impl Store {
    /// The sequence number of the last committed change.
    pub fn seq(&self) -> Result<i64> {
        Err(Error::System("not built yet".into()))
    }

    /// Documents put, changed or removed after `seq`, ascending, each once.
    pub fn changed_since(&self, seq: i64) -> Result<Vec<i64>> {
        let _ = seq;
        Err(Error::System("not built yet".into()))
    }

    /// The chunks of a document in order; empty when it is gone.
    pub fn doc_chunks(&self, doc: i64) -> Result<Vec<ChunkRow>> {
        let _ = doc;
        Err(Error::System("not built yet".into()))
    }

    /// `(chunk key, f16 little-endian bytes)` of a document's embedded chunks; empty when it is gone.
    pub fn doc_vectors(&self, doc: i64) -> Result<Vec<(i64, Vec<u8>)>> {
        let _ = doc;
        Err(Error::System("not built yet".into()))
    }

    /// The published derived file of that name.
    pub fn derived(&self, name: &str) -> Result<Option<Derived>> {
        let _ = name;
        Err(Error::System("not built yet".into()))
    }

    /// Points a name at a published file, or (None) at nothing.
    pub fn set_derived(&self, name: &str, derived: Option<&Derived>) -> Result<()> {
        let _ = (name, derived);
        Err(Error::System("not built yet".into()))
    }

    /// Is this handle the writer?
    pub fn writable(&self) -> bool {
        false
    }
}
