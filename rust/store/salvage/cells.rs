//! The rows in a leaf page of a table's b-tree.

use rusqlite::types::ValueRef;

use super::pages::{Pages, be16, be32};
use crate::store::row::{HASH_BYTES, hash_of};
use crate::store::schema::{TABLES, Table};

/// The type byte of a leaf page of a table.
const TABLE_LEAF: u8 = 0x0d;

/// The bytes of the first page before its b-tree.
const FILE_HEADER: usize = 100;

/// Why a cell is no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// It is damaged.
    Row,
    /// It belongs to a table of SQLite.
    NotOurs,
}

/// A cell: the key and the record of a row.
pub(super) struct Cell {
    rowid: i64,
    record: Vec<u8>,
}

/// An intact row and its table.
pub(super) struct IntactRow<'a> {
    pub(super) table: &'static Table,
    pub(super) fields: Vec<ValueRef<'a>>,
}

/// Returns the cells of a page; none unless it is a leaf of a table.
pub(super) fn of_page(pages: &Pages, page: u32, content: &[u8]) -> Vec<Result<Cell, Lost>> {
    let start = if page == 1 { FILE_HEADER } else { 0 };
    if content[start] != TABLE_LEAF {
        return Vec::new();
    }
    let count = usize::from(be16(content, start + 3));
    let pointers = start + 8;
    let fitting = count.min((pages.usable() - pointers) / 2);
    (0..fitting)
        .map(|cell| {
            let at = usize::from(be16(content, pointers + 2 * cell));
            read(pages, content, at).ok_or(Lost::Row)
        })
        .collect()
}

/// Reads the cell at an offset of a page, and the pages onto which its record overflows.
fn read(pages: &Pages, content: &[u8], at: usize) -> Option<Cell> {
    let usable = pages.usable();
    let mut rest = content.get(at..usable)?;
    let length = usize::try_from(varint(&mut rest)?).ok()?;
    let rowid = varint(&mut rest)?;
    let local = local_bytes(length, usable);
    let mut record = rest.get(..local)?.to_vec();
    if local == length {
        return Some(Cell { rowid, record });
    }
    // A damaged length must not take all memory.
    if length / usable > pages.most() {
        return None;
    }
    let mut next = be32(rest.get(local..local + 4)?, 0);
    while record.len() < length {
        let page = pages.read(next)?;
        let part = (length - record.len()).min(usable - 4);
        record.extend_from_slice(&page[4..4 + part]);
        next = be32(&page, 0);
    }
    Some(Cell { rowid, record })
}

/// Returns how many bytes of a record of a table are in its leaf page.
fn local_bytes(length: usize, usable: usize) -> usize {
    let most = usable - 35;
    if length <= most {
        return length;
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let fitting = least + (length - least) % (usable - 4);
    if fitting <= most { fitting } else { least }
}

impl Cell {
    /// Returns the row, if its hash is that of its fields.
    pub(super) fn row(&self) -> Result<IntactRow<'_>, Lost> {
        let mut fields = fields(&self.record).ok_or(Lost::Row)?;
        let kept = match fields.pop() {
            Some(ValueRef::Blob(hash)) if hash.len() == HASH_BYTES => hash,
            _ => return Err(Lost::NotOurs),
        };
        // An INTEGER PRIMARY KEY is the rowid, and NULL in the record.
        if let Some(first @ ValueRef::Null) = fields.first_mut() {
            *first = ValueRef::Integer(self.rowid);
        }
        let width = fields.len();
        let mut candidates = TABLES.into_iter().filter(|table| table.width == width);
        match candidates.find(|table| hash_of(table, &fields) == kept) {
            Some(table) => Ok(IntactRow { table, fields }),
            None => Err(Lost::Row),
        }
    }
}

/// Decodes a record.
fn fields(record: &[u8]) -> Option<Vec<ValueRef<'_>>> {
    let mut head = record;
    let length = usize::try_from(varint(&mut head)?).ok()?;
    let mut body = record.get(length..)?;
    let mut head = record.get(record.len() - head.len()..length)?;
    let mut fields = Vec::new();
    while !head.is_empty() {
        let kind = varint(&mut head)?;
        let bytes = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            12.. => usize::try_from((kind - 12) / 2).ok()?,
            _ => return None,
        };
        let (value, rest) = body.split_at_checked(bytes)?;
        body = rest;
        fields.push(match kind {
            0 => ValueRef::Null,
            1..=6 => ValueRef::Integer(signed(value)),
            7 => ValueRef::Real(f64::from_be_bytes(value.try_into().ok()?)),
            8 | 9 => ValueRef::Integer(kind - 8),
            _ if kind % 2 == 0 => ValueRef::Blob(value),
            _ => ValueRef::Text(value),
        });
    }
    Some(fields)
}

/// Reads a big-endian integer of up to 8 bytes.
fn signed(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|&first| first >= 0x80);
    let start = if negative { -1 } else { 0 };
    bytes
        .iter()
        .fold(start, |number, &byte| number << 8 | i64::from(byte))
}

/// Takes a variable-length integer off the front.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut number: u64 = 0;
    for at in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if at == 8 {
            number = number << 8 | u64::from(byte);
            break;
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(number.cast_signed())
}
