//! The rows that a read transaction has read: each is read, and its hash checked, once.
//!
//! The stages of a search read the same chunks: for a decision, as hits, and with their passages.
//! What a read transaction sees does not change, so its rows are kept until it ends.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::chunks::StoredChunk;
use super::documents::DocumentRow;
use super::row::{self, check, first};
use super::schema::{CHUNK, CONTEXT};
use super::text::{self, Piece};
use crate::error::{Error, Result};

/// Rows that are kept at most: those of a few searches that share a snapshot.
const MOST_ROWS: usize = 4096;

/// What a model wrote of a chunk, and the outcome.
#[derive(Debug)]
pub(super) struct StoredContext {
    pub(super) outcome: String,
    pub(super) text: String,
}

/// Rows by their keys.
#[derive(Debug, Default)]
pub(super) struct ReadRows {
    documents: HashMap<i64, Arc<DocumentRow>>,
    chunks: HashMap<i64, Arc<StoredChunk>>,
    contexts: HashMap<Vec<u8>, Arc<StoredContext>>,
    /// Pieces of texts by body and start.
    pieces: BTreeMap<(i64, u32), Arc<Piece>>,
}

impl ReadRows {
    /// Forgets all rows if there are many.
    pub(super) fn trim(&mut self) {
        let rows = self.chunks.len() + self.pieces.len() + self.documents.len();
        if rows + self.contexts.len() > MOST_ROWS {
            *self = ReadRows::default();
        }
    }

    /// Returns the document of an id.
    pub(super) fn document(
        &mut self,
        db: &Connection,
        doc: i64,
    ) -> Result<Option<Arc<DocumentRow>>> {
        if let Some(known) = self.documents.get(&doc) {
            return Ok(Some(Arc::clone(known)));
        }
        let found = DocumentRow::find_by_id(db, doc)?.map(Arc::new);
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
                let chunk = StoredChunk::read(row)?;
                self.chunks.insert(key, Arc::new(chunk));
            }
        }
        Ok(())
    }

    /// Returns a chunk that has been read, None if there is none of that key.
    pub(super) fn chunk(&self, key: i64) -> Option<Arc<StoredChunk>> {
        self.chunks.get(&key).map(Arc::clone)
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
