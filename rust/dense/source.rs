//! The part of the store that the dense leg reads and writes.

use crate::error::Result;
use crate::store::{Derived, DocVector, Store};

/// A store of vectors, as [`super::Dense`] uses it. The tests have an implementation in memory.
pub trait Source {
    /// Returns the sequence number of the last committed change.
    fn seq(&self) -> Result<i64>;
    /// Returns the documents put, changed or removed after `seq`, ascending, without repeats.
    fn changed_since(&self, seq: i64) -> Result<Vec<i64>>;
    /// Returns whether any chunk has a vector.
    fn has_vectors(&self) -> Result<bool>;
    /// Returns the vectors of a document's embedded chunks.
    fn doc_vectors(&self, doc: i64) -> Result<Vec<DocVector>>;
    /// Returns the URI of a document, or "" if there is no such document.
    fn uri(&self, doc: i64) -> Result<String>;
    /// Returns the published derived file of that name.
    fn derived(&self, name: &str) -> Result<Option<Derived>>;
    /// Sets the published derived file of that name, or removes it (`None`).
    fn set_derived(&self, name: &str, derived: Option<&Derived>) -> Result<()>;
    /// Returns whether this handle is the writer.
    fn writable(&self) -> bool;
}

impl Source for Store {
    fn seq(&self) -> Result<i64> {
        Store::seq(self)
    }
    fn changed_since(&self, seq: i64) -> Result<Vec<i64>> {
        Store::changed_since(self, seq)
    }
    fn has_vectors(&self) -> Result<bool> {
        Store::has_vectors(self)
    }
    fn doc_vectors(&self, doc: i64) -> Result<Vec<DocVector>> {
        Store::doc_vectors(self, doc)
    }
    fn uri(&self, doc: i64) -> Result<String> {
        let document = self.document_by_id(doc)?;
        Ok(document.map(|document| document.uri).unwrap_or_default())
    }
    fn derived(&self, name: &str) -> Result<Option<Derived>> {
        Store::derived(self, name)
    }
    fn set_derived(&self, name: &str, derived: Option<&Derived>) -> Result<()> {
        Store::set_derived(self, name, derived)
    }
    fn writable(&self) -> bool {
        Store::writable(self)
    }
}
