//! Rows with a hash of their fields, which is checked whenever a row is read.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row, params_from_iter};

use super::schema::Table;
use crate::error::{Error, Result};

/// Bytes of a row's hash; a collision is expected after 2^64 rows.
pub(super) const HASH_BYTES: usize = 16;

/// Returns the BLAKE3 of the table's name and the fields, each preceded by its type and its length.
fn hash<'a>(table: &Table, fields: impl Iterator<Item = ValueRef<'a>>) -> [u8; HASH_BYTES] {
    let mut hasher = BufferedHasher::new();
    hasher.field(0, table.name.as_bytes());
    for value in fields {
        match value {
            ValueRef::Null => hasher.field(1, &[]),
            ValueRef::Integer(number) => hasher.field(2, &number.to_le_bytes()),
            ValueRef::Real(number) => hasher.field(3, &number.to_le_bytes()),
            ValueRef::Text(bytes) => hasher.field(4, bytes),
            ValueRef::Blob(bytes) => hasher.field(5, bytes),
        }
    }
    let mut short = [0; HASH_BYTES];
    short.copy_from_slice(&hasher.finish().as_bytes()[..HASH_BYTES]);
    short
}

/// BLAKE3 with a buffer for short inputs: most fields have fewer bytes than an update costs.
struct BufferedHasher {
    buffer: [u8; 1024],
    used: usize,
    /// What did not fit into the buffer.
    hasher: Option<blake3::Hasher>,
}

impl BufferedHasher {
    fn new() -> Self {
        BufferedHasher {
            buffer: [0; 1024],
            used: 0,
            hasher: None,
        }
    }

    fn field(&mut self, kind: u8, bytes: &[u8]) {
        let mut head = [kind; 9];
        head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.add(&head);
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(free) = self.buffer[self.used..].get_mut(..bytes.len()) {
            free.copy_from_slice(bytes);
            self.used += bytes.len();
            return;
        }
        let hasher = self.hasher.get_or_insert_default();
        hasher.update(&self.buffer[..self.used]);
        hasher.update(bytes);
        self.used = 0;
    }

    fn finish(self) -> blake3::Hash {
        let rest = &self.buffer[..self.used];
        match self.hasher {
            None => blake3::hash(rest),
            Some(mut hasher) => hasher.update(rest).finalize(),
        }
    }
}

/// Returns whether the fields of `table` that start at column `at` match the hash after them.
pub(super) fn intact(table: &Table, row: &Row<'_>, at: usize) -> Result<bool> {
    let fields = (at..at + table.width())
        .map(|column| row.get_ref(column))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let kept = row.get_ref(at + table.width())?;
    Ok(kept == ValueRef::Blob(&hash(table, fields.into_iter())))
}

/// Checks a row as [`intact`] does.
///
/// # Errors
/// [`Error::Damaged`] names the row that does not match its hash.
pub(super) fn check(table: &Table, row: &Row<'_>, at: usize) -> Result<()> {
    if intact(table, row, at)? {
        return Ok(());
    }
    Err(Error::Damaged(fault(table, row.get_ref(at)?)))
}

/// Returns the message for a row that does not match its hash.
pub(super) fn fault(table: &Table, key: ValueRef<'_>) -> String {
    let key = match key {
        ValueRef::Null => "without key".to_string(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
        ValueRef::Blob(bytes) => hex(bytes),
    };
    let name = table.name;
    format!("{name} {key} does not match its hash; `crx verify` lists every fault")
}

/// Returns bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The effect of an insert if there is a row with its key.
#[derive(Clone, Copy)]
pub(super) enum OnConflict {
    /// An error.
    Fail,
    /// The new row replaces it.
    Replace,
}

/// Writes a row with its hash; returns the hash.
pub(super) fn insert(
    db: &Connection,
    table: &Table,
    on_conflict: OnConflict,
    fields: &[ValueRef<'_>],
) -> Result<[u8; HASH_BYTES]> {
    debug_assert_eq!(fields.len(), table.width());
    let hash = hash(table, fields.iter().copied());
    let verb = match on_conflict {
        OnConflict::Fail => "INSERT",
        OnConflict::Replace => "REPLACE",
    };
    let places = "?, ".repeat(fields.len());
    let sql = format!(
        "{verb} INTO {} ({}, hash) VALUES ({places}?)",
        table.name, table.columns
    );
    let all = fields.iter().copied().chain([ValueRef::Blob(&hash)]);
    db.prepare_cached(&sql)?
        .execute(params_from_iter(all.map(ToSqlOutput::Borrowed)))?;
    Ok(hash)
}

/// Returns the hash that [`insert`] stores.
pub(super) fn hash_of(table: &Table, fields: &[ValueRef<'_>]) -> [u8; HASH_BYTES] {
    hash(table, fields.iter().copied())
}

/// Runs a query and calls `read` with every row.
pub(super) fn all<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Runs a query and calls `read` with the first row, if there is one.
pub(super) fn first<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// Runs a query and returns the first column of the first row, if there is one.
pub(super) fn value<T: rusqlite::types::FromSql>(
    db: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Option<T>> {
    Ok(db
        .prepare_cached(sql)?
        .query_row(params, |row| row.get(0))
        .optional()?)
}

/// Returns the next key of a table whose keys are never reused.
pub(super) fn next_key(db: &Connection, table: &Table) -> Result<i64> {
    let last: Option<i64> = value(
        db,
        "SELECT seq FROM sqlite_sequence WHERE name = ?",
        [table.name],
    )?;
    Ok(last.unwrap_or(0) + 1)
}

/// Returns a text as a field.
pub(super) fn text(text: &str) -> ValueRef<'_> {
    ValueRef::Text(text.as_bytes())
}

/// Returns a key as a field; an empty key is NULL.
pub(super) fn key(key: &[u8]) -> ValueRef<'_> {
    if key.is_empty() {
        ValueRef::Null
    } else {
        ValueRef::Blob(key)
    }
}
