//! Chunks: reading them by key and by document.

use std::ops::Range;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};

use super::Store;
use super::base::Base;
use super::documents::DocumentRow;
use super::read_rows::{ReadRows, StoredContext};
use super::row::{self, HASH_BYTES, OnConflict, all, insert, value};
use super::schema::CHUNK;
use super::text::{self, Cursor, Piece};
use crate::code::Kind;
use crate::error::{Error, Result};
use crate::passages::{ChunkSpan, LayoutChunk};

/// A chunk with its document's names and its contexts.
///
/// It holds the rows that were read, and no copy of them.
#[derive(Debug)]
pub struct ChunkRow {
    chunk: Arc<StoredChunk>,
    document: Arc<DocumentRow>,
    context: Option<Arc<StoredContext>>,
    text: Text,
}

/// The text of a chunk: a span of bytes of the piece that it lies in, or of several pieces.
#[derive(Debug)]
enum Text {
    Within(Arc<Piece>, Range<usize>),
    Across(String),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Text::Within(piece, bytes) => &piece.text[bytes.clone()],
            Text::Across(text) => text,
        }
    }
}

impl ChunkRow {
    /// The chunk's key: never reused.
    pub fn key(&self) -> i64 {
        self.chunk.key
    }

    /// Its document.
    pub fn doc(&self) -> i64 {
        self.chunk.doc
    }

    /// The document's URI.
    pub fn uri(&self) -> &str {
        &self.document.uri
    }

    /// The document's title.
    pub fn title(&self) -> &str {
        &self.document.title
    }

    /// The document's language (ISO 639-1, "" unknown).
    pub fn lang(&self) -> &str {
        &self.document.lang
    }

    /// What the document is.
    pub fn kind(&self) -> Kind {
        self.document.kind
    }

    /// Its ordinal in the document, from 0.
    pub fn ordinal(&self) -> u32 {
        self.chunk.ordinal
    }

    /// Its span in code points and tokens, and its section.
    pub fn span(&self) -> ChunkSpan {
        self.chunk.span
    }

    /// `document.text[start:end]`.
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The model-free context.
    pub fn outline(&self) -> &str {
        &self.chunk.outline
    }

    /// The context written by a model, or "".
    pub fn context(&self) -> &str {
        self.context.as_ref().map_or("", |context| &context.text)
    }

    /// The outcome of making that context: "", "ok", "retried", "rejected:...", "failed:...".
    pub fn outcome(&self) -> &str {
        self.context.as_ref().map_or("", |context| &context.outcome)
    }
}

impl Store {
    /// Returns the chunks with these keys, in their order; a key without a chunk is skipped.
    pub fn chunks(&self, keys: &[i64]) -> Result<Vec<Arc<ChunkRow>>> {
        self.read_rows(|db, rows| {
            rows.read_chunks(db, keys)?;
            let mut found = Vec::with_capacity(keys.len());
            for &key in keys {
                found.extend(rows.chunk_row(db, self.base.as_ref(), key)?);
            }
            Ok(found)
        })
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
            let document = Arc::new(document);
            let chunks = StoredChunk::of_document(db, doc)?;
            let (text, _) = text::read(db, document.body)?;
            let spans: Vec<_> = chunks
                .iter()
                .map(|chunk| (chunk.span.start, chunk.span.end))
                .collect();
            let texts = cut(&text, &spans);
            let row = |(chunk, text): (StoredChunk, &str)| {
                Ok(ChunkRow {
                    context: context_of(db, rows, &chunk)?,
                    chunk: Arc::new(chunk),
                    document: Arc::clone(&document),
                    text: Text::Across(text.to_string()),
                })
            };
            chunks.into_iter().zip(texts).map(row).collect()
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

/// Returns the context of a chunk, if a model has written one.
fn context_of(
    db: &Connection,
    rows: &mut ReadRows,
    chunk: &StoredChunk,
) -> Result<Option<Arc<StoredContext>>> {
    match chunk.context_key.is_empty() {
        true => Ok(None),
        false => rows.context(db, &chunk.context_key).map(Some),
    }
}

/// Makes the row of a chunk that has been read; None if its document is gone.
pub(super) fn chunk_row(
    db: &Connection,
    rows: &mut ReadRows,
    base: Option<&Base>,
    chunk: Arc<StoredChunk>,
) -> Result<Option<ChunkRow>> {
    let Some(document) = rows.document(db, base, chunk.doc)? else {
        return Ok(None);
    };
    let (body, span) = (document.body, chunk.span);
    let pieces = rows.pieces(db, body, span.start, span.end)?;
    let text = match text::bytes_within(&pieces, span.start, span.end) {
        Some(bytes) => Text::Within(Arc::clone(&pieces[0]), bytes),
        None => Text::Across(text::cut(&pieces, body, span.start, span.end)?.1),
    };
    Ok(Some(ChunkRow {
        context: context_of(db, rows, &chunk)?,
        chunk,
        document,
        text,
    }))
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
