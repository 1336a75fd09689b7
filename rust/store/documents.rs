//! Documents: reading, renaming and removing them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};
use serde::de::IgnoredAny;

use super::base::Base;
use super::row::{self, OnConflict, all, check, first, insert};
use super::schema::DOCUMENT;
use super::{Store, changes, text};
use crate::code::Kind;
use crate::error::{Error, Result};

/// A document without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow {
    /// Its id: never reused.
    pub doc: i64,
    /// Its URI.
    pub uri: String,
    /// Its title, or "".
    pub title: String,
    /// Its language (ISO 639-1, "" unknown).
    pub lang: String,
    /// What it is, by its path, else by its text.
    pub kind: Kind,
    /// Its metadata, a JSON object.
    pub metadata: String,
    /// The hash of the source it was read from.
    pub source_hash: Vec<u8>,
    /// Bytes of the source.
    pub source_size: i64,
    /// The source's time stamp, nanoseconds since 1970.
    pub source_mtime_ns: i64,
    /// The body of its text.
    pub(super) body: i64,
    /// The number of its chunks.
    pub chunks: i64,
}

impl DocumentRow {
    fn read(row: &Row<'_>) -> Result<Self> {
        check(&DOCUMENT, row, 0)?;
        let (doc, metadata): (_, String) = (row.get(0)?, row.get(5)?);
        let kind: String = row.get(4)?;
        if !is_object(&metadata) {
            // Whoever made the index may have hashed anything.
            return Err(Error::Damaged(format!(
                "document {doc} has metadata that is not a JSON object; `crx verify` lists every fault"
            )));
        }
        let Some(kind) = Kind::named(&kind) else {
            return Err(Error::Damaged(format!(
                "document {doc} is of no kind that there is; `crx verify` lists every fault"
            )));
        };
        Ok(DocumentRow {
            doc,
            uri: row.get(1)?,
            title: row.get(2)?,
            lang: row.get(3)?,
            kind,
            metadata,
            source_hash: row.get(6)?,
            source_size: row.get(7)?,
            source_mtime_ns: row.get(8)?,
            body: row.get(9)?,
            chunks: row.get(10)?,
        })
    }

    /// Reads the documents that the rest of an SQL statement selects.
    pub(super) fn find(db: &Connection, rest: &str, params: impl Params) -> Result<Vec<Self>> {
        let sql = format!("SELECT {} FROM document {rest}", DOCUMENT.select());
        all(db, &sql, params, DocumentRow::read)
    }

    /// Reads the document of that id.
    pub(super) fn find_by_id(db: &Connection, doc: i64) -> Result<Option<Self>> {
        static SQL: LazyLock<String> =
            LazyLock::new(|| format!("SELECT {} FROM document WHERE doc = ?", DOCUMENT.select()));
        first(db, &SQL, [doc], DocumentRow::read)
    }

    /// Returns the row with its URI and the path in its metadata made absolute by a base.
    pub(super) fn located(mut self, base: Option<&Base>) -> Self {
        if let Some(base) = base {
            self.uri = base.absolute(&self.uri).into_owned();
            self.metadata = base.absolute_metadata(&self.metadata).into_owned();
        }
        self
    }

    /// Writes the row; it replaces the one with its id.
    pub(super) fn write(&self, db: &Connection) -> Result<()> {
        let fields = [
            ValueRef::Integer(self.doc),
            row::text(&self.uri),
            row::text(&self.title),
            row::text(&self.lang),
            row::text(self.kind.name()),
            row::text(&self.metadata),
            ValueRef::Blob(&self.source_hash),
            ValueRef::Integer(self.source_size),
            ValueRef::Integer(self.source_mtime_ns),
            ValueRef::Integer(self.body),
            ValueRef::Integer(self.chunks),
        ];
        insert(db, &DOCUMENT, OnConflict::Replace, &fields).map(drop)
    }
}

impl Store {
    /// Returns all documents, by URI.
    pub fn documents(&self) -> Result<Vec<DocumentRow>> {
        let rows = self.read(|db| DocumentRow::find(db, "ORDER BY uri", []))?;
        Ok(rows.into_iter().map(|row| self.locate(row)).collect())
    }

    /// Returns the names of the fields in the metadata of all documents.
    pub fn metadata_fields(&self) -> Result<BTreeSet<String>> {
        let rows = self.read(|db| DocumentRow::find(db, "", []))?;
        let fields_of = |row: &DocumentRow| {
            let fields: Option<BTreeMap<String, IgnoredAny>> =
                serde_json::from_str(&row.metadata).ok();
            fields.unwrap_or_default().into_keys()
        };
        Ok(rows.iter().flat_map(fields_of).collect())
    }

    /// Returns the document of that URI.
    pub fn document(&self, uri: &str) -> Result<Option<DocumentRow>> {
        let stored = self.stored_uri(uri);
        let found = self.read(|db| Ok(DocumentRow::find(db, "WHERE uri = ?", [&stored])?.pop()))?;
        Ok(found.map(|row| self.locate(row)))
    }

    /// Returns the document of that id.
    pub fn document_by_id(&self, doc: i64) -> Result<Option<DocumentRow>> {
        let found = self.read_rows(|db, rows| rows.document(db, self.base.as_ref(), doc))?;
        Ok(found.map(Arc::unwrap_or_clone))
    }

    /// Returns a document's text, after checking its hash.
    pub fn text(&self, doc: i64) -> Result<String> {
        self.read(|db| Ok(text::read(db, by_id(db, doc)?.body)?.0))
    }

    /// Returns a document's marks, as the JSON with which it was put.
    pub fn marks(&self, doc: i64) -> Result<String> {
        self.read(|db| text::marks(db, by_id(db, doc)?.body))
    }

    /// Updates the time stamp and size of a source. The sequence number does not change, since no leg
    /// reads them.
    pub fn touch_document(&self, uri: &str, mtime_ns: i64, size: i64) -> Result<()> {
        let uri = self.stored_uri(uri);
        self.write_in_group(|db| {
            let mut document = by_uri(db, &uri)?;
            document.source_mtime_ns = mtime_ns;
            document.source_size = size;
            document.write(db)
        })
    }

    /// Changes the URI, the metadata and the time stamp of a document.
    pub fn rename_document(
        &self,
        old: &str,
        new: &str,
        metadata: &str,
        mtime_ns: i64,
    ) -> Result<()> {
        let (old, new) = (self.stored_uri(old), self.stored_uri(new));
        let metadata = self.stored_metadata(metadata);
        self.write_in_group(|db| rename(db, by_uri(db, &old)?, &new, &metadata, mtime_ns))
    }

    /// Removes documents with their chunks, damaged or not; their contexts, vectors and texts stay
    /// until `gc`. Returns the number of removed documents.
    pub fn remove_documents(&self, uris: &[String]) -> Result<usize> {
        let uris: Vec<_> = uris.iter().map(|uri| self.stored_uri(uri)).collect();
        self.write_in_group(|db| {
            let mut gone = Vec::new();
            for uri in &uris {
                db.prepare_cached("DELETE FROM failure WHERE uri = ?")?
                    .execute([uri])?;
                let doc = row::value(db, "SELECT doc FROM document WHERE uri = ?", [uri])?;
                let Some(doc) = doc else { continue };
                db.prepare_cached("DELETE FROM chunk WHERE doc = ?")?
                    .execute([doc])?;
                db.prepare_cached("DELETE FROM document WHERE doc = ?")?
                    .execute([doc])?;
                gone.push(doc);
            }
            changes::log(db, &gone)?;
            Ok(gone.len())
        })
    }
}

/// Returns whether a text is a JSON object that does not nest too deeply to be read.
pub(super) fn is_object(json: &str) -> bool {
    // Values that are ignored may nest without a limit.
    serde_json::from_str::<serde_json::Value>(json).is_ok_and(|value| value.is_object())
}

/// Changes the stored URI, the metadata and the time stamp of a document.
fn rename(
    db: &Connection,
    mut document: DocumentRow,
    new: &str,
    metadata: &str,
    mtime_ns: i64,
) -> Result<()> {
    let old = std::mem::replace(&mut document.uri, new.to_string());
    if old != new && !DocumentRow::find(db, "WHERE uri = ?", [new])?.is_empty() {
        return Err(Error::Invalid(format!(
            "{new}: exists already; remove it before you rename {old}"
        )));
    }
    document.kind = match Kind::of_path(new) {
        Some(kind) => kind,
        None => Kind::of_text(&text::read(db, document.body)?.0),
    };
    document.metadata = metadata.to_string();
    document.source_mtime_ns = mtime_ns;
    document.write(db)?;
    db.prepare_cached("DELETE FROM failure WHERE uri = ?")?
        .execute([new])?;
    changes::log(db, &[document.doc])
}

/// Reads the document of an id.
///
/// # Errors
/// [`Error::Invalid`] if there is none.
pub(super) fn by_id(db: &Connection, doc: i64) -> Result<DocumentRow> {
    DocumentRow::find_by_id(db, doc)?.ok_or_else(|| no_such_document(doc))
}

fn by_uri(db: &Connection, uri: &str) -> Result<DocumentRow> {
    DocumentRow::find(db, "WHERE uri = ?", [uri])?
        .pop()
        .ok_or_else(|| Error::Invalid(format!("{uri}: no such document; `documents()` lists them")))
}

/// The error of an id without a document.
pub(super) fn no_such_document(doc: i64) -> Error {
    Error::Invalid(format!(
        "document {doc}: no such document; `documents()` lists them"
    ))
}
