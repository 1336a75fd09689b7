//! Insertion and replacement of documents; unchanged chunks keep their keys.

use std::collections::{HashMap, VecDeque};

use rusqlite::Connection;

use super::chunks::{StoredChunk, cut};
use super::documents::{DocumentRow, is_object};
use super::row::{next_key, value};
use super::schema::{CHUNK, DOCUMENT};
use super::{Store, changes, contexts, piece_index, text, vectors};
use crate::code::Kind;
use crate::error::{Error, Result};
use crate::passages::ChunkSpan;

/// A document to put: its names, its text and its chunks.
#[derive(Debug, Clone, Copy)]
pub struct NewDocument<'a> {
    /// Its URI; a document with the same URI is replaced.
    pub uri: &'a str,
    /// Its title, or "".
    pub title: &'a str,
    /// Its language (ISO 639-1, "" unknown).
    pub lang: &'a str,
    /// A JSON object.
    pub metadata: &'a str,
    /// The hash of the source it was read from.
    pub source_hash: &'a [u8],
    /// Bytes of the source.
    pub source_size: i64,
    /// The source's time stamp, nanoseconds since 1970.
    pub source_mtime_ns: i64,
    /// The normalized text.
    pub text: &'a str,
    /// The marks: a JSON list of objects with `start` and `end`, in code points.
    pub marks: &'a str,
    /// The spans of its chunks; starts and ends are ascending.
    pub layout: &'a [ChunkSpan],
    /// The model-free context of each chunk.
    pub outlines: &'a [String],
    /// The context of each chunk: the key of an existing context, or empty.
    pub context_keys: &'a [Vec<u8>],
    /// The vector that each chunk should have; empty for none.
    pub vector_keys: &'a [Vec<u8>],
}

impl Store {
    /// Inserts or replaces a document and its chunks in one transaction, which is made durable with
    /// those of other documents (see [`Store::flush`]); returns its id.
    ///
    /// A chunk keeps its key if its text, outline, context key, wanted vector and number of tokens
    /// are those of a chunk of the replaced document. Putting an unchanged document changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a layout that is out of bounds or not ascending, lists of other lengths
    /// than the layout, a context that does not exist, or metadata or marks that are not valid JSON of
    /// their kind.
    pub fn put_document(&self, new: &NewDocument<'_>) -> Result<i64> {
        let chars = validate(new)?;
        let (uri, metadata) = (self.stored_uri(new.uri), self.stored_metadata(new.metadata));
        let new = &NewDocument {
            uri: &uri,
            metadata: &metadata,
            ..*new
        };
        self.write_in_group(|db| {
            contexts::require(db, new.context_keys)?;
            db.prepare_cached("DELETE FROM failure WHERE uri = ?")?
                .execute([new.uri])?;
            let previous = previous(db, new.uri)?;
            let body = text::put(db, new.text, i64::from(chars), new.marks)?;
            piece_index::put(db, body)?;
            let document = DocumentRow {
                doc: previous.doc.map_or_else(|| next_key(db, &DOCUMENT), Ok)?,
                uri: new.uri.to_string(),
                title: new.title.to_string(),
                lang: new.lang.to_string(),
                kind: Kind::of(new.uri, new.text),
                metadata: new.metadata.to_string(),
                source_hash: new.source_hash.to_vec(),
                source_size: new.source_size,
                source_mtime_ns: new.source_mtime_ns,
                body,
                chunks: new.layout.len() as i64,
            };
            let doc = document.doc;
            let hashes = |chunks: &[StoredChunk]| {
                chunks.iter().map(StoredChunk::row_hash).collect::<Vec<_>>()
            };
            let before = hashes(&previous.chunks);
            let same_document = previous.document.as_ref() == Some(&document);
            let chunks = position(db, new, doc, previous)?;
            if same_document && before == hashes(&chunks) {
                return Ok(doc);
            }
            db.prepare_cached("DELETE FROM chunk WHERE doc = ?")?
                .execute([doc])?;
            document.write(db)?;
            for chunk in &chunks {
                chunk.write(db)?;
            }
            changes::log(db, &[doc])?;
            Ok(doc)
        })
    }
}

/// The present document of a URI.
#[derive(Default)]
struct PreviousDocument {
    doc: Option<i64>,
    /// `None`, and no chunks, if there is no document or it is damaged: then all is written again.
    document: Option<DocumentRow>,
    text: String,
    chunks: Vec<StoredChunk>,
}

fn previous(db: &Connection, uri: &str) -> Result<PreviousDocument> {
    let Some(doc) = value::<i64>(db, "SELECT doc FROM document WHERE uri = ?", [uri])? else {
        return Ok(PreviousDocument::default());
    };
    let read = || -> Result<PreviousDocument> {
        let document = DocumentRow::find(db, "WHERE doc = ?", [doc])?.pop();
        let text = match &document {
            Some(document) => text::read(db, document.body)?.0,
            None => String::new(),
        };
        Ok(PreviousDocument {
            doc: Some(doc),
            document,
            text,
            chunks: StoredChunk::of_document(db, doc)?,
        })
    };
    match read() {
        Err(Error::Damaged(_)) => Ok(PreviousDocument {
            doc: Some(doc),
            ..PreviousDocument::default()
        }),
        other => other,
    }
}

/// Returns the chunks of a new document; those that are unchanged have their previous keys.
fn position(
    db: &Connection,
    new: &NewDocument<'_>,
    doc: i64,
    previous: PreviousDocument,
) -> Result<Vec<StoredChunk>> {
    let bounds = |span: &ChunkSpan| (span.start, span.end);
    let old_spans: Vec<_> = previous
        .chunks
        .iter()
        .map(|chunk| bounds(&chunk.span))
        .collect();
    let mut reusable: HashMap<[u8; 32], VecDeque<StoredChunk>> = HashMap::new();
    for (chunk, text) in previous
        .chunks
        .into_iter()
        .zip(cut(&previous.text, &old_spans))
    {
        reusable
            .entry(identity(&chunk, text))
            .or_default()
            .push_back(chunk);
    }
    let spans: Vec<_> = new.layout.iter().map(bounds).collect();
    let mut next = next_key(db, &CHUNK)?;
    let mut placed = Vec::with_capacity(spans.len());
    for (ordinal, text) in cut(new.text, &spans).into_iter().enumerate() {
        let mut chunk = StoredChunk {
            key: next,
            doc,
            ordinal: ordinal as u32,
            span: new.layout[ordinal],
            outline: new.outlines[ordinal].clone(),
            context_key: new.context_keys[ordinal].clone(),
            wanted_key: new.vector_keys[ordinal].clone(),
            vector_key: Vec::new(),
        };
        match reusable
            .get_mut(&identity(&chunk, text))
            .and_then(VecDeque::pop_front)
        {
            Some(old) => (chunk.key, chunk.vector_key) = (old.key, old.vector_key),
            None => next += 1,
        }
        vectors::link(db, &mut chunk)?;
        placed.push(chunk);
    }
    Ok(placed)
}

/// Returns a hash of a chunk's content, which does not depend on its position.
fn identity(chunk: &StoredChunk, text: &str) -> [u8; 32] {
    let tokens = (chunk.span.token_end - chunk.span.token_start).to_le_bytes();
    let outline = chunk.outline.as_bytes();
    let mut hasher = blake3::Hasher::new();
    for part in [
        text.as_bytes(),
        outline,
        &chunk.context_key,
        &chunk.wanted_key,
        &tokens,
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// Checks a new document, and returns the number of code points of its text.
fn validate(new: &NewDocument<'_>) -> Result<u32> {
    let invalid = |what: &str, fact: String| {
        Err(Error::Invalid(format!(
            "{}: {what} {fact}; nothing was put",
            new.uri
        )))
    };
    if new.uri.is_empty() {
        return Err(Error::Invalid(
            "uri: empty; give the document a name".into(),
        ));
    }
    if !is_object(new.metadata) {
        return invalid("metadata", "is not a JSON object".into());
    }
    if piece_index::parse(new.marks).is_none() {
        return invalid("marks", "is not a JSON list of marks".into());
    }
    let count = new.layout.len();
    let lists = [
        ("outlines", new.outlines.len()),
        ("context_keys", new.context_keys.len()),
        ("vector_keys", new.vector_keys.len()),
    ];
    if let Some((name, length)) = lists.into_iter().find(|&(_, length)| length != count) {
        return invalid(name, format!("has {length} items for {count} chunks"));
    }
    let Ok(chars) = u32::try_from(new.text.chars().count()) else {
        return invalid("text", "is longer than 4,294,967,295 code points".into());
    };
    let mut last = ChunkSpan {
        start: 0,
        end: 0,
        token_start: 0,
        token_end: 0,
        section: 0,
    };
    for (ordinal, span) in new.layout.iter().enumerate() {
        let row = format!("layout[{ordinal}]");
        if span.start >= span.end || span.end > chars {
            let (start, end) = (span.start, span.end);
            return invalid(&row, format!("spans {start}..{end} of {chars} code points"));
        }
        if span.token_start > span.token_end {
            let (start, end) = (span.token_start, span.token_end);
            return invalid(&row, format!("spans tokens {start}..{end}"));
        }
        if span.start < last.start
            || span.end < last.end
            || span.token_start < last.token_start
            || span.token_end < last.token_end
        {
            return invalid(&row, "starts or ends before the chunk above it".into());
        }
        last = *span;
    }
    Ok(chars)
}
