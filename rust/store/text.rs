//! Texts of documents, stored in pieces, by the hash of their content.
//!
//! A span is read from the pieces that contain it, so that a chunk of a document of 200 MB costs as
//! much to read as a chunk of a short note.

use std::ops::Range;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::piece_index;
use super::row::{self, OnConflict, all, check, first, insert, next_key};
use super::schema::{BODY, PIECE};
use crate::error::{Error, Result};

/// The most bytes of a piece: those of a row that fits in one page of SQLite, a few chunks.
///
/// Whoever reads a chunk reads and hashes its whole piece.
const PIECE_BYTES: usize = 4096 - 128;

/// Returns the key of a text with its marks: the BLAKE3 of both, each preceded by its length.
pub(super) fn content_key(text: &str, marks: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in [text, marks] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Stores a text of `chars` code points with its marks, unless it exists; returns its body.
///
/// An existing body that is damaged is written again.
pub(super) fn put(db: &Connection, text: &str, chars: i64, marks: &str) -> Result<i64> {
    let key = content_key(text, marks);
    let existing = row::value::<i64>(db, "SELECT body FROM body WHERE key = ?", [&key[..]])?;
    let body = match existing {
        Some(body) if intact(db, body)? => return Ok(body),
        Some(body) => body,
        None => next_key(db, &BODY)?,
    };
    db.prepare_cached("DELETE FROM piece WHERE body = ?")?
        .execute([body])?;
    let fields = [
        ValueRef::Integer(body),
        ValueRef::Blob(&key),
        ValueRef::Integer(chars),
        row::text(marks),
    ];
    insert(db, &BODY, OnConflict::Replace, &fields)?;
    let mut start = 0;
    for text in split(text) {
        let chars = text.chars().count() as i64;
        let fields = [
            ValueRef::Integer(next_key(db, &PIECE)?),
            ValueRef::Integer(body),
            ValueRef::Integer(start),
            ValueRef::Integer(chars),
            row::text(text),
        ];
        insert(db, &PIECE, OnConflict::Fail, &fields)?;
        start += chars;
    }
    Ok(body)
}

fn intact(db: &Connection, body: i64) -> Result<bool> {
    match read(db, body) {
        Ok(_) => Ok(true),
        Err(Error::Damaged(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a whole text and its marks, and checks them against their key.
pub(super) fn read(db: &Connection, body: i64) -> Result<(String, String)> {
    let (key, marks) = head(db, body)?;
    let mut text = String::new();
    let sql =
        "SELECT piece, body, start, chars, text, hash FROM piece WHERE body = ? ORDER BY start";
    all(db, sql, [body], |row| {
        check(&PIECE, row, 0)?;
        text.push_str(row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?);
        Ok(())
    })?;
    if key != content_key(&text, &marks) {
        return Err(Error::Damaged(format!(
            "body {body} does not match its key; `crx verify` lists every fault"
        )));
    }
    Ok((text, marks))
}

/// Reads the pieces of a text, without its marks.
pub(super) fn pieces_of(db: &Connection, body: i64) -> Result<Vec<String>> {
    let sql =
        "SELECT piece, body, start, chars, text, hash FROM piece WHERE body = ? ORDER BY start";
    let mut reached = 0;
    let pieces = all(db, sql, [body], |row| {
        check(&PIECE, row, 0)?;
        if row.get::<_, i64>(2)? != reached {
            return Err(missing(body));
        }
        reached += row.get::<_, i64>(3)?;
        Ok(row.get(4)?)
    })?;
    let chars: Option<i64> = row::value(db, "SELECT chars FROM body WHERE body = ?", [body])?;
    match chars == Some(reached) {
        true => Ok(pieces),
        false => Err(missing(body)),
    }
}

/// Reads the marks of a text.
pub(super) fn marks(db: &Connection, body: i64) -> Result<String> {
    head(db, body).map(|(_, marks)| marks)
}

fn head(db: &Connection, body: i64) -> Result<(Vec<u8>, String)> {
    let sql = "SELECT body, key, chars, marks, hash FROM body WHERE body = ?";
    let head = first(db, sql, [body], |row| {
        check(&BODY, row, 0)?;
        let marks: String = row.get(3)?;
        if piece_index::parse(&marks).is_none() {
            return Err(Error::Damaged(format!(
                "body {body} has marks that are not a JSON list of marks; `crx verify` lists every fault"
            )));
        }
        Ok((row.get(1)?, marks))
    })?;
    head.ok_or_else(|| missing(body))
}

/// Reads `text[start..end]` of a body, in code points.
pub(super) fn slice(db: &Connection, body: i64, start: u32, end: u32) -> Result<String> {
    Ok(cut(&pieces(db, body, start, end)?, body, start, end)?.1)
}

/// A piece of a text.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) key: i64,
    /// The code points before it.
    pub(super) start: u32,
    /// The code point after its last.
    pub(super) end: u32,
    pub(super) text: String,
}

impl Piece {
    /// Returns the bytes at which two of its code points start, or its length, and how many code
    /// points are before the second.
    fn cut(&self, from: u32, to: u32) -> (usize, usize, u32) {
        let (from, to) = (from as usize, to as usize);
        let length = self.text.len();
        // A code point a byte: they need not be counted.
        if length == (self.end - self.start) as usize {
            let to = to.min(length);
            return (from.min(length), to, to as u32);
        }
        let mut cursor = Cursor::new(&self.text);
        let (from, to) = (cursor.advance(from), cursor.advance(to));
        (from, to, cursor.chars as u32)
    }
}

/// Reads the pieces that overlap `text[start..end]` of a body.
pub(super) fn pieces(db: &Connection, body: i64, start: u32, end: u32) -> Result<Vec<Arc<Piece>>> {
    let sql = "SELECT piece, body, start, chars, text, hash FROM piece \
               WHERE body = ? AND start < ? ORDER BY start DESC";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query((body, end))?;
    let mut pieces: Vec<Arc<Piece>> = Vec::new();
    while pieces.last().is_none_or(|first| first.start > start) {
        let row = rows.next()?.ok_or_else(|| missing(body))?;
        check(&PIECE, row, 0)?;
        let start: u32 = row.get(2)?;
        let piece = Piece {
            key: row.get(0)?,
            start,
            end: start + row.get::<_, u32>(3)?,
            text: row.get(4)?,
        };
        if pieces.last().is_some_and(|after| after.start != piece.end) {
            return Err(missing(body));
        }
        pieces.push(Arc::new(piece));
    }
    pieces.reverse();
    Ok(pieces)
}

/// Cuts `text[start..end]` of a body out of the pieces that overlap it; returns the text of the first
/// piece before it as well.
pub(super) fn cut(
    pieces: &[Arc<Piece>],
    body: i64,
    start: u32,
    end: u32,
) -> Result<(&str, String)> {
    let [first, ..] = pieces else {
        return Err(missing(body));
    };
    if start > end {
        return Err(missing(body));
    }
    let mut text = String::new();
    let mut before = "";
    let mut reached = first.start;
    for piece in pieces {
        let (from, to, chars) = piece.cut(start.saturating_sub(piece.start), end - piece.start);
        if text.is_empty() {
            before = &piece.text[..from];
        }
        text.push_str(&piece.text[from..to]);
        reached = piece.start + chars;
    }
    match reached < end {
        true => Err(missing(body)),
        false => Ok((before, text)),
    }
}

/// Returns the bytes of `text[start..end]` of a body in the first piece, if it holds all of it.
pub(super) fn bytes_within(pieces: &[Arc<Piece>], start: u32, end: u32) -> Option<Range<usize>> {
    let piece = pieces.first().filter(|piece| end <= piece.end)?;
    let (from, to, chars) = piece.cut(
        start.checked_sub(piece.start)?,
        end.checked_sub(piece.start)?,
    );
    (from <= to && piece.start + chars >= end).then_some(from..to)
}

fn missing(body: i64) -> Error {
    Error::Damaged(format!(
        "body {body} lacks a piece of its text; `crx verify` lists every fault"
    ))
}

/// The bytes at which code points of a text start, for ascending code points.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    chars: usize,
    bytes: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor {
            text: text.as_bytes(),
            chars: 0,
            bytes: 0,
        }
    }

    /// Returns the first byte of code point `char`, or the length of the text.
    pub(super) fn advance(&mut self, char: usize) -> usize {
        const BLOCK: usize = 64;
        let starts = |byte: &u8| u8::from(byte.cast_signed() >= -0x40);
        while self.chars + BLOCK <= char
            && let Some(block) = self.text[self.bytes..].first_chunk::<BLOCK>()
        {
            self.chars += usize::from(block.iter().map(starts).sum::<u8>());
            self.bytes += BLOCK;
        }
        // The last block may have ended within a code point.
        while self
            .text
            .get(self.bytes)
            .is_some_and(|byte| starts(byte) == 0)
        {
            self.bytes += 1;
        }
        while self.chars < char && self.bytes < self.text.len() {
            self.bytes += match self.text[self.bytes] {
                0x00..=0x7f => 1,
                0x80..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xff => 4,
            };
            self.chars += 1;
        }
        self.bytes
    }
}

/// Splits a text into pieces of at most [`PIECE_BYTES`] bytes, at boundaries of code points.
fn split(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let mut end = text.len().min(PIECE_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, rest) = text.split_at(end);
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn pieces_concatenate_to_the_text() {
        let text = "aé漢🦀".repeat(9000);
        assert_eq!(split(&text).collect::<String>(), text);
        assert!(split(&text).all(|piece| piece.len() <= PIECE_BYTES));
        assert_eq!(split("").count(), 0);
    }

    #[test]
    fn pieces_of_ascii_and_of_other_letters_are_cut_at_code_points() {
        let texts = ["whales", "été", "漢字🦀", "krill"];
        let mut start = 0;
        let pieces: Vec<Arc<Piece>> = texts
            .iter()
            .map(|text| {
                let end = start + text.chars().count() as u32;
                let (key, text) = (0, (*text).to_string());
                let piece = Piece {
                    key,
                    start,
                    end,
                    text,
                };
                start = end;
                Arc::new(piece)
            })
            .collect();
        let all: Vec<char> = texts.concat().chars().collect();
        for first in 0..pieces[0].end {
            for last in first..start {
                let expected: String = all[first as usize..=last as usize].iter().collect();
                let before: String = all[..first as usize].iter().collect();
                let around = pieces.iter().filter(|piece| piece.start <= last).cloned();
                let around: Vec<_> = around.collect();
                let found = cut(&around, 1, first, last + 1).unwrap();
                let within = bytes_within(&around, first, last + 1);
                assert_eq!(within.is_some(), last < pieces[0].end);
                if let Some(bytes) = within {
                    assert_eq!(pieces[0].text[bytes], expected);
                }
                assert_eq!(found, (before.as_str(), expected));
            }
        }
        assert!(cut(&pieces, 1, 0, start + 1).is_err());
    }

    #[test]
    fn a_cursor_finds_the_bytes_of_code_points() {
        let mut cursor = Cursor::new("aé漢🦀z");
        let found: Vec<usize> = (0..=7).map(|char| cursor.advance(char)).collect();
        assert_eq!(found, [0, 1, 3, 6, 10, 11, 11, 11]);
    }

    #[test]
    fn a_cursor_finds_code_points_that_lie_across_blocks() {
        let text = "aé漢🦀".repeat(50);
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for (char, &start) in starts.iter().enumerate() {
            assert_eq!(Cursor::new(&text).advance(char), start, "{char}");
        }
    }
}
