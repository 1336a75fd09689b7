//! Intact rows in a database of their own, without constraints: other rows may be missing.

use std::path::Path;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::cells::IntactRow;
use crate::error::Result;
use crate::store::contexts::ContextRow;
use crate::store::open;
use crate::store::row::{all, hash_of, value};
use crate::store::schema::{
    BODY, CHUNK, CONTEXT, DOCUMENT, FAILURE, PIECE, SETTING, Table, VECTOR,
};

/// The tables whose rows are put into the new index; the others are derived from them.
const STAGED: [&Table; 8] = [
    &SETTING, &BODY, &PIECE, &DOCUMENT, &CHUNK, &CONTEXT, &VECTOR, &FAILURE,
];

/// The name of the database.
pub(super) const FILE: &str = "staging.db";

/// Rows that are read at once.
const BATCH_ROWS: i64 = 1000;

/// Rows after a position, and the position of the last one.
type Batch<T> = (i64, Vec<T>);

/// A vector: its key, its dimensions and its f16 little-endian bytes.
pub(super) type StagedVector = (Vec<u8>, i64, Vec<u8>);

/// The database of staged rows.
pub(super) struct Staging {
    db: Connection,
}

impl Staging {
    /// Creates the database [`FILE`] in a folder; the caller deletes it.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let db = open::connect(folder, FILE, flags, "")?;
        db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;")?;
        for Table { name, columns, .. } in STAGED {
            let (key, rest) = columns.split_once(", ").unwrap_or((columns, ""));
            db.execute_batch(&format!(
                "CREATE TABLE {name} ({key} PRIMARY KEY, {rest}, hash);"
            ))?;
        }
        db.execute_batch(
            "CREATE INDEX piece_body ON piece (body, start); \
             CREATE INDEX chunk_doc ON chunk (doc, ordinal);",
        )?;
        Ok(Staging { db })
    }

    /// Adds a row, unless its key has one.
    pub(super) fn add(&self, row: &IntactRow<'_>) -> Result<()> {
        let IntactRow { table, fields } = row;
        let Table { name, columns, .. } = table;
        if !STAGED.iter().any(|staged| staged.name == *name) {
            return Ok(());
        }
        let hash = hash_of(table, fields);
        let marks = "?, ".repeat(fields.len());
        let sql = format!("INSERT OR IGNORE INTO {name} ({columns}, hash) VALUES ({marks}?)");
        let hash = rusqlite::types::ValueRef::Blob(&hash);
        let values = fields.iter().copied().chain([hash]);
        self.db
            .prepare_cached(&sql)?
            .execute(params_from_iter(values.map(ToSqlOutput::Borrowed)))?;
        Ok(())
    }

    /// Ends the transaction in which rows are added.
    pub(super) fn commit(&self) -> Result<()> {
        Ok(self.db.execute_batch("COMMIT")?)
    }

    /// Returns the database, for reading documents.
    pub(super) fn db(&self) -> &Connection {
        &self.db
    }

    /// Returns the settings by name.
    pub(super) fn settings(&self) -> Result<Vec<(String, String)>> {
        self.pairs("SELECT name, value FROM setting ORDER BY name")
    }

    /// Returns the inputs that failed, each with its reason.
    pub(super) fn failures(&self) -> Result<Vec<(String, String)>> {
        self.pairs("SELECT uri, reason FROM failure ORDER BY uri")
    }

    /// Returns the newest document of each URI, in the order in which they were put.
    pub(super) fn documents(&self) -> Result<Vec<i64>> {
        let sql = "SELECT max(doc) FROM document GROUP BY uri ORDER BY 1";
        all(&self.db, sql, [], |row| Ok(row.get(0)?))
    }

    /// Returns contexts after a position, with the last one's; an empty list at the end.
    pub(super) fn contexts(&self, after: i64) -> Result<Batch<(Vec<u8>, ContextRow)>> {
        let sql = "SELECT rowid, key, generator, outcome, text FROM context WHERE rowid > ? \
                   ORDER BY rowid LIMIT ?";
        let mut last = after;
        let rows = all(&self.db, sql, [after, BATCH_ROWS], |row| {
            last = row.get(0)?;
            let (generator, outcome, text) = (row.get(2)?, row.get(3)?, row.get(4)?);
            let context = ContextRow {
                generator,
                outcome,
                text,
            };
            Ok((row.get(1)?, context))
        })?;
        Ok((last, rows))
    }

    /// Returns vectors after a position, with the last one's; an empty list at the end.
    pub(super) fn vectors(&self, after: i64) -> Result<Batch<StagedVector>> {
        let sql = "SELECT rowid, key, dim, data FROM vector WHERE rowid > ? ORDER BY rowid LIMIT ?";
        let mut last = after;
        let rows = all(&self.db, sql, [after, BATCH_ROWS], |row| {
            last = row.get(0)?;
            Ok((row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
        Ok((last, rows))
    }

    /// Returns the number that an SQL statement selects.
    pub(super) fn count(&self, sql: &str) -> Result<i64> {
        Ok(value(&self.db, sql, [])?.unwrap_or(0))
    }

    fn pairs(&self, sql: &str) -> Result<Vec<(String, String)>> {
        all(&self.db, sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }
}
