//! Rows with a hash of their fields, which is checked whenever a row is read.

use std::cell::Cell;

use rusqlite::types::{FromSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row, params_from_iter};

use super::schema::Table;
use crate::error::{Error, Result};

/// Bytes of a row's hash; a collision is expected after 2^64 rows.
pub(super) const HASH_BYTES: usize = 16;

/// The hash of a row: BLAKE3 of the table's name and the fields, each preceded by its type and its
/// length.
///
/// It has a buffer for the rows that fit in one page of SQLite: most fields have fewer bytes than an
/// update costs, and the hash of a whole input is faster than that of its parts.
struct RowHasher {
    buffer: Vec<u8>,
    /// What did not fit into the buffer.
    hasher: Option<blake3::Hasher>,
}

const BUFFER_BYTES: usize = 4096;

thread_local! {
    /// The buffer for the next row of this thread.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl RowHasher {
    fn new(table: &Table) -> Self {
        let mut buffer = BUFFER.take();
        buffer.clear();
        buffer.reserve_exact(BUFFER_BYTES);
        let mut hasher = RowHasher {
            buffer,
            hasher: None,
        };
        hasher.add(0, table.name.as_bytes());
        hasher
    }

    fn field(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.add(1, &[]),
            ValueRef::Integer(number) => self.add(2, &number.to_le_bytes()),
            ValueRef::Real(number) => self.add(3, &number.to_le_bytes()),
            ValueRef::Text(bytes) => self.add(4, bytes),
            ValueRef::Blob(bytes) => self.add(5, bytes),
        }
    }

    fn add(&mut self, kind: u8, bytes: &[u8]) {
        let mut head = [kind; 9];
        head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.add_bytes(&head);
        self.add_bytes(bytes);
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() <= BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
            return;
        }
        let hasher = self.hasher.get_or_insert_default();
        hasher.update(&self.buffer);
        hasher.update(bytes);
        self.buffer.clear();
    }

    fn finish(self) -> [u8; HASH_BYTES] {
        let hash = match self.hasher {
            None => blake3::hash(&self.buffer),
            Some(mut hasher) => hasher.update(&self.buffer).finalize(),
        };
        BUFFER.set(self.buffer);
        let mut short = [0; HASH_BYTES];
        short.copy_from_slice(&hash.as_bytes()[..HASH_BYTES]);
        short
    }
}

/// Returns whether the fields of `table` that start at column `at` match the hash after them.
pub(super) fn intact(table: &Table, row: &Row<'_>, at: usize) -> Result<bool> {
    let mut hasher = RowHasher::new(table);
    for column in at..at + table.width {
        hasher.field(row.get_ref(column)?);
    }
    let kept = row.get_ref(at + table.width)?;
    Ok(kept == ValueRef::Blob(&hasher.finish()))
}

/// Returns the fields of `table` in the first columns of a row, which match the hash after them.
///
/// # Errors
/// [`Error::Damaged`] names a row that does not match its hash.
pub(super) fn checked<'row, const WIDTH: usize>(
    table: &Table,
    row: &'row Row<'_>,
) -> Result<[ValueRef<'row>; WIDTH]> {
    debug_assert_eq!(WIDTH, table.width);
    let mut hasher = RowHasher::new(table);
    let mut fields = [ValueRef::Null; WIDTH];
    for (column, field) in fields.iter_mut().enumerate() {
        *field = row.get_ref(column)?;
        hasher.field(*field);
    }
    match row.get_ref(WIDTH)? == ValueRef::Blob(&hasher.finish()) {
        true => Ok(fields),
        false => Err(Error::Damaged(fault(table, fields[0]))),
    }
}

/// Returns a field as what it is read as.
pub(super) fn field<T: FromSql>(value: ValueRef<'_>) -> Result<T> {
    T::column_result(value)
        .map_err(|error| Error::Damaged(format!("{error}; `crx verify` lists every fault")))
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
    debug_assert_eq!(fields.len(), table.width);
    let hash = hash_of(table, fields);
    let verb = match on_conflict {
        OnConflict::Fail => "INSERT",
        OnConflict::Replace => "REPLACE",
    };
    let marks = "?, ".repeat(fields.len());
    let sql = format!(
        "{verb} INTO {} ({}, hash) VALUES ({marks}?)",
        table.name, table.columns
    );
    let all = fields.iter().copied().chain([ValueRef::Blob(&hash)]);
    db.prepare_cached(&sql)?
        .execute(params_from_iter(all.map(ToSqlOutput::Borrowed)))?;
    Ok(hash)
}

/// Returns the hash that [`insert`] stores.
pub(super) fn hash_of(table: &Table, fields: &[ValueRef<'_>]) -> [u8; HASH_BYTES] {
    let mut hasher = RowHasher::new(table);
    for &value in fields {
        hasher.field(value);
    }
    hasher.finish()
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
pub(super) fn value<T: FromSql>(
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
