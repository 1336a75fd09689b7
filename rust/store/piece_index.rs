//! The index of long texts: for each piece, the line breaks before it and the marks around it.
//!
//! With it, a passage is read in time that does not depend on the length of its document. Without
//! it, the line of a passage is found by counting from the start of the text, and its marks by
//! parsing all marks of the document. That is done for short texts, and for texts that were written
//! by a version of crx without this index and have not been opened by a writer since.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::row::{self, OnConflict, all, check, first, insert, value};
use super::schema::{CREATE_PIECE_INDEX, PIECE_INDEX};
use super::text::{self, Piece};
use crate::error::{Error, Result};

/// The number of pieces from which a text is indexed: below it, reading the whole text is fast.
const INDEXED_PIECES: u32 = 5;

/// The text of a passage, with its place in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageText {
    /// `document.text[start:end]`.
    pub text: String,
    /// Its first and last line, from 1.
    pub lines: (u64, u64),
    /// The marks that overlap it, as JSON, in the order of the document's marks.
    pub marks: String,
}

/// The marks of a piece or of a document, by their ordinal.
type Marks = BTreeMap<u32, Value>;

/// Indexes the text of a body, if it is long and not indexed yet.
pub(super) fn put(db: &Connection, body: i64) -> Result<()> {
    let sql = "SELECT count(*) FROM piece WHERE body = ?";
    let pieces: u32 = value(db, sql, [body])?.unwrap_or(0);
    if pieces < INDEXED_PIECES || intact(db, body)? == pieces {
        return Ok(());
    }
    write(db, body)
}

/// Returns how many pieces of a body have an intact row.
fn intact(db: &Connection, body: i64) -> Result<u32> {
    let columns = PIECE_INDEX.select();
    let sql = format!("SELECT {columns} FROM piece JOIN piece_index USING (piece) WHERE body = ?");
    let rows = all(db, &sql, [body], |row| row::intact(&PIECE_INDEX, row, 0))?;
    Ok(rows.into_iter().map(u32::from).sum())
}

fn write(db: &Connection, body: i64) -> Result<()> {
    let marks = parse(&text::marks(db, body)?).unwrap_or_default();
    let mut by_start: Vec<(u64, u64, u32)> = Vec::with_capacity(marks.len());
    by_start.extend(marks.iter().map(|(&ordinal, mark)| {
        let (start, end) = span(mark).unwrap_or_default();
        (start, end, ordinal)
    }));
    by_start.sort_unstable();
    let mut rest = by_start.into_iter().peekable();
    let mut open: Vec<(u64, u32)> = Vec::new();
    let mut lines = 0;
    for piece in text::pieces(db, body, 0, u32::MAX)? {
        let start = u64::from(piece.start);
        let end = start + piece.text.chars().count() as u64;
        open.retain(|&(mark_end, _)| mark_end >= start);
        while let Some((_, mark_end, ordinal)) = rest.next_if(|mark| mark.0 <= end) {
            open.push((mark_end, ordinal));
        }
        let mut around: Vec<(u32, &Value)> = open
            .iter()
            .filter_map(|(_, ordinal)| marks.get_key_value(ordinal))
            .map(|(&ordinal, mark)| (ordinal, mark))
            .collect();
        around.sort_unstable_by_key(|mark| mark.0);
        let around = json(&around)?;
        let fields = [
            ValueRef::Integer(piece.key),
            ValueRef::Integer(lines),
            row::text(&around),
        ];
        insert(db, &PIECE_INDEX, OnConflict::Replace, &fields)?;
        lines += line_breaks(&piece.text) as i64;
    }
    Ok(())
}

/// Creates the table, and indexes the long texts.
pub(super) fn create(db: &Connection) -> Result<()> {
    db.execute_batch(CREATE_PIECE_INDEX)?;
    let long = "SELECT body FROM piece GROUP BY body HAVING count(*) >= ?";
    for body in all(db, long, [INDEXED_PIECES], |row| Ok(row.get::<_, i64>(0)?))? {
        match write(db, body) {
            // Damage is reported when the text is read, and by `verify`.
            Ok(()) | Err(Error::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns whether there is the table: an index that was written by an older crx has none.
pub(super) fn exists(db: &Connection) -> Result<bool> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
    Ok(value::<i64>(db, sql, [PIECE_INDEX.name])?.is_some())
}

/// Reads `text[start..end]` of a body, in code points, with its lines and marks.
pub(super) fn read(db: &Connection, body: i64, start: u32, end: u32) -> Result<PassageText> {
    let pieces = text::pieces(db, body, start, end)?;
    let (before, text) = text::cut(&pieces, body, start, end)?;
    let indexed = match exists(db)? {
        true => from_index(db, &pieces)?,
        false => None,
    };
    let (lines, marks) = match indexed {
        Some(found) => found,
        None => from_text(db, body, &pieces)?,
    };
    let first = 1 + lines + line_breaks(before) as u64;
    let inner = text.char_indices().next_back().map_or(0, |(last, _)| last);
    let last = first + line_breaks(&text[..inner]) as u64;
    let overlaps = |mark: &Value| {
        span(mark).is_some_and(|(from, to)| from < u64::from(end) && to > u64::from(start))
    };
    let marks: Vec<Value> = marks.into_values().filter(overlaps).collect();
    Ok(PassageText {
        lines: (first, last),
        marks: json(&marks)?,
        text,
    })
}

/// Reads the line breaks before the first piece, and the marks around all; None if a piece is not
/// indexed.
fn from_index(db: &Connection, pieces: &[Piece]) -> Result<Option<(u64, Marks)>> {
    let mut lines = None;
    let mut marks = Marks::new();
    for piece in pieces {
        let sql = "SELECT piece, lines, marks, hash FROM piece_index WHERE piece = ?";
        let found = first(db, sql, [piece.key], |row| {
            check(&PIECE_INDEX, row, 0)?;
            Ok((row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
        })?;
        let Some((before, around)) = found else {
            return Ok(None);
        };
        lines.get_or_insert(before);
        let around: Vec<(u32, Value)> = serde_json::from_str(&around).unwrap_or_default();
        marks.extend(around);
    }
    Ok(lines.map(|lines| (lines.cast_unsigned(), marks)))
}

/// Counts the line breaks before the first piece, and reads all marks.
fn from_text(db: &Connection, body: i64, pieces: &[Piece]) -> Result<(u64, Marks)> {
    let start = pieces.first().map_or(0, |piece| piece.start);
    let before = match start {
        0 => Vec::new(),
        _ => text::pieces(db, body, 0, start)?,
    };
    let lines: usize = before.iter().map(|piece| line_breaks(&piece.text)).sum();
    let marks = parse(&text::marks(db, body)?);
    Ok((lines as u64, marks.unwrap_or_default()))
}

/// Parses marks: objects with a start and an end, in code points.
pub(super) fn parse(marks: &str) -> Option<Marks> {
    let marks: Vec<Value> = serde_json::from_str(marks).ok()?;
    let valid = marks.iter().all(|mark| span(mark).is_some());
    valid.then(|| (0u32..).zip(marks).collect())
}

fn span(mark: &Value) -> Option<(u64, u64)> {
    Some((mark.get("start")?.as_u64()?, mark.get("end")?.as_u64()?))
}

fn json(marks: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(marks).map_err(|error| Error::System(format!("marks: {error}")))
}

fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}
