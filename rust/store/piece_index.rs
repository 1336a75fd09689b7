//! The index of long texts: for each piece, the line breaks before it and the marks around it.
//!
//! With it, a passage is read in time that does not depend on the length of its document. Without
//! it, the line of a passage is found by counting from the start of the text, and its marks by
//! parsing all marks of the document. That is done for short texts, and for texts that were written
//! by a version of crx without this index and have not been opened by a writer since.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::value::RawValue;

use super::read_rows::{PieceEntry, ReadRows};
use super::row::{self, OnConflict, all, insert, value};
use super::schema::{CREATE_PIECE_INDEX, PIECE_INDEX};
use super::text::{self, Piece};
use crate::error::{Error, Result};

/// The number of pieces from which a text is indexed: below it, reading the whole text is fast.
const INDEXED_PIECES: u32 = 5;

/// The text of a passage, with its position in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageText {
    /// `document.text[start:end]`.
    pub text: String,
    /// Its first and last line, from 1.
    pub lines: (u64, u64),
    /// The marks that overlap it, as JSON, in the order of the document's marks.
    pub marks: String,
}

/// A mark that is kept with the rows that were read.
#[derive(Debug)]
pub(super) struct KeptMark {
    start: u64,
    end: u64,
    json: Box<str>,
}

/// A mark: its span in code points, and all of it as JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark<'a> {
    start: u64,
    end: u64,
    json: &'a RawValue,
}

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
    let marks = text::marks(db, body)?;
    let marks = parse(&marks).unwrap_or_default();
    let mut by_start: Vec<(u32, Mark<'_>)> = (0u32..).zip(marks).collect();
    by_start.sort_by_key(|(_, mark)| (mark.start, mark.end));
    let mut rest = by_start.into_iter().peekable();
    let mut open: Vec<(u32, Mark<'_>)> = Vec::new();
    let mut lines = 0;
    for piece in text::pieces(db, body, 0, u32::MAX)? {
        let start = u64::from(piece.start);
        let end = start + piece.text.chars().count() as u64;
        open.retain(|(_, mark)| mark.end >= start);
        while let Some(opened) = rest.next_if(|(_, mark)| mark.start <= end) {
            open.push(opened);
        }
        let mut around: Vec<(u32, &RawValue)> = open
            .iter()
            .map(|(ordinal, mark)| (*ordinal, mark.json))
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

/// A reader of passages.
pub(super) struct Reader<'a> {
    db: &'a Connection,
    rows: &'a mut ReadRows,
    is_indexed: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(db: &'a Connection, rows: &'a mut ReadRows) -> Result<Self> {
        Ok(Reader {
            is_indexed: rows.has_piece_index(db)?,
            db,
            rows,
        })
    }

    /// Reads `text[start..end]` of a body, in code points, with its lines and marks.
    pub(super) fn read(&mut self, body: i64, start: u32, end: u32) -> Result<PassageText> {
        let pieces = self.rows.pieces(self.db, body, start, end)?;
        let (before, text) = text::cut(&pieces, body, start, end)?;
        let indexed = match self.is_indexed {
            true => self.read_index(&pieces, start, end)?,
            false => None,
        };
        let (lines, marks) = match indexed {
            Some(found) => found,
            None => self.read_text(body, &pieces, start, end)?,
        };
        let first = 1 + lines + line_breaks(before) as u64;
        let inner = text.char_indices().next_back().map_or(0, |(last, _)| last);
        let last = first + line_breaks(&text[..inner]) as u64;
        Ok(PassageText {
            text,
            lines: (first, last),
            marks,
        })
    }

    /// Reads the line breaks before the first piece, and the marks that overlap a span; None if a
    /// piece is not indexed.
    fn read_index(
        &mut self,
        pieces: &[Arc<Piece>],
        start: u32,
        end: u32,
    ) -> Result<Option<(u64, String)>> {
        let mut lines = None;
        let mut around: Vec<Arc<PieceEntry>> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let Some(entry) = self.rows.piece_entry(self.db, piece.key)? else {
                return Ok(None);
            };
            lines.get_or_insert(entry.lines);
            around.push(entry);
        }
        let of_pieces = around.iter().flat_map(|entry| &entry.marks);
        let marks: BTreeMap<u32, &KeptMark> =
            of_pieces.map(|(ordinal, mark)| (*ordinal, mark)).collect();
        let marks = overlapping(marks.into_values(), start, end);
        Ok(lines.map(|lines| (lines, marks)))
    }

    /// Counts the line breaks before the first piece, and reads the marks that overlap a span.
    fn read_text(
        &mut self,
        body: i64,
        pieces: &[Arc<Piece>],
        start: u32,
        end: u32,
    ) -> Result<(u64, String)> {
        let first = pieces.first().map_or(0, |piece| piece.start);
        let before = match first {
            0 => Vec::new(),
            // Not kept: all of a long text.
            _ => text::pieces(self.db, body, 0, first)?,
        };
        let lines: usize = before.iter().map(|piece| line_breaks(&piece.text)).sum();
        let marks = self.rows.marks(self.db, body)?;
        Ok((lines as u64, overlapping(marks.iter(), start, end)))
    }
}

/// Returns the marks that overlap a span, as JSON.
fn overlapping<'a>(marks: impl Iterator<Item = &'a KeptMark>, start: u32, end: u32) -> String {
    let (start, end) = (u64::from(start), u64::from(end));
    let overlapping = marks.filter(|mark| mark.start < end && mark.end > start);
    let mut json = String::from("[");
    for mark in overlapping {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&mark.json);
    }
    json.push(']');
    json
}

/// Parses what the index holds for a piece: marks, each with its ordinal.
pub(super) fn parse_entry(marks: &str) -> Vec<(u32, KeptMark)> {
    let marks: Vec<(u32, &RawValue)> = serde_json::from_str(marks).unwrap_or_default();
    let kept = |(ordinal, json)| Some((ordinal, Mark::of(json)?.kept()));
    marks.into_iter().filter_map(kept).collect()
}

/// Reads the marks of a body.
pub(super) fn read_marks(db: &Connection, body: i64) -> Result<Vec<KeptMark>> {
    let marks = text::marks(db, body)?;
    let marks = parse(&marks).unwrap_or_default();
    Ok(marks.into_iter().map(Mark::kept).collect())
}

/// Parses marks: objects with a kind, a label, and a start and an end in code points.
pub(super) fn parse(marks: &str) -> Option<Vec<Mark<'_>>> {
    let marks: Vec<&RawValue> = serde_json::from_str(marks).ok()?;
    marks.into_iter().map(Mark::of).collect()
}

impl<'a> Mark<'a> {
    /// Returns the mark, or None if it is not an object with the fields of one.
    fn of(json: &'a RawValue) -> Option<Self> {
        // The readers of marks expect these fields and no others.
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "the fields are checked by being read")]
        struct Fields<'a> {
            #[serde(borrow)]
            kind: Cow<'a, str>,
            start: u64,
            end: u64,
            #[serde(borrow)]
            label: Cow<'a, str>,
            #[serde(default)]
            level: u32,
        }
        let Fields { start, end, .. } = serde_json::from_str(json.get()).ok()?;
        (start <= end).then_some(Mark { start, end, json })
    }

    fn kept(self) -> KeptMark {
        let Mark { start, end, json } = self;
        KeptMark {
            start,
            end,
            json: json.get().into(),
        }
    }
}

fn json(marks: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(marks).map_err(|error| Error::System(format!("marks: {error}")))
}

fn line_breaks(text: &str) -> usize {
    // Sums of bytes, which the compiler vectorizes; a block is too short for one to overflow.
    let in_block = |block: &[u8]| -> u8 { block.iter().map(|&byte| u8::from(byte == b'\n')).sum() };
    let blocks = text.as_bytes().chunks(128);
    blocks.map(|block| usize::from(in_block(block))).sum()
}
