//! The rows that read transactions have read: each is read, and its hash checked, once.
//!
//! The stages of a search read the same chunks: for a decision, as hits, and with their passages. The
//! next search reads other chunks of the same documents. As long as the database does not change, the
//! rows are kept, as SQLite keeps its pages.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use rustc_hash::FxHashMap;

use super::base::Base;
use super::chunks::{self, ChunkRow, StoredChunk};
use super::documents::DocumentRow;
use super::piece_index::{self, KeptMark};
use super::row::{self, check, first};
use super::schema::{CHUNK, CONTEXT, PIECE_INDEX};
use super::text::{self, Piece};
use crate::error::{Error, Result};
use crate::passages::LayoutChunk;

/// Pieces of texts that are kept at most, with up to 4 kB each: together they take about as much
/// memory as the pages that SQLite keeps.
const MOST_PIECES: usize = 4096;
/// Other rows that are kept at most, and layouts with marks. A row has a few hundred bytes, a layout
/// 48, a mark about a hundred.
const MOST_ROWS: usize = 16_384;

/// What a model wrote of a chunk, and the outcome.
#[derive(Debug)]
pub(super) struct StoredContext {
    pub(super) outcome: String,
    pub(super) text: String,
}

/// What the index of long texts holds for a piece.
#[derive(Debug)]
pub(super) struct PieceEntry {
    /// The line breaks before the piece.
    pub(super) lines: u64,
    /// The marks around it, each with its ordinal.
    pub(super) marks: Vec<(u32, KeptMark)>,
}

/// The key and the layout of a chunk near a hit.
pub(super) type Neighbour = (i64, LayoutChunk);

/// Rows by their keys.
#[derive(Debug, Default)]
pub(super) struct ReadRows {
    /// The state of the database that they are of.
    version: i64,
    /// Documents with their absolute URIs.
    documents: FxHashMap<i64, Arc<DocumentRow>>,
    chunks: FxHashMap<i64, Arc<StoredChunk>>,
    /// Chunks with what else is shown of them, made of the others.
    chunk_rows: FxHashMap<i64, Arc<ChunkRow>>,
    contexts: FxHashMap<Vec<u8>, Arc<StoredContext>>,
    /// Pieces of texts by body and start.
    pieces: BTreeMap<(i64, u32), Arc<Piece>>,
    piece_entries: FxHashMap<i64, Arc<PieceEntry>>,
    /// Whether there is an index of long texts, once it was looked for.
    has_piece_index: Option<bool>,
    /// The marks of texts without an index, by body.
    marks: FxHashMap<i64, Arc<Vec<KeptMark>>>,
    /// Layouts of chunks by document and ordinal.
    layouts: FxHashMap<i64, BTreeMap<u32, Neighbour>>,
    /// How many layouts and marks are kept.
    small_count: usize,
}

impl ReadRows {
    /// Forgets all rows if they are of another state of the database than this one.
    pub(super) fn keep_at(&mut self, version: i64) {
        if self.version != version {
            *self = ReadRows {
                version,
                ..ReadRows::default()
            };
        }
    }

    /// Forgets all rows if there are many.
    pub(super) fn trim(&mut self) {
        let named = self.documents.len() + self.contexts.len();
        let rows = named + self.chunks.len() + self.piece_entries.len() + self.marks.len();
        if self.pieces.len() > MOST_PIECES || rows.max(self.small_count) > MOST_ROWS {
            *self = ReadRows {
                version: self.version,
                ..ReadRows::default()
            };
        }
    }

    /// Returns the document of an id, whose URI and path are made absolute by a base.
    pub(super) fn document(
        &mut self,
        db: &Connection,
        base: Option<&Base>,
        doc: i64,
    ) -> Result<Option<Arc<DocumentRow>>> {
        if let Some(known) = self.documents.get(&doc) {
            return Ok(Some(Arc::clone(known)));
        }
        let found = DocumentRow::find_by_id(db, doc)?.map(|row| Arc::new(row.located(base)));
        if let Some(found) = &found {
            self.documents.insert(doc, Arc::clone(found));
        }
        Ok(found)
    }

    /// Reads the chunks of some keys in the order of their pages; a key without a chunk is skipped.
    pub(super) fn read_chunks(&mut self, db: &Connection, keys: &[i64]) -> Result<()> {
        let mut unread: Vec<i64> = keys
            .iter()
            .copied()
            .filter(|key| !self.chunks.contains_key(key))
            .collect();
        if unread.is_empty() {
            return Ok(());
        }
        unread.sort_unstable();
        unread.dedup();
        static SQL: LazyLock<String> =
            LazyLock::new(|| format!("SELECT {} FROM chunk WHERE chunk = ?", CHUNK.select()));
        let mut statement = db.prepare_cached(&SQL)?;
        for key in unread {
            let mut rows = statement.query([key])?;
            if let Some(row) = rows.next()? {
                let chunk = StoredChunk {
                    // A search looks for vectors elsewhere.
                    wanted_key: Vec::new(),
                    vector_key: Vec::new(),
                    ..StoredChunk::read(row)?
                };
                self.chunks.insert(key, Arc::new(chunk));
            }
        }
        Ok(())
    }

    /// Returns a chunk that has been read, None if there is none of that key.
    pub(super) fn chunk(&self, key: i64) -> Option<Arc<StoredChunk>> {
        self.chunks.get(&key).map(Arc::clone)
    }

    /// Returns the row of a chunk that has been read, None if there is none of that key.
    pub(super) fn chunk_row(
        &mut self,
        db: &Connection,
        base: Option<&Base>,
        key: i64,
    ) -> Result<Option<Arc<ChunkRow>>> {
        if let Some(known) = self.chunk_rows.get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(chunk) = self.chunk(key) else {
            return Ok(None);
        };
        let made = chunks::chunk_row(db, self, base, chunk)?.map(Arc::new);
        if let Some(made) = &made {
            self.chunk_rows.insert(key, Arc::clone(made));
        }
        Ok(made)
    }

    /// Returns the context of a key.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there is none.
    pub(super) fn context(&mut self, db: &Connection, key: &[u8]) -> Result<Arc<StoredContext>> {
        if let Some(known) = self.contexts.get(key) {
            return Ok(Arc::clone(known));
        }
        let sql = "SELECT key, generator, outcome, text, hash FROM context WHERE key = ?";
        let found = first(db, sql, [key], |row| {
            check(&CONTEXT, row, 0)?;
            Ok(StoredContext {
                outcome: row.get(2)?,
                text: row.get(3)?,
            })
        })?;
        let found = found.ok_or_else(|| Error::Damaged(row::fault(&CONTEXT, ValueRef::Null)))?;
        let found = Arc::new(found);
        self.contexts.insert(key.to_vec(), Arc::clone(&found));
        Ok(found)
    }

    /// Returns the pieces that overlap `text[start..end]` of a body.
    pub(super) fn pieces(
        &mut self,
        db: &Connection,
        body: i64,
        start: u32,
        end: u32,
    ) -> Result<Vec<Arc<Piece>>> {
        if let Some(known) = self.known_pieces(body, start, end) {
            return Ok(known);
        }
        let read = text::pieces(db, body, start, end)?;
        for piece in &read {
            self.pieces.insert((body, piece.start), Arc::clone(piece));
        }
        Ok(read)
    }

    /// Returns what the index of long texts holds for a piece, None if it does not have it.
    pub(super) fn piece_entry(
        &mut self,
        db: &Connection,
        piece: i64,
    ) -> Result<Option<Arc<PieceEntry>>> {
        if let Some(known) = self.piece_entries.get(&piece) {
            return Ok(Some(Arc::clone(known)));
        }
        let sql = "SELECT piece, lines, marks, hash FROM piece_index WHERE piece = ?";
        let found = first(db, sql, [piece], |row| {
            check(&PIECE_INDEX, row, 0)?;
            let lines: i64 = row.get(1)?;
            let marks: String = row.get(2)?;
            Ok(Arc::new(PieceEntry {
                lines: lines.cast_unsigned(),
                marks: piece_index::parse_entry(&marks),
            }))
        })?;
        if let Some(found) = &found {
            self.piece_entries.insert(piece, Arc::clone(found));
        }
        Ok(found)
    }

    /// Returns whether there is an index of long texts.
    pub(super) fn has_piece_index(&mut self, db: &Connection) -> Result<bool> {
        match self.has_piece_index {
            Some(known) => Ok(known),
            None => Ok(*self.has_piece_index.insert(piece_index::exists(db)?)),
        }
    }

    /// Returns the marks of a body.
    pub(super) fn marks(&mut self, db: &Connection, body: i64) -> Result<Arc<Vec<KeptMark>>> {
        if let Some(known) = self.marks.get(&body) {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(piece_index::read_marks(db, body)?);
        self.small_count += read.len();
        self.marks.insert(body, Arc::clone(&read));
        Ok(read)
    }

    /// Returns the layouts of a document's chunks that have been read, by ordinal.
    pub(super) fn layouts(&self, doc: i64) -> Option<&BTreeMap<u32, Neighbour>> {
        self.layouts.get(&doc)
    }

    /// Keeps the layout of a chunk of a document.
    pub(super) fn keep_layout(&mut self, doc: i64, neighbour: Neighbour) {
        let of_document = self.layouts.entry(doc).or_default();
        let before = of_document.insert(neighbour.1.ordinal, neighbour);
        self.small_count += usize::from(before.is_none());
    }

    /// Returns the pieces of a span if all of them have been read.
    fn known_pieces(&self, body: i64, start: u32, end: u32) -> Option<Vec<Arc<Piece>>> {
        let (_, first) = self.pieces.range((body, 0)..=(body, start)).next_back()?;
        let mut found = vec![Arc::clone(first)];
        let mut reached = first.end;
        while reached < end {
            let next = self.pieces.get(&(body, reached))?;
            found.push(Arc::clone(next));
            reached = next.end;
        }
        (found[0].end > start).then_some(found)
    }
}
