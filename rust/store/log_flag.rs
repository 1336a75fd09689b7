//! A mark in the database file that its write-ahead log holds changes.
//!
//! Set, in the file itself, before a writer's first change; cleared when a writer has closed and
//! the log is empty. A database with the mark and without its log has lost its last changes.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;

use super::row::{OnConflict, insert, text};
use super::schema::DERIVED;
use crate::error::{Error, Result};

/// The row of the table of pointers that is the mark; it names no file.
const NAME: &str = "write-ahead-log";

/// How often a lost log is confirmed.
const CONFIRMATIONS: usize = 3;

/// Whether the database has a write-ahead log with content.
pub(super) fn log_exists(database: &Path) -> Result<bool> {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    match std::fs::metadata(&log) {
        Ok(file) => Ok(file.len() > 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(database, &error)),
    }
}

/// Whether the mark is set.
pub(super) fn is_set(db: &Connection) -> Result<bool> {
    let sql = "SELECT count(*) FROM derived WHERE name = ?";
    Ok(db.query_row(sql, [NAME], |row| row.get::<_, i64>(0))? > 0)
}

/// Sets the mark and writes it to the database file.
pub(super) fn set(db: &Connection) -> Result<()> {
    let fields = [
        text(NAME),
        text(""),
        ValueRef::Integer(-1),
        ValueRef::Blob(&[0xff; 32]),
    ];
    insert(db, &DERIVED, OnConflict::Replace, &fields)?;
    checkpoint(db, "PASSIVE")
}

/// Whether the mark is set and there is no log.
///
/// Asked several times: a writer may open or close the database between the two questions.
pub(super) fn is_lost(db: &Connection, database: &Path) -> Result<bool> {
    for _ in 0..CONFIRMATIONS {
        if !is_set(db)? || log_exists(database)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the mark.
pub(super) fn clear(db: &Connection) -> Result<()> {
    db.execute("DELETE FROM derived WHERE name = ?", [NAME])?;
    Ok(())
}

/// Clears the mark, moves the log's changes into the database file and empties the log.
///
/// The mark is the last change of the log, so it leaves the file when all other changes are in it.
/// A reader that is in the middle of a query keeps the log: the next writer to close empties it.
/// After an error the log stays, with the mark: it is removed only if both are settled.
pub(super) fn close(db: &Connection) -> Result<()> {
    clear(db)?;
    checkpoint(db, "TRUNCATE")?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(())
}

fn checkpoint(db: &Connection, mode: &str) -> Result<()> {
    Ok(db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))?)
}
