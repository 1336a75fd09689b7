//! The chunks whose text matches a pattern.
//!
//! Documents are read in windows of some pieces each, which overlap by a piece: those that have a match
//! by the filter of trigrams. The handle is free for other searches while windows are searched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rusqlite::Connection;

use super::chunks::StoredChunk;
use super::row::{all, check, value};
use super::schema::DOCUMENT;
use super::text::{self, Cursor};
use super::{Filter, Store, changes};
use crate::error::{Error, Result};
use crate::interrupt::{self, Interrupt};
use crate::pattern::Pattern;
use crate::pool;
use crate::trigrams::{Candidates, Stretches, Trigrams};

/// Pieces of a window, without the one that the next window begins with.
const WINDOW_PIECES: usize = 8;
/// Characters before a window that are read with it, for what looks behind: `^` and `\b`.
const CONTEXT_CHARS: u32 = 64;
/// Bytes of text that are searched at once: few at first, since the first texts may be enough.
const BATCH_BYTES: std::ops::Range<usize> = 1 << 18..1 << 22;
/// How long a search may take.
const LONGEST: Duration = Duration::from_secs(10);
/// Bytes of text that a search may look at.
const SEARCHED_BYTES: u64 = 4 << 30;

/// The chunks in which a match begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchingChunks {
    /// Their keys, in the order of documents and ordinals.
    pub keys: Vec<i64>,
    /// Why there may be others.
    pub end: MatchingEnd,
}

/// What ended a search of all texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchingEnd {
    /// All texts were searched.
    Complete,
    /// There were as many chunks as were asked for, and one more.
    Count,
    /// The time was over.
    Time,
    /// As much text was searched as may be.
    Bytes,
}

/// A document and its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextOf {
    doc: i64,
    body: i64,
}

/// The texts of all documents at a change.
pub(super) type Texts = Option<(i64, Arc<[TextOf]>)>;

/// A stretch of a text: matches begin in `start..end`, and `start..until` is read.
#[derive(Debug)]
struct Window {
    start: u32,
    end: u32,
    until: u32,
}

/// A window to be searched.
struct Work {
    text_of: TextOf,
    /// The first code point that is read.
    from: u32,
    start: u32,
    end: u32,
    text: String,
}

impl Store {
    /// Returns at most `count` chunks in which a match of the pattern begins.
    ///
    /// # Errors
    /// [`crate::error::Error::Damaged`] for a text that does not match its hash, and
    /// [`crate::error::Error::Interrupted`].
    pub fn matching(
        &self,
        pattern: &Pattern,
        only: Option<&Filter>,
        trigrams: &Trigrams,
        count: usize,
    ) -> Result<MatchingChunks> {
        let candidates = trigrams.candidates(self, pattern)?;
        let texts = self.read(|db| self.texts(db))?;
        let mut search = MatchingSearch {
            store: self,
            pattern,
            deadline: Deadline::after(LONGEST),
            bytes: 0,
            count,
            keys: Vec::new(),
        };
        let texts = texts
            .iter()
            .filter(|text_of| only.is_none_or(|only| only.contains(text_of.doc)));
        let end = search.run(texts, &candidates)?;
        search.keys.truncate(count);
        Ok(MatchingChunks {
            keys: search.keys,
            end,
        })
    }

    /// Returns the bodies with larger numbers than `body`, ascending. Numbers are never used again.
    pub(crate) fn bodies_after(&self, body: i64) -> Result<Vec<i64>> {
        let sql = "SELECT body FROM body WHERE body > ? ORDER BY body";
        self.read(|db| all(db, sql, [body], |row| Ok(row.get(0)?)))
    }

    /// Returns the number of pieces of the bodies with larger numbers than `body`.
    pub(crate) fn pieces_after(&self, body: i64) -> Result<i64> {
        let sql = "SELECT count(*) FROM piece WHERE body > ?";
        Ok(self.read(|db| value(db, sql, [body]))?.unwrap_or(0))
    }

    /// Returns the pieces of the first of some bodies, of as many as have `most_bytes` together or
    /// one more; None for a body that is damaged.
    pub(crate) fn body_pieces(
        &self,
        bodies: &[i64],
        most_bytes: usize,
    ) -> Result<Vec<Option<Vec<String>>>> {
        self.read(|db| {
            let (mut found, mut bytes) = (Vec::new(), 0);
            for &body in bodies {
                let pieces = match text::pieces_of(db, body) {
                    Ok(pieces) => Some(pieces),
                    Err(Error::Damaged(_)) => None,
                    Err(error) => return Err(error),
                };
                bytes += pieces.iter().flatten().map(String::len).sum::<usize>();
                found.push(pieces);
                if bytes >= most_bytes {
                    break;
                }
            }
            Ok(found)
        })
    }

    /// Returns the texts of all documents, which are read once for each change.
    fn texts(&self, db: &Connection) -> Result<Arc<[TextOf]>> {
        let seq = changes::last(db)?;
        let mut known = self.texts.lock().unwrap_or_else(|error| error.into_inner());
        if let Some((of, texts)) = &*known
            && *of == seq
        {
            return Ok(Arc::clone(texts));
        }
        let sql = format!(
            "SELECT {} FROM document ORDER BY document.doc",
            DOCUMENT.select()
        );
        let texts: Vec<TextOf> = all(db, &sql, [], |row| {
            check(&DOCUMENT, row, 0)?;
            Ok(TextOf {
                doc: row.get(0)?,
                body: row.get(9)?,
            })
        })?;
        let texts: Arc<[TextOf]> = texts.into();
        *known = Some((seq, Arc::clone(&texts)));
        Ok(texts)
    }
}

/// When a search ends, found or not.
#[derive(Debug)]
struct Deadline {
    at: Instant,
    /// That of the thread that asks: other threads search for it.
    interrupt: Option<Interrupt>,
}

impl Deadline {
    fn after(time: Duration) -> Self {
        Deadline {
            at: Instant::now() + time,
            interrupt: interrupt::current(),
        }
    }

    fn is_over(&self) -> bool {
        Instant::now() > self.at || self.interrupt.as_ref().is_some_and(Interrupt::is_due)
    }
}

/// A search for a pattern: what bounds it, and what it has found.
struct MatchingSearch<'a> {
    store: &'a Store,
    pattern: &'a Pattern,
    deadline: Deadline,
    /// Bytes of text that were searched.
    bytes: u64,
    count: usize,
    keys: Vec<i64>,
}

impl MatchingSearch<'_> {
    fn run<'a>(
        &mut self,
        texts: impl Iterator<Item = &'a TextOf>,
        candidates: &Candidates,
    ) -> Result<MatchingEnd> {
        let mut batch = Batch::default();
        for &text_of in texts {
            let stretches = candidates.of(text_of.body);
            if stretches.is_empty() {
                continue;
            }
            let windows = self
                .store
                .read(|db| cut_windows(db, text_of.body, stretches))?;
            for window in windows {
                let work = self
                    .store
                    .read(|db| read_window(db, self.pattern, text_of, &window))?;
                batch.add(work);
                if batch.is_full()
                    && let Some(end) = self.search(&mut batch)?
                {
                    return Ok(end);
                }
            }
        }
        Ok(self.search(&mut batch)?.unwrap_or(MatchingEnd::Complete))
    }

    /// Searches the windows of a batch; returns what ends the search, if it ends.
    fn search(&mut self, batch: &mut Batch) -> Result<Option<MatchingEnd>> {
        self.bytes += batch.bytes as u64;
        let work = batch.take();
        let searched: Vec<Vec<u32>> = pool::install(|| {
            work.par_iter()
                .map(|work| search_window(self.pattern, work, &self.deadline))
                .collect()
        });
        interrupt::check()?;
        let keys = &mut self.keys;
        self.store.read(|db| add_chunks(db, work, searched, keys))?;
        Ok(if self.keys.len() > self.count {
            Some(MatchingEnd::Count)
        } else if self.deadline.is_over() {
            Some(MatchingEnd::Time)
        } else if self.bytes >= SEARCHED_BYTES {
            Some(MatchingEnd::Bytes)
        } else {
            None
        })
    }
}

/// Windows that are searched together.
#[derive(Default)]
struct Batch {
    work: Vec<Work>,
    bytes: usize,
    taken: u32,
}

impl Batch {
    fn add(&mut self, work: Work) {
        self.bytes += work.text.len();
        self.work.push(work);
    }

    fn is_full(&self) -> bool {
        self.bytes >= (BATCH_BYTES.start << self.taken.min(8)).min(BATCH_BYTES.end)
    }

    fn take(&mut self) -> Vec<Work> {
        self.bytes = 0;
        self.taken += 1;
        std::mem::take(&mut self.work)
    }
}

fn read_window(
    db: &Connection,
    pattern: &Pattern,
    text_of: TextOf,
    window: &Window,
) -> Result<Work> {
    let before = if pattern.looks_around() {
        CONTEXT_CHARS
    } else {
        0
    };
    let from = window.start.saturating_sub(before);
    Ok(Work {
        text_of,
        from,
        start: window.start,
        end: window.end,
        text: text::slice(db, text_of.body, from, window.until)?,
    })
}

/// Appends the chunks in which matches begin, for each window those at these code points.
fn add_chunks(
    db: &Connection,
    batch: Vec<Work>,
    searched: Vec<Vec<u32>>,
    keys: &mut Vec<i64>,
) -> Result<()> {
    let mut chunks: (i64, Vec<StoredChunk>) = (-1, Vec::new());
    for (work, starts) in batch.into_iter().zip(searched) {
        if starts.is_empty() {
            continue;
        }
        if chunks.0 != work.text_of.doc {
            chunks = (
                work.text_of.doc,
                StoredChunk::of_document(db, work.text_of.doc)?,
            );
        }
        for start in starts {
            // What stands between two chunks belongs to the second.
            let after = chunks.1.partition_point(|chunk| chunk.span.end <= start);
            let chunk = chunks.1.get(after).or(chunks.1.last());
            if let Some(chunk) = chunk
                && keys.last() != Some(&chunk.key)
            {
                keys.push(chunk.key);
            }
        }
    }
    Ok(())
}

/// Returns the code points of a window at which matches begin, those that are found in time.
fn search_window(pattern: &Pattern, work: &Work, deadline: &Deadline) -> Vec<u32> {
    let text = &work.text;
    let mut cursor = Cursor::new(text);
    let start = cursor.advance((work.start - work.from) as usize);
    let end = cursor.advance((work.end - work.from) as usize);
    let mut starts = Vec::new();
    let (mut at, mut counted, mut chars) = (start, start, work.start);
    while !deadline.is_over()
        && let Some(found) = pattern.find_at(text, at)
        && found.start < end
    {
        chars += text[counted..found.start].chars().count() as u32;
        counted = found.start;
        starts.push(chars);
        at = found.end;
    }
    starts
}

/// Returns the windows of a text in which a match may begin.
fn cut_windows(db: &Connection, body: i64, stretches: Stretches<'_>) -> Result<Vec<Window>> {
    let sql = "SELECT start FROM piece WHERE body = ? ORDER BY start";
    let starts: Vec<u32> = all(db, sql, [body], |row| Ok(row.get(0)?))?;
    let chars: u32 = value(db, "SELECT chars FROM body WHERE body = ?", [body])?.unwrap_or(0);
    let start_of = |piece: usize| starts.get(piece).copied().unwrap_or(chars);
    let ranges = stretches.ranges(starts.len(), WINDOW_PIECES).into_iter();
    let windows = ranges.map(|pieces| Window {
        start: start_of(pieces.start),
        end: start_of(pieces.end),
        until: start_of(pieces.end + 1),
    });
    Ok(windows.filter(|window| window.start < window.end).collect())
}
