//! Which documents are there, and what are their words?

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};

use super::row::{self, Existing, all, check, insert};
use super::schema::DOCUMENT;
use super::{Store, body, changes};
use crate::error::{Error, Result};

/// One document, without its text.
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
    /// Its metadata, a JSON object.
    pub metadata: String,
    /// The hash of the source it was read from.
    pub source_hash: Vec<u8>,
    /// Bytes of the source.
    pub source_size: i64,
    /// The source's time stamp, nanoseconds since 1970.
    pub source_mtime_ns: i64,
    /// Its text's body.
    pub(super) body: i64,
    /// How many chunks it has.
    pub chunks: i64,
}

impl DocumentRow {
    fn read(row: &Row<'_>) -> Result<Self> {
        check(&DOCUMENT, row, 0)?;
        Ok(DocumentRow {
            doc: row.get(0)?,
            uri: row.get(1)?,
            title: row.get(2)?,
            lang: row.get(3)?,
            metadata: row.get(4)?,
            source_hash: row.get(5)?,
            source_size: row.get(6)?,
            source_mtime_ns: row.get(7)?,
            body: row.get(8)?,
            chunks: row.get(9)?,
        })
    }

    /// The documents that `rest` of the statement names.
    pub(super) fn find(db: &Connection, rest: &str, params: impl Params) -> Result<Vec<Self>> {
        let sql = format!("SELECT {} FROM document {rest}", DOCUMENT.select());
        all(db, &sql, params, DocumentRow::read)
    }

    /// Writes the row, in place of the one with its id.
    pub(super) fn write(&self, db: &Connection) -> Result<()> {
        let fields = [
            ValueRef::Integer(self.doc),
            row::text(&self.uri),
            row::text(&self.title),
            row::text(&self.lang),
            row::text(&self.metadata),
            ValueRef::Blob(&self.source_hash),
            ValueRef::Integer(self.source_size),
            ValueRef::Integer(self.source_mtime_ns),
            ValueRef::Integer(self.body),
            ValueRef::Integer(self.chunks),
        ];
        insert(db, &DOCUMENT, Existing::Replace, &fields).map(drop)
    }
}

impl Store {
    /// All documents, by URI.
    pub fn documents(&self) -> Result<Vec<DocumentRow>> {
        self.read(|db| DocumentRow::find(db, "ORDER BY uri", []))
    }

    /// The document of that URI.
    pub fn document(&self, uri: &str) -> Result<Option<DocumentRow>> {
        self.read(|db| Ok(DocumentRow::find(db, "WHERE uri = ?", [uri])?.pop()))
    }

    /// The document of that id.
    pub fn document_by_id(&self, doc: i64) -> Result<Option<DocumentRow>> {
        self.read(|db| Ok(DocumentRow::find(db, "WHERE doc = ?", [doc])?.pop()))
    }

    /// A document's text, checked against its hash.
    pub fn text(&self, doc: i64) -> Result<String> {
        self.read(|db| Ok(body::read(db, body_of(db, doc)?)?.0))
    }

    /// A document's marks, as the JSON they were put with.
    pub fn marks(&self, doc: i64) -> Result<String> {
        self.read(|db| body::marks(db, body_of(db, doc)?))
    }

    /// Notes a source's new time stamp and size. No leg sees them: the sequence number stays.
    pub fn touch_document(&self, uri: &str, mtime_ns: i64, size: i64) -> Result<()> {
        self.write(|db| {
            let mut document = by_uri(db, uri)?;
            document.source_mtime_ns = mtime_ns;
            document.source_size = size;
            document.write(db)
        })
    }

    /// Gives a document another URI; nothing else changes.
    pub fn rename_document(
        &self,
        old: &str,
        new: &str,
        metadata: &str,
        mtime_ns: i64,
    ) -> Result<()> {
        self.write(|db| {
            let mut document = by_uri(db, old)?;
            if old != new && !DocumentRow::find(db, "WHERE uri = ?", [new])?.is_empty() {
                return Err(Error::Invalid(format!(
                    "{new}: there is such a document already; remove it before {old} takes its name"
                )));
            }
            document.uri = new.to_string();
            document.metadata = metadata.to_string();
            document.source_mtime_ns = mtime_ns;
            document.write(db)?;
            db.prepare_cached("DELETE FROM failure WHERE uri = ?")?
                .execute([new])?;
            changes::log(db, &[document.doc])
        })
    }

    /// Removes documents with their chunks, damaged or not; contexts, vectors and texts stay until
    /// `gc`. Returns how many there were.
    pub fn remove_documents(&self, uris: &[String]) -> Result<usize> {
        self.write(|db| {
            let mut gone = Vec::new();
            for uri in uris {
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

fn body_of(db: &Connection, doc: i64) -> Result<i64> {
    let found = DocumentRow::find(db, "WHERE doc = ?", [doc])?.pop();
    found.map(|document| document.body).ok_or_else(|| {
        Error::Invalid(format!(
            "document {doc}: no such document; `documents()` lists them"
        ))
    })
}

fn by_uri(db: &Connection, uri: &str) -> Result<DocumentRow> {
    DocumentRow::find(db, "WHERE uri = ?", [uri])?
        .pop()
        .ok_or_else(|| Error::Invalid(format!("{uri}: no such document; `documents()` lists them")))
}
