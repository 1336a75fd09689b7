//! Is this row as it was written? Every row carries a hash of its fields, checked when it is read.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row, params_from_iter};

use super::schema::Table;
use crate::error::{Error, Result};

/// Bytes of a row's hash: 2^64 rows are needed for two to share one.
pub(super) const HASH_BYTES: usize = 16;

/// BLAKE3 of the table's name and the fields, each with its type and its length before it.
fn hash<'a>(table: &Table, fields: impl Iterator<Item = ValueRef<'a>>) -> [u8; HASH_BYTES] {
    let mut hasher = blake3::Hasher::new();
    let mut field = |kind: u8, bytes: &[u8]| {
        hasher.update(&[kind]);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    field(0, table.name.as_bytes());
    for value in fields {
        match value {
            ValueRef::Null => field(1, &[]),
            ValueRef::Integer(number) => field(2, &number.to_le_bytes()),
            ValueRef::Real(number) => field(3, &number.to_le_bytes()),
            ValueRef::Text(bytes) => field(4, bytes),
            ValueRef::Blob(bytes) => field(5, bytes),
        }
    }
    let mut short = [0; HASH_BYTES];
    short.copy_from_slice(&hasher.finalize().as_bytes()[..HASH_BYTES]);
    short
}

/// The fields of `table` that start at column `at`, with the hash after them: do they match?
pub(super) fn intact(table: &Table, row: &Row<'_>, at: usize) -> Result<bool> {
    let fields = (at..at + table.width())
        .map(|column| row.get_ref(column))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let kept = row.get_ref(at + table.width())?;
    Ok(kept == ValueRef::Blob(&hash(table, fields.into_iter())))
}

/// As [`intact`], with the error that names the row.
pub(super) fn check(table: &Table, row: &Row<'_>, at: usize) -> Result<()> {
    if intact(table, row, at)? {
        return Ok(());
    }
    Err(Error::Damaged(fault(table, row.get_ref(at)?)))
}

/// The line that names a row whose hash does not match.
pub(super) fn fault(table: &Table, key: ValueRef<'_>) -> String {
    let key = match key {
        ValueRef::Null => "without a key".to_string(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
        ValueRef::Blob(bytes) => hex(bytes),
    };
    let name = table.name;
    format!("{name} {key} does not match its hash; `crx verify` lists every fault")
}

/// Lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What an insert does with a row whose key is there already.
#[derive(Clone, Copy)]
pub(super) enum Existing {
    /// Nothing should be there: it is an error.
    Refuse,
    /// The new row takes its place.
    Replace,
}

/// Writes a row with its hash.
pub(super) fn insert(
    db: &Connection,
    table: &Table,
    existing: Existing,
    fields: &[ValueRef<'_>],
) -> Result<[u8; HASH_BYTES]> {
    debug_assert_eq!(fields.len(), table.width());
    let sealed = hash(table, fields.iter().copied());
    let verb = match existing {
        Existing::Refuse => "INSERT",
        Existing::Replace => "REPLACE",
    };
    let marks = "?, ".repeat(fields.len());
    let sql = format!(
        "{verb} INTO {} ({}, hash) VALUES ({marks}?)",
        table.name, table.columns
    );
    let all = fields.iter().copied().chain([ValueRef::Blob(&sealed)]);
    db.prepare_cached(&sql)?
        .execute(params_from_iter(all.map(ToSqlOutput::Borrowed)))?;
    Ok(sealed)
}

/// The hash [`insert`] would keep.
pub(super) fn sealed(table: &Table, fields: &[ValueRef<'_>]) -> [u8; HASH_BYTES] {
    hash(table, fields.iter().copied())
}

/// What `read` makes of every row.
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

/// What `read` makes of the first row, if there is one.
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

/// The first column of the first row, if there is one.
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

/// The next key of a table whose keys are never reused.
pub(super) fn next_key(db: &Connection, table: &Table) -> Result<i64> {
    let last: Option<i64> = value(
        db,
        "SELECT seq FROM sqlite_sequence WHERE name = ?",
        [table.name],
    )?;
    Ok(last.unwrap_or(0) + 1)
}

/// Shorthands for fields.
pub(super) fn text(text: &str) -> ValueRef<'_> {
    ValueRef::Text(text.as_bytes())
}

/// A key's field: an empty key is NULL.
pub(super) fn key(key: &[u8]) -> ValueRef<'_> {
    if key.is_empty() {
        ValueRef::Null
    } else {
        ValueRef::Blob(key)
    }
}
