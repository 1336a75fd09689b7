//! Here is a document: which of its chunks are new?

use std::collections::{HashMap, VecDeque};

use rusqlite::Connection;

use super::chunks::{Stored, cut};
use super::documents::DocumentRow;
use super::row::{next_key, value};
use super::schema::{CHUNK, DOCUMENT};
use super::{Store, body, changes, contexts, vectors};
use crate::error::{Error, Result};

/// Where a chunk lies in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Code points of the document's text, half open.
    pub start: u32,
    /// End of the span.
    pub end: u32,
    /// Embedder tokens of the document, half open.
    pub token_start: u32,
    /// End of the token span.
    pub token_end: u32,
    /// The innermost heading or definition it lies in, as an index into the document's marks + 1; 0 is none.
    pub section: u32,
}

/// A document as it is put: its words, its text and its chunks.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The name it is replaced by.
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
    /// The marks, as JSON.
    pub marks: &'a str,
    /// Where its chunks lie; starts and ends ascend.
    pub layout: &'a [Span],
    /// The model-free context of each chunk.
    pub outlines: &'a [String],
    /// The context of each chunk: empty, or a key already put.
    pub context_keys: &'a [Vec<u8>],
    /// The vector each chunk wants; empty for none.
    pub vector_keys: &'a [Vec<u8>],
}

impl Store {
    /// Puts or replaces a document and its chunks in one transaction; returns its id.
    ///
    /// A chunk whose span text, outline, context key, wanted vector and token length are those of
    /// a chunk it had keeps that chunk's key. Putting what is there already changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a layout out of bounds or order, lists of other lengths than it, a
    /// context that was not put, or metadata that is no JSON object.
    pub fn put_document(&self, entry: &Entry<'_>) -> Result<i64> {
        let chars = validate(entry)?;
        self.write(|db| {
            contexts::require(db, entry.context_keys)?;
            db.prepare_cached("DELETE FROM failure WHERE uri = ?")?
                .execute([entry.uri])?;
            let former = former(db, entry.uri)?;
            let document = DocumentRow {
                doc: former.doc.map_or_else(|| next_key(db, &DOCUMENT), Ok)?,
                uri: entry.uri.to_string(),
                title: entry.title.to_string(),
                lang: entry.lang.to_string(),
                metadata: entry.metadata.to_string(),
                source_hash: entry.source_hash.to_vec(),
                source_size: entry.source_size,
                source_mtime_ns: entry.source_mtime_ns,
                body: body::keep(db, entry.text, i64::from(chars), entry.marks)?,
                chunks: entry.layout.len() as i64,
            };
            let doc = document.doc;
            let sealed = |chunks: &[Stored]| chunks.iter().map(Stored::sealed).collect::<Vec<_>>();
            let before = sealed(&former.chunks);
            let same_words = former.document.as_ref() == Some(&document);
            let chunks = place(db, entry, doc, former)?;
            if same_words && before == sealed(&chunks) {
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

/// What is there under the URI.
#[derive(Default)]
struct Former {
    doc: Option<i64>,
    /// The row and the chunks; nothing where they are damaged, for then all is written anew.
    document: Option<DocumentRow>,
    text: String,
    chunks: Vec<Stored>,
}

fn former(db: &Connection, uri: &str) -> Result<Former> {
    let Some(doc) = value::<i64>(db, "SELECT doc FROM document WHERE uri = ?", [uri])? else {
        return Ok(Former::default());
    };
    let read = || -> Result<Former> {
        let document = DocumentRow::find(db, "WHERE doc = ?", [doc])?.pop();
        let text = match &document {
            Some(document) => body::read(db, document.body)?.0,
            None => String::new(),
        };
        Ok(Former {
            doc: Some(doc),
            document,
            text,
            chunks: Stored::of_document(db, doc)?,
        })
    };
    match read() {
        Err(Error::Damaged(_)) => Ok(Former {
            doc: Some(doc),
            ..Former::default()
        }),
        other => other,
    }
}

/// The chunks of the entry, under the keys of the former ones that say the same.
fn place(db: &Connection, entry: &Entry<'_>, doc: i64, former: Former) -> Result<Vec<Stored>> {
    let bounds = |span: &Span| (span.start, span.end);
    let old_spans: Vec<_> = former
        .chunks
        .iter()
        .map(|chunk| bounds(&chunk.span))
        .collect();
    let mut reusable: HashMap<[u8; 32], VecDeque<Stored>> = HashMap::new();
    for (chunk, text) in former.chunks.into_iter().zip(cut(&former.text, &old_spans)) {
        reusable
            .entry(identity(&chunk, text))
            .or_default()
            .push_back(chunk);
    }
    let spans: Vec<_> = entry.layout.iter().map(bounds).collect();
    let mut next = next_key(db, &CHUNK)?;
    let mut placed = Vec::with_capacity(spans.len());
    for (ordinal, text) in cut(entry.text, &spans).into_iter().enumerate() {
        let mut chunk = Stored {
            key: next,
            doc,
            ordinal: ordinal as u32,
            span: entry.layout[ordinal],
            outline: entry.outlines[ordinal].clone(),
            context_key: entry.context_keys[ordinal].clone(),
            wanted_key: entry.vector_keys[ordinal].clone(),
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

/// What a chunk says, wherever it lies.
fn identity(chunk: &Stored, text: &str) -> [u8; 32] {
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

/// How many code points the text has, if the entry holds together.
fn validate(entry: &Entry<'_>) -> Result<u32> {
    let invalid = |what: &str, fact: String| {
        Err(Error::Invalid(format!(
            "{}: {what} {fact}; nothing was put",
            entry.uri
        )))
    };
    if entry.uri.is_empty() {
        return Err(Error::Invalid("uri: empty; a document needs a name".into()));
    }
    let is_object =
        serde_json::from_str::<serde_json::Value>(entry.metadata).is_ok_and(|all| all.is_object());
    if !is_object {
        return invalid("metadata", "is not a JSON object".into());
    }
    let count = entry.layout.len();
    let lists = [
        ("outlines", entry.outlines.len()),
        ("context_keys", entry.context_keys.len()),
        ("vector_keys", entry.vector_keys.len()),
    ];
    if let Some((name, length)) = lists.into_iter().find(|&(_, length)| length != count) {
        return invalid(name, format!("has {length} items for {count} chunks"));
    }
    let Ok(chars) = u32::try_from(entry.text.chars().count()) else {
        return invalid("text", "is longer than 4,294,967,295 code points".into());
    };
    let mut last = Span {
        start: 0,
        end: 0,
        token_start: 0,
        token_end: 0,
        section: 0,
    };
    for (ordinal, span) in entry.layout.iter().enumerate() {
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
            return invalid(&row, "lies before the chunk above it".into());
        }
        last = *span;
    }
    Ok(chars)
}
