//! Chunks: reading them by key and by document.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};

use super::Store;
use super::documents::DocumentRow;
use super::read_rows::ReadRows;
use super::row::{self, HASH_BYTES, OnConflict, all, insert, value};
use super::schema::CHUNK;
use super::text::{self, Cursor};
use crate::code::Kind;
use crate::error::{Error, Result};
use crate::passages::{ChunkSpan, LayoutChunk};

/// A chunk with its document's names and its contexts.
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
    /// What the document is.
    pub kind: Kind,
    /// Its ordinal in the document, from 0.
    pub ordinal: u32,
    /// Its first code point.
    pub start: u32,
    /// The code point after its last.
    pub end: u32,
    /// Its first token of the document.
    pub token_start: u32,
    /// The token after its last.
    pub token_end: u32,
    /// As [`ChunkSpan::section`].
    pub section: u32,
    /// `document.text[start:end]`.
    pub text: String,
    /// The model-free context.
    pub outline: String,
    /// The context written by a model, or "".
    pub context: String,
    /// The outcome of making that context: "", "ok", "retried", "rejected:...", "failed:...".
    pub outcome: String,
}

impl Store {
    /// Returns the chunks with these keys, in their order; a key without a chunk is skipped.
    pub fn chunks(&self, keys: &[i64]) -> Result<Vec<ChunkRow>> {
        let mut found = self.read_rows(|db, rows| {
            rows.read_chunks(db, keys)?;
            let mut found = Vec::with_capacity(keys.len());
            for &key in keys {
                if let Some(chunk) = rows.chunk(key)
                    && let Some(document) = rows.document(db, chunk.doc)?
                {
                    let (body, span) = (document.body, chunk.span);
                    let pieces = rows.pieces(db, body, span.start, span.end)?;
                    let (_, text) = text::cut(&pieces, body, span.start, span.end)?;
                    found.push(chunk_row(db, rows, &document, &chunk, text)?);
                }
            }
            Ok(found)
        })?;
        if self.base.is_some() {
            for chunk in &mut found {
                chunk.uri = self.absolute_uri(&chunk.uri);
            }
        }
        Ok(found)
    }

    /// Returns the keys of a document's chunks by ordinal.
    pub fn chunk_keys(&self, doc: i64) -> Result<Vec<i64>> {
        self.read(|db| {
            Ok(StoredChunk::of_document(db, doc)?
                .iter()
                .map(|chunk| chunk.key)
                .collect())
        })
    }

    /// Returns the keys of the context, the wanted and the present vector of each of a document's
    /// chunks, by ordinal; an empty key means that there is none.
    pub fn chunk_links(&self, doc: i64) -> Result<Vec<[Vec<u8>; 3]>> {
        self.read(|db| {
            let chunks = StoredChunk::of_document(db, doc)?.into_iter();
            Ok(chunks
                .map(|chunk| [chunk.context_key, chunk.wanted_key, chunk.vector_key])
                .collect())
        })
    }

    /// Returns the spans of a document's chunks by ordinal.
    pub fn layout(&self, doc: i64) -> Result<Vec<ChunkSpan>> {
        self.read(|db| {
            Ok(StoredChunk::of_document(db, doc)?
                .iter()
                .map(|chunk| chunk.span)
                .collect())
        })
    }

    /// Returns the chunks of a document by ordinal; none if there is no such document.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if one of them is missing, or the document of some.
    pub fn doc_chunks(&self, doc: i64) -> Result<Vec<ChunkRow>> {
        self.read_rows(|db, rows| {
            let Some(document) = whole_document(db, doc)? else {
                return Ok(Vec::new());
            };
            let chunks = StoredChunk::of_document(db, doc)?;
            let (text, _) = text::read(db, document.body)?;
            let spans: Vec<_> = chunks
                .iter()
                .map(|chunk| (chunk.span.start, chunk.span.end))
                .collect();
            chunks
                .iter()
                .zip(cut(&text, &spans))
                .map(|(chunk, text)| chunk_row(db, rows, &document, chunk, text.to_string()))
                .collect()
        })
    }
}

/// Returns the document of an id, if there is one.
///
/// # Errors
/// [`Error::Damaged`] if it does not have all of its chunks, or there are chunks and no document.
pub(super) fn whole_document(db: &Connection, doc: i64) -> Result<Option<DocumentRow>> {
    let document = DocumentRow::find_by_id(db, doc)?;
    let chunks = value(db, "SELECT count(*) FROM chunk WHERE doc = ?", [doc])?;
    match chunks == Some(document.as_ref().map_or(0, |document| document.chunks)) {
        true => Ok(document),
        false => Err(lacks_row(doc)),
    }
}

/// The error of a document that lacks its own row, or one of its chunks.
pub(super) fn lacks_row(doc: i64) -> Error {
    Error::Damaged(format!(
        "document {doc} lacks rows that it should have; `crx verify` lists every fault"
    ))
}

/// Returns a chunk with the names of its document, its text and its context.
fn chunk_row(
    db: &Connection,
    rows: &mut ReadRows,
    document: &DocumentRow,
    chunk: &StoredChunk,
    text: String,
) -> Result<ChunkRow> {
    let (outcome, context) = match chunk.context_key.is_empty() {
        true => (String::new(), String::new()),
        false => {
            let context = rows.context(db, &chunk.context_key)?;
            (context.outcome.clone(), context.text.clone())
        }
    };
    let ChunkSpan {
        start,
        end,
        token_start,
        token_end,
        section,
    } = chunk.span;
    Ok(ChunkRow {
        key: chunk.key,
        doc: chunk.doc,
        uri: document.uri.clone(),
        title: document.title.clone(),
        lang: document.lang.clone(),
        kind: document.kind,
        ordinal: chunk.ordinal,
        start,
        end,
        token_start,
        token_end,
        section,
        text,
        outline: chunk.outline.clone(),
        context,
        outcome,
    })
}

/// Returns `text[start..end]` of spans whose starts and ends are ascending, in one pass.
pub(super) fn cut<'a>(text: &'a str, spans: &[(u32, u32)]) -> Vec<&'a str> {
    let (mut starts, mut ends) = (Cursor::new(text), Cursor::new(text));
    let part = |&(start, end): &(u32, u32)| {
        let from = starts.advance(start as usize);
        &text[from..ends.advance(end as usize).max(from)]
    };
    spans.iter().map(part).collect()
}

/// A row of the table `chunk`. An empty key means that there is none.
#[derive(Debug, Clone)]
pub(super) struct StoredChunk {
    pub(super) key: i64,
    pub(super) doc: i64,
    pub(super) ordinal: u32,
    pub(super) span: ChunkSpan,
    pub(super) outline: String,
    pub(super) context_key: Vec<u8>,
    /// The vector that it should have.
    pub(super) wanted_key: Vec<u8>,
    /// The vector that it has.
    pub(super) vector_key: Vec<u8>,
}

impl StoredChunk {
    /// Returns the ordinal and the span.
    pub(super) fn layout(&self) -> LayoutChunk {
        LayoutChunk {
            ordinal: self.ordinal,
            span: self.span,
        }
    }

    /// Reads the chunks that match an SQL condition.
    pub(super) fn find(db: &Connection, condition: &str, params: impl Params) -> Result<Vec<Self>> {
        let sql = format!("SELECT {} FROM chunk WHERE {condition}", CHUNK.select());
        all(db, &sql, params, StoredChunk::read)
    }

    /// Reads a document's chunks by ordinal.
    pub(super) fn of_document(db: &Connection, doc: i64) -> Result<Vec<Self>> {
        StoredChunk::find(db, "doc = ? ORDER BY ordinal", [doc])
    }

    /// Reads the chunk in the first columns of a row, and checks its hash.
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        let fields = row::checked::<12>(&CHUNK, row)?;
        let key = |at: usize| -> Result<Vec<u8>> {
            Ok(row::field::<Option<Vec<u8>>>(fields[at])?.unwrap_or_default())
        };
        Ok(StoredChunk {
            key: row::field(fields[0])?,
            doc: row::field(fields[1])?,
            ordinal: row::field(fields[2])?,
            span: span_of(&fields)?,
            outline: row::field(fields[8])?,
            context_key: key(9)?,
            wanted_key: key(10)?,
            vector_key: key(11)?,
        })
    }

    /// Reads the key, the ordinal and the span of the chunk in the first columns of a row, and checks
    /// its hash.
    pub(super) fn read_layout(row: &Row<'_>) -> Result<(i64, LayoutChunk)> {
        let fields = row::checked::<12>(&CHUNK, row)?;
        let ordinal = row::field(fields[2])?;
        let span = span_of(&fields)?;
        Ok((row::field(fields[0])?, LayoutChunk { ordinal, span }))
    }

    fn fields(&self) -> [ValueRef<'_>; 12] {
        let number = |number: u32| ValueRef::Integer(i64::from(number));
        [
            ValueRef::Integer(self.key),
            ValueRef::Integer(self.doc),
            number(self.ordinal),
            number(self.span.start),
            number(self.span.end),
            number(self.span.token_start),
            number(self.span.token_end),
            number(self.span.section),
            row::text(&self.outline),
            row::key(&self.context_key),
            row::key(&self.wanted_key),
            row::key(&self.vector_key),
        ]
    }

    /// Writes the row; it replaces the one with its key.
    pub(super) fn write(&self, db: &Connection) -> Result<()> {
        insert(db, &CHUNK, OnConflict::Replace, &self.fields()).map(drop)
    }

    /// Writes the key of its vector into its row, which has all else already: no index but those of
    /// vectors changes.
    pub(super) fn write_vector_key(&self, db: &Connection) -> Result<()> {
        db.prepare_cached("UPDATE chunk SET vector_key = ?, hash = ? WHERE chunk = ?")?
            .execute((&self.vector_key, self.row_hash(), self.key))?;
        Ok(())
    }

    /// Returns the hash that [`StoredChunk::write`] stores.
    pub(super) fn row_hash(&self) -> [u8; HASH_BYTES] {
        row::hash_of(&CHUNK, &self.fields())
    }
}

fn span_of(fields: &[ValueRef<'_>; 12]) -> Result<ChunkSpan> {
    Ok(ChunkSpan {
        start: row::field(fields[3])?,
        end: row::field(fields[4])?,
        token_start: row::field(fields[5])?,
        token_end: row::field(fields[6])?,
        section: row::field(fields[7])?,
    })
}
