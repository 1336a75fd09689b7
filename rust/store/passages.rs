//! Passages around hits, read from the store in one transaction.
//!
//! Only the chunks within reach of the hits are read, and only the text that is shown, so that the
//! time does not depend on the length of the documents.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::ops::Bound;
use std::sync::{Arc, LazyLock};

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Row};
use rustc_hash::FxHashMap;

use super::base::Base;
use super::chunks::{StoredChunk, lacks_row};
use super::documents::DocumentRow;
use super::piece_index::{self, PassageText};
use super::read_rows::{Neighbour, ReadRows};
use super::row::value;
use super::schema::CHUNK;
use super::{Store, documents};
use crate::error::{Error, Result};
use crate::passages::{self, Growth, Hit, LayoutChunk, Order, Passage, REACH_TOKENS};

/// A passage and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownPassage {
    /// The passage; its hits are indices of the given hits.
    pub passage: Passage,
    /// Its text.
    pub text: PassageText,
    /// The document's URI.
    pub uri: String,
    /// The document's metadata, a JSON object.
    pub metadata: String,
}

/// How far from a hit chunks are read.
#[derive(Debug, Clone, Copy)]
enum Reach {
    /// As long as the chunk before ends within so many tokens.
    Tokens(u32),
    /// So many chunks on each side.
    Chunks(u32),
}

impl Store {
    /// Selects the passages of greatest value under a budget of tokens, as [`passages::select`] does.
    ///
    /// A hit is the key of a chunk and its score, best first; one whose chunk is gone is skipped.
    pub fn select_passages(
        &self,
        hits: &[(i64, f32)],
        budget_tokens: u32,
        within_section: bool,
        order: Order,
    ) -> Result<Vec<ShownPassage>> {
        self.read_rows(|db, rows| {
            let reach = Reach::Tokens(REACH_TOKENS);
            let found = FoundHits::read(db, rows, self.base.as_ref(), hits, reach)?;
            let layout_of = |doc| found.layouts.get(&doc).map(Vec::as_slice);
            let budget = budget_tokens;
            let selected = passages::select(&found.hits, layout_of, budget, within_section, order)?;
            found.show(db, rows, selected)
        })
    }

    /// Expands hits by their neighbours, as [`passages::expand`] does.
    ///
    /// A hit is the key of a chunk and its score, best first; one whose chunk is gone is skipped.
    pub fn expand_passages(
        &self,
        hits: &[(i64, f32)],
        growth: Growth,
        within_section: bool,
        order: Order,
    ) -> Result<Vec<ShownPassage>> {
        let reach = match growth {
            Growth::None => Reach::Chunks(0),
            Growth::Tokens(budget) => Reach::Tokens(budget),
            Growth::Chunks(window) => Reach::Chunks(window),
        };
        self.read_rows(|db, rows| {
            let found = FoundHits::read(db, rows, self.base.as_ref(), hits, reach)?;
            let layout_of = |doc| found.layouts.get(&doc).map(Vec::as_slice);
            let expanded = passages::expand(&found.hits, layout_of, growth, within_section, order)?;
            found.show(db, rows, expanded)
        })
    }

    /// Returns `text[start..end]` of a document, in code points, with its lines and marks.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there is no such document, or the span is empty or not within its text.
    pub fn passage(&self, doc: i64, start: u32, end: u32) -> Result<PassageText> {
        self.read_rows(|db, rows| {
            let document = documents::by_id(db, doc)?;
            if start >= end || i64::from(end) > chars(db, &document)? {
                return Err(Error::Invalid(format!(
                    "{start}..{end}: not a span of document {doc}; `layout()` gives its chunks"
                )));
            }
            piece_index::Reader::new(db, rows)?.read(document.body, start, end)
        })
    }
}

/// The number of code points of a document's text.
fn chars(db: &Connection, document: &DocumentRow) -> Result<i64> {
    let sql = "SELECT max(start + chars) FROM piece WHERE body = ?";
    let chars = value::<Option<i64>>(db, sql, [document.body])?;
    Ok(chars.flatten().unwrap_or(0))
}

/// The hits whose chunks exist, and the layouts around them.
struct FoundHits {
    hits: Vec<Hit>,
    /// The index of each in the given hits.
    indices: Vec<u32>,
    layouts: FxHashMap<i64, Vec<LayoutChunk>>,
    documents: FxHashMap<i64, Arc<DocumentRow>>,
}

impl FoundHits {
    fn read(
        db: &Connection,
        rows: &mut ReadRows,
        base: Option<&Base>,
        given: &[(i64, f32)],
        reach: Reach,
    ) -> Result<Self> {
        let (mut hits, mut indices) = (Vec::new(), Vec::new());
        let mut chunks: FxHashMap<i64, BTreeMap<u32, Neighbour>> = FxHashMap::default();
        let keys: Vec<i64> = given.iter().map(|hit| hit.0).collect();
        rows.read_chunks(db, &keys)?;
        let mut sides = Sides::prepare(db)?;
        let mut documents: FxHashMap<i64, Arc<DocumentRow>> = FxHashMap::default();
        for (index, &(key, score)) in (0u32..).zip(given) {
            let Some(stored) = rows.chunk(key) else {
                continue;
            };
            let (doc, chunk) = (stored.doc, (key, stored.layout()));
            let ordinal = stored.ordinal;
            hits.push(Hit {
                doc,
                ordinal,
                score,
            });
            indices.push(index);
            let document = match documents.entry(doc) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let found = rows.document(db, base, doc)?;
                    unknown.insert(found.ok_or_else(|| documents::no_such_document(doc))?)
                }
            };
            let around = chunks.entry(doc).or_default();
            around.insert(ordinal, chunk);
            rows.keep_layout(doc, chunk);
            sides.read(rows, document, chunk, reach, Side::After, around)?;
            sides.read(rows, document, chunk, reach, Side::Before, around)?;
        }
        let layouts = chunks
            .into_iter()
            .map(|(doc, chunks)| (doc, chunks.into_values().map(|chunk| chunk.1).collect()))
            .collect();
        Ok(FoundHits {
            hits,
            indices,
            layouts,
            documents,
        })
    }

    /// Reads the texts of passages.
    fn show(
        &self,
        db: &Connection,
        rows: &mut ReadRows,
        passages: Vec<Passage>,
    ) -> Result<Vec<ShownPassage>> {
        let mut reader = piece_index::Reader::new(db, rows)?;
        let mut shown = Vec::with_capacity(passages.len());
        for mut passage in passages {
            let document = &self.documents[&passage.doc];
            for hit in &mut passage.hits {
                *hit = self.indices[*hit as usize];
            }
            shown.push(ShownPassage {
                text: reader.read(document.body, passage.start, passage.end)?,
                uri: document.uri.clone(),
                metadata: document.metadata.clone(),
                passage,
            });
        }
        Ok(shown)
    }
}

/// A side of a hit.
#[derive(Debug, Clone, Copy)]
enum Side {
    After,
    Before,
}

/// The statements that read the chunks on either side of a hit, nearest first.
///
/// The chunks of a document follow each other in the table, unless some were changed later. So the
/// table is read on from a hit, and only where that ends, chunks are looked up by their ordinals.
struct Sides<'a> {
    after: CachedStatement<'a>,
    before: CachedStatement<'a>,
    by_ordinal: CachedStatement<'a>,
}

impl<'a> Sides<'a> {
    fn prepare(db: &'a Connection) -> Result<Self> {
        static SQL: LazyLock<[String; 3]> = LazyLock::new(|| {
            let columns = CHUNK.select();
            [
                "chunk > ? ORDER BY chunk",
                "chunk < ? ORDER BY chunk DESC",
                "doc = ? AND ordinal = ?",
            ]
            .map(|condition| format!("SELECT {columns} FROM chunk WHERE {condition}"))
        });
        let [after, before, by_ordinal] = &*SQL;
        Ok(Sides {
            after: db.prepare_cached(after)?,
            before: db.prepare_cached(before)?,
            by_ordinal: db.prepare_cached(by_ordinal)?,
        })
    }

    /// Adds the chunks within reach on one side of a hit to those around the hits of its document.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if one of them is missing.
    fn read(
        &mut self,
        known: &mut ReadRows,
        document: &DocumentRow,
        hit: Neighbour,
        reach: Reach,
        side: Side,
        around: &mut BTreeMap<u32, Neighbour>,
    ) -> Result<()> {
        let (_, hit_layout) = hit;
        let continues = |(_, nearest): &Neighbour| match (reach, side) {
            (Reach::Chunks(window), _) => nearest.ordinal.abs_diff(hit_layout.ordinal) < window,
            (Reach::Tokens(tokens), Side::After) => {
                nearest.span.token_end.abs_diff(hit_layout.span.token_end) <= tokens
            }
            (Reach::Tokens(tokens), Side::Before) => {
                nearest
                    .span
                    .token_start
                    .abs_diff(hit_layout.span.token_start)
                    <= tokens
            }
        };
        let mut nearest = hit;
        let mut add_read = |read: &mut dyn Iterator<Item = (&u32, &Neighbour)>| {
            while continues(&nearest)
                && let Some((&ordinal, &next)) = read.next()
                && neighbour(nearest.1.ordinal, side) == Some(ordinal)
            {
                nearest = next;
                around.insert(ordinal, next);
            }
        };
        if let Some(read) = known.layouts(document.doc) {
            let at = hit_layout.ordinal;
            match side {
                Side::After => add_read(&mut read.range((Bound::Excluded(at), Bound::Unbounded))),
                Side::Before => add_read(&mut read.range(..at).rev()),
            }
        }
        if !continues(&nearest) {
            return Ok(());
        }
        let statement = match side {
            Side::After => &mut self.after,
            Side::Before => &mut self.before,
        };
        let mut rows = statement.query([nearest.0])?;
        let mut follows = true;
        while continues(&nearest)
            && let Some(next) =
                neighbour(nearest.1.ordinal, side).filter(|&next| i64::from(next) < document.chunks)
        {
            let row = if follows { rows.next()? } else { None };
            nearest = match row {
                Some(row) if is_chunk(row, document.doc, next)? => StoredChunk::read_layout(row)?,
                _ => {
                    follows = false;
                    let mut found = self.by_ordinal.query((document.doc, next))?;
                    let row = found.next()?.ok_or_else(|| lacks_row(document.doc))?;
                    StoredChunk::read_layout(row)?
                }
            };
            if nearest.1.ordinal != next {
                return Err(lacks_row(document.doc));
            }
            known.keep_layout(document.doc, nearest);
            around.insert(next, nearest);
        }
        Ok(())
    }
}

/// Returns whether a row, which is not checked yet, is that of a chunk of a document.
fn is_chunk(row: &Row<'_>, doc: i64, ordinal: u32) -> Result<bool> {
    let is =
        |column, number| -> Result<bool> { Ok(row.get_ref(column)? == ValueRef::Integer(number)) };
    Ok(is(1, doc)? && is(2, i64::from(ordinal))?)
}

/// Returns the ordinal next to another, if there can be one.
fn neighbour(ordinal: u32, side: Side) -> Option<u32> {
    match side {
        Side::After => ordinal.checked_add(1),
        Side::Before => ordinal.checked_sub(1),
    }
}
