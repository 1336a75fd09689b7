//! Documents, contexts and vectors from staged rows, put into a new index.

use std::collections::{BTreeMap, HashSet};

use half::f16;
use rusqlite::Connection;

use super::staging::Staging;
use crate::error::{Error, Result};
use crate::store::chunks::StoredChunk;
use crate::store::documents::DocumentRow;
use crate::store::row::{all, first};
use crate::store::text::content_key;
use crate::store::{NewDocument, Store};

/// Stands for each code point of a text whose piece is lost, so that spans stay as they are.
const LOST_CHARACTER: char = '\u{fffd}';

/// The most code points of a text that are filled in: a forged length must not take all memory.
const LONGEST_GAP: u32 = 64 << 20;

/// Queries that count what the chunks refer to and is lost.
const LOST: [(&str, &str); 2] = [
    (
        "contexts_lost",
        "SELECT count(DISTINCT context_key) FROM chunk WHERE context_key IS NOT NULL \
         AND context_key NOT IN (SELECT key FROM context)",
    ),
    (
        "vectors_lost",
        "SELECT count(DISTINCT vector_key) FROM chunk WHERE vector_key IS NOT NULL \
         AND vector_key NOT IN (SELECT key FROM vector)",
    ),
];

type Counts = BTreeMap<String, i64>;

/// Puts all that is staged, and returns the numbers of what was put, put in part and lost.
pub(super) fn put(staging: &Staging, store: &Store) -> Result<Counts> {
    let mut counts = Counts::new();
    let mut add = |name: &str, more: usize| {
        *counts.entry(name.to_string()).or_default() += more as i64;
    };
    add("contexts", put_contexts(staging, store)?);
    add("vectors", put_vectors(staging, store)?);
    let documents = staging.documents()?;
    for doc in &documents {
        // Rows that no version of crx writes, though their hashes match, are as good as lost.
        let put = read(staging.db(), *doc).and_then(|found| match found {
            Some(document) => document.put(store).map(|()| Some(document)),
            None => Ok(None),
        });
        match put {
            Ok(Some(document)) => {
                let kind = if document.is_whole {
                    "documents"
                } else {
                    "documents_in_part"
                };
                add(kind, 1);
                add("chunks", document.chunks.len());
                add("chunks_lost", document.lost_chunks);
            }
            Ok(None) | Err(Error::Damaged(_) | Error::Invalid(_)) => add("documents_lost", 1),
            Err(error) => return Err(error),
        }
    }
    let of_lost = orphans(staging.db(), &documents)?;
    add(
        "documents_lost",
        of_lost.iter().collect::<HashSet<_>>().len(),
    );
    add("chunks_lost", of_lost.len());
    for (name, sql) in LOST {
        counts.insert(name.to_string(), staging.count(sql)?);
    }
    Ok(counts)
}

fn put_contexts(staging: &Staging, store: &Store) -> Result<usize> {
    let (mut last, mut rows) = staging.contexts(0)?;
    let mut count = 0;
    while !rows.is_empty() {
        count += rows.len();
        store.put_contexts(&rows)?;
        (last, rows) = staging.contexts(last)?;
    }
    Ok(count)
}

/// Puts the vectors; those that are no rows of finite numbers are left out.
fn put_vectors(staging: &Staging, store: &Store) -> Result<usize> {
    let (mut last, mut rows) = staging.vectors(0)?;
    let mut count = 0;
    while !rows.is_empty() {
        let mut by_dim: BTreeMap<usize, (Vec<Vec<u8>>, Vec<f32>)> = BTreeMap::new();
        for (key, dim, data) in rows {
            let dim = usize::try_from(dim).unwrap_or(0);
            let row: Vec<f32> = data
                .chunks_exact(2)
                .map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32())
                .collect();
            if dim > 0 && row.len() == dim && row.iter().all(|number| number.is_finite()) {
                let (keys, numbers) = by_dim.entry(dim).or_default();
                keys.push(key);
                numbers.extend(row);
            }
        }
        for (dim, (keys, numbers)) in &by_dim {
            count += keys.len();
            store.put_vectors(keys, numbers, *dim)?;
        }
        (last, rows) = staging.vectors(last)?;
    }
    Ok(count)
}

/// Returns the document of each chunk whose document's row is lost.
fn orphans(db: &Connection, documents: &[i64]) -> Result<Vec<i64>> {
    let known: HashSet<i64> = documents.iter().copied().collect();
    let sql = "SELECT doc FROM chunk WHERE doc NOT IN (SELECT doc FROM document)";
    let docs = all(db, sql, [], |row| Ok(row.get::<_, i64>(0)?))?;
    Ok(docs
        .into_iter()
        .filter(|doc| !known.contains(doc))
        .collect())
}

/// A document as far as its rows are intact.
struct Found {
    row: DocumentRow,
    text: String,
    marks: String,
    chunks: Vec<StoredChunk>,
    lost_chunks: usize,
    /// Whether nothing of it is lost, its contexts included.
    is_whole: bool,
}

/// Reads a document; None if nothing of its text is left.
fn read(db: &Connection, doc: i64) -> Result<Option<Found>> {
    let Some(row) = DocumentRow::find(db, "WHERE doc = ?", [doc])?.pop() else {
        return Ok(None);
    };
    let Some(text) = Text::read(db, &row)? else {
        return Ok(None);
    };
    let wanted = usize::try_from(row.chunks).unwrap_or(0);
    let order = "doc = ? ORDER BY ordinal, chunk DESC";
    let mut chunks = StoredChunk::find(db, order, [doc])?;
    chunks.dedup_by_key(|chunk| chunk.ordinal);
    chunks.retain(|chunk| text.has(chunk.span.start, chunk.span.end));
    let lost_chunks = wanted.saturating_sub(chunks.len());
    let mut lost_contexts = 0;
    for chunk in chunks
        .iter_mut()
        .filter(|chunk| !chunk.context_key.is_empty())
    {
        if !exists(
            db,
            "SELECT 1 FROM context WHERE key = ?",
            &chunk.context_key,
        )? {
            lost_contexts += 1;
            chunk.context_key.clear();
            // The key of a vector is that of the context too; another vector must not get it.
            if !exists(db, "SELECT 1 FROM vector WHERE key = ?", &chunk.wanted_key)? {
                chunk.wanted_key.clear();
            }
        }
    }
    Ok(Some(Found {
        is_whole: text.is_whole && lost_chunks + lost_contexts == 0,
        text: text.text,
        marks: text.marks,
        chunks,
        lost_chunks,
        row,
    }))
}

fn exists(db: &Connection, sql: &str, key: &[u8]) -> Result<bool> {
    Ok(first(db, sql, [key], |_| Ok(()))?.is_some())
}

impl Found {
    /// Puts the document. One that is not whole has no source hash, so that it is read again from
    /// its file, if there is one.
    fn put(&self, store: &Store) -> Result<()> {
        let row = &self.row;
        let layout: Vec<_> = self.chunks.iter().map(|chunk| chunk.span).collect();
        let each = |part: fn(&StoredChunk) -> Vec<u8>| -> Vec<Vec<u8>> {
            self.chunks.iter().map(part).collect()
        };
        let outlines: Vec<String> = self
            .chunks
            .iter()
            .map(|chunk| chunk.outline.clone())
            .collect();
        store.put_document(&NewDocument {
            uri: &row.uri,
            title: &row.title,
            lang: &row.lang,
            metadata: &row.metadata,
            source_hash: if self.is_whole { &row.source_hash } else { &[] },
            source_size: if self.is_whole { row.source_size } else { 0 },
            source_mtime_ns: row.source_mtime_ns,
            text: &self.text,
            marks: &self.marks,
            layout: &layout,
            outlines: &outlines,
            context_keys: &each(|chunk| chunk.context_key.clone()),
            vector_keys: &each(|chunk| chunk.wanted_key.clone()),
        })?;
        Ok(())
    }
}

/// The text of a document, with [`LOST_CHARACTER`] for what is lost.
struct Text {
    text: String,
    marks: String,
    /// The spans that are lost, in code points.
    gaps: Vec<(u32, u32)>,
    chars: u32,
    is_whole: bool,
}

impl Text {
    /// Reads the pieces of a document's text; None if none is left.
    fn read(db: &Connection, document: &DocumentRow) -> Result<Option<Self>> {
        let head = first(
            db,
            "SELECT key, chars, marks FROM body WHERE body = ?",
            [document.body],
            |row| {
                Ok((
                    row.get::<_, Vec<u8>>(0)?,
                    row.get::<_, u32>(1)?,
                    row.get::<_, String>(2)?,
                ))
            },
        )?;
        let sql = "SELECT start, text FROM piece WHERE body = ? ORDER BY start, piece DESC";
        let pieces = all(db, sql, [document.body], |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?))
        })?;
        let has_text = !pieces.is_empty() || matches!(head, Some((_, 0, _)));
        let mut found = Text {
            text: String::new(),
            marks: "[]".to_string(),
            gaps: Vec::new(),
            chars: 0,
            is_whole: false,
        };
        for (start, text) in pieces {
            if start >= found.chars && found.skip_to(start) {
                found.chars += text.chars().count() as u32;
                found.text.push_str(&text);
            }
        }
        if let Some((key, chars, marks)) = head {
            found.skip_to(chars);
            found.is_whole = key == content_key(&found.text, &marks);
            found.marks = marks;
        }
        Ok(has_text.then_some(found))
    }

    /// Fills the text up to a code point, and returns whether it is not too far.
    fn skip_to(&mut self, end: u32) -> bool {
        if end > self.chars && end - self.chars <= LONGEST_GAP {
            self.gaps.push((self.chars, end));
            self.text.extend((self.chars..end).map(|_| LOST_CHARACTER));
            self.chars = end;
        }
        end <= self.chars
    }

    /// Returns whether nothing of a span is lost.
    fn has(&self, start: u32, end: u32) -> bool {
        end <= self.chars && !self.gaps.iter().any(|gap| start < gap.1 && gap.0 < end)
    }
}
