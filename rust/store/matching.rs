//! The chunks whose text matches a pattern.
//!
//! Documents are read in windows of some pieces each, which overlap by a piece. The trigrams of every
//! window that was read are kept in memory by the content of its text, so that later searches of the
//! process read only windows that may match.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rusqlite::Connection;

use super::chunks::StoredChunk;
use super::row::{all, check, value};
use super::schema::DOCUMENT;
use super::text::{self, Cursor};
use super::{Filter, Store, changes};
use crate::error::Result;
use crate::interrupt;
use crate::pattern::{Pattern, TrigramSet};
use crate::pool;

/// Pieces of a window, without the one that the next window begins with.
const WINDOW_PIECES: usize = 8;
/// Characters before a window that are read with it, for what looks behind: `^` and `\b`.
const CONTEXT_CHARS: u32 = 64;
/// Bytes of text that are searched at once: few at first, since the first texts may be enough.
const BATCH_BYTES: std::ops::Range<usize> = 1 << 18..1 << 22;
/// The most bytes of trigrams that a process keeps; those of a gigabyte of text.
const KEPT_BYTES: usize = 1 << 28;
/// How long a search may take.
const LONGEST: Duration = Duration::from_secs(10);

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
}

/// A document, its body and the key of the body's content.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextOf {
    doc: i64,
    body: i64,
    key: [u8; 32],
}

/// The texts of all documents at a change.
pub(super) type Texts = Option<(i64, Arc<[TextOf]>)>;

/// A stretch of a text: matches begin in `start..end`, and `start..until` is read.
#[derive(Debug)]
struct Window {
    start: u32,
    end: u32,
    until: u32,
    trigrams: Option<TrigramSet>,
}

/// The windows of a text, and the last search that looked at them.
struct KnownText {
    windows: Vec<Window>,
    search: u64,
}

/// The windows of texts, by the keys of their content.
///
/// If there is no room for those of a search, texts that it has not looked at yet are forgotten,
/// such as those of an index that was closed. Texts of one search never make room for each other:
/// each search passes over all of them, and would find that the ones it comes to were forgotten last.
struct KnownWindows {
    by_key: Option<HashMap<[u8; 32], KnownText>>,
    /// The bytes of trigrams, and the most that are kept.
    bytes: usize,
    room: usize,
    /// The number of the present search, and of the last one for which others were forgotten.
    search: u64,
    forgot_in: u64,
}

static KNOWN: Mutex<KnownWindows> = Mutex::new(KnownWindows {
    by_key: None,
    bytes: 0,
    room: KEPT_BYTES,
    search: 0,
    forgot_in: 0,
});

/// A window to be searched.
struct Work {
    text_of: TextOf,
    /// The number of the window in its text.
    window: usize,
    /// The first code point that is read.
    from: u32,
    start: u32,
    end: u32,
    text: String,
    is_known: bool,
}

/// What was found in a window: the code points at which matches begin, and its trigrams if they
/// were not known.
type Searched = (Vec<u32>, Option<TrigramSet>);

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
        count: usize,
    ) -> Result<MatchingChunks> {
        self.read(|db| {
            // Another search holds the lock, or a thread that was forked away; then this one reads
            // all texts and keeps no windows.
            let (mut kept, mut own) = (KNOWN.try_lock().ok(), KnownWindows::default());
            let known = kept.as_deref_mut().unwrap_or(&mut own);
            let texts = self.texts(db)?;
            let texts = texts
                .iter()
                .filter(|text_of| only.is_none_or(|only| only.contains(text_of.doc)));
            search(db, pattern, texts, known, count)
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
            "SELECT {}, body.key FROM document JOIN body ON body.body = document.body \
             ORDER BY document.doc",
            DOCUMENT.select()
        );
        let texts: Vec<TextOf> = all(db, &sql, [], |row| {
            check(&DOCUMENT, row, 0)?;
            let (doc, body, key) = (row.get(0)?, row.get(8)?, row.get(DOCUMENT.width + 1)?);
            Ok(TextOf { doc, body, key })
        })?;
        let texts: Arc<[TextOf]> = texts.into();
        *known = Some((seq, Arc::clone(&texts)));
        Ok(texts)
    }
}

fn search<'a>(
    db: &Connection,
    pattern: &Pattern,
    texts: impl Iterator<Item = &'a TextOf>,
    known: &mut KnownWindows,
    count: usize,
) -> Result<MatchingChunks> {
    let until = Instant::now() + LONGEST;
    known.search += 1;
    let mut keys = Vec::new();
    let mut batch = Batch::default();
    for &text_of in texts {
        for number in 0..known.windows(db, text_of)?.len() {
            let window = &known.windows(db, text_of)?[number];
            if window
                .trigrams
                .as_ref()
                .is_none_or(|set| pattern.may_match(set))
            {
                batch.add(read_window(db, text_of, number, window)?);
            }
            if batch.is_full() {
                interrupt::check()?;
                find_chunks(db, pattern, batch.take(), known, &mut keys)?;
                if keys.len() > count {
                    keys.truncate(count);
                    return Ok(MatchingChunks {
                        keys,
                        end: MatchingEnd::Count,
                    });
                }
                if Instant::now() > until {
                    return Ok(MatchingChunks {
                        keys,
                        end: MatchingEnd::Time,
                    });
                }
            }
        }
    }
    find_chunks(db, pattern, batch.take(), known, &mut keys)?;
    let end = match keys.len() > count {
        true => MatchingEnd::Count,
        false => MatchingEnd::Complete,
    };
    keys.truncate(count);
    Ok(MatchingChunks { keys, end })
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

fn read_window(db: &Connection, text_of: TextOf, number: usize, window: &Window) -> Result<Work> {
    let from = window.start.saturating_sub(CONTEXT_CHARS);
    Ok(Work {
        text_of,
        window: number,
        from,
        start: window.start,
        end: window.end,
        text: text::slice(db, text_of.body, from, window.until)?,
        is_known: window.trigrams.is_some(),
    })
}

/// Searches windows on all threads, and appends the chunks in which matches begin.
fn find_chunks(
    db: &Connection,
    pattern: &Pattern,
    batch: Vec<Work>,
    known: &mut KnownWindows,
    keys: &mut Vec<i64>,
) -> Result<()> {
    let searched: Vec<Searched> = pool::install(|| {
        batch
            .par_iter()
            .map(|work| search_window(pattern, work))
            .collect()
    });
    let mut chunks: (i64, Vec<StoredChunk>) = (-1, Vec::new());
    for (work, (starts, trigrams)) in batch.into_iter().zip(searched) {
        if let Some(trigrams) = trigrams {
            known.keep(&work.text_of.key, work.window, trigrams);
        }
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

fn search_window(pattern: &Pattern, work: &Work) -> Searched {
    let text = &work.text;
    let mut cursor = Cursor::new(text);
    let start = cursor.advance((work.start - work.from) as usize);
    let end = cursor.advance((work.end - work.from) as usize);
    let mut starts = Vec::new();
    let (mut at, mut counted, mut chars) = (start, start, work.start);
    while let Some(found) = pattern.find_at(text, at).filter(|found| found.start < end) {
        chars += text[counted..found.start].chars().count() as u32;
        counted = found.start;
        starts.push(chars);
        at = found.end;
    }
    let trigrams = (!work.is_known).then(|| TrigramSet::of(&text[start..]));
    (starts, trigrams)
}

impl Default for KnownWindows {
    fn default() -> Self {
        KnownWindows {
            by_key: Some(HashMap::new()),
            bytes: 0,
            room: KEPT_BYTES,
            search: 0,
            forgot_in: 0,
        }
    }
}

impl KnownWindows {
    /// Returns the windows of a text.
    fn windows(&mut self, db: &Connection, text_of: TextOf) -> Result<&[Window]> {
        let search = self.search;
        let by_key = self.by_key.get_or_insert_default();
        let known = match by_key.entry(text_of.key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(KnownText {
                windows: cut_windows(db, text_of.body)?,
                search,
            }),
        };
        known.search = search;
        Ok(&known.windows)
    }

    /// Keeps the trigrams of a window, if there is room.
    fn keep(&mut self, key: &[u8; 32], number: usize, trigrams: TrigramSet) {
        let bytes = trigrams.bytes();
        if self.bytes + bytes > self.room && self.forgot_in != self.search {
            self.forgot_in = self.search;
            self.forget_others();
        }
        let known = self.by_key.as_mut().and_then(|by_key| by_key.get_mut(key));
        if let Some(window) = known.and_then(|known| known.windows.get_mut(number))
            && window.trigrams.is_none() // two documents may have the text
            && self.bytes + bytes <= self.room
        {
            self.bytes += bytes;
            window.trigrams = Some(trigrams);
        }
    }

    /// Forgets the texts that the present search has not looked at.
    fn forget_others(&mut self) {
        let (search, by_key) = (self.search, self.by_key.get_or_insert_default());
        let mut forgotten = 0;
        by_key.retain(|_, known| {
            if known.search == search {
                return true;
            }
            let trigrams = known
                .windows
                .iter()
                .filter_map(|each| each.trigrams.as_ref());
            forgotten += trigrams.map(TrigramSet::bytes).sum::<usize>();
            false
        });
        self.bytes -= forgotten;
    }
}

/// Returns the windows of a text.
fn cut_windows(db: &Connection, body: i64) -> Result<Vec<Window>> {
    let sql = "SELECT start FROM piece WHERE body = ? ORDER BY start";
    let starts: Vec<u32> = all(db, sql, [body], |row| Ok(row.get(0)?))?;
    let chars: u32 = value(db, "SELECT chars FROM body WHERE body = ?", [body])?.unwrap_or(0);
    let windows = (0..starts.len()).step_by(WINDOW_PIECES).map(|first| {
        let end = starts.get(first + WINDOW_PIECES).copied().unwrap_or(chars);
        let until = starts.get(first + WINDOW_PIECES + 1).copied();
        Window {
            start: starts[first],
            end,
            until: until.unwrap_or(chars),
            trigrams: None,
        }
    });
    Ok(windows.filter(|window| window.start < window.end).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the trigrams of a text of one window in a search of its own.
    fn keep(known: &mut KnownWindows, key: u8, text: &str) {
        known.search += 1;
        let (search, by_key) = (known.search, known.by_key.get_or_insert_default());
        let window = Window {
            start: 0,
            end: 1,
            until: 1,
            trigrams: None,
        };
        let windows = vec![window];
        by_key.insert([key; 32], KnownText { windows, search });
        known.keep(&[key; 32], 0, TrigramSet::of(text));
    }

    fn is_known(known: &KnownWindows, key: u8) -> bool {
        let text = known
            .by_key
            .as_ref()
            .and_then(|by_key| by_key.get(&[key; 32]));
        text.is_some_and(|text| text.windows[0].trigrams.is_some())
    }

    #[test]
    fn texts_of_earlier_searches_make_room_for_those_of_a_later_one() {
        let mut known = KnownWindows {
            room: TrigramSet::of("heron").bytes(),
            ..KnownWindows::default()
        };
        keep(&mut known, 1, "heron");
        assert!(is_known(&known, 1));
        keep(&mut known, 2, "egret");
        assert!(!is_known(&known, 1) && is_known(&known, 2));
        assert_eq!(known.bytes, TrigramSet::of("egret").bytes());
    }

    #[test]
    fn texts_of_one_search_make_no_room_for_each_other() {
        let mut known = KnownWindows {
            room: TrigramSet::of("heron").bytes(),
            ..KnownWindows::default()
        };
        keep(&mut known, 1, "heron");
        known.search -= 1;
        keep(&mut known, 2, "egret");
        assert!(is_known(&known, 1) && !is_known(&known, 2));
    }

    #[test]
    fn a_text_that_two_documents_share_is_counted_once() {
        let mut known = KnownWindows::default();
        keep(&mut known, 1, "heron");
        known.keep(&[1; 32], 0, TrigramSet::of("heron"));
        assert_eq!(known.bytes, TrigramSet::of("heron").bytes());
    }

    #[test]
    fn a_search_that_fills_the_room_forgets_others_once() {
        let mut known = KnownWindows {
            room: TrigramSet::of("heron").bytes(),
            ..KnownWindows::default()
        };
        keep(&mut known, 1, "heron");
        let search = known.search;
        known.search -= 1; // the next text belongs to the same search
        keep(&mut known, 2, "egret");
        if let Some(first) = known.by_key.get_or_insert_default().get_mut(&[1; 32]) {
            first.search = 0;
        }
        known.search = search;
        known.keep(&[2; 32], 0, TrigramSet::of("egret"));
        assert!(is_known(&known, 1) && !is_known(&known, 2));
    }
}
