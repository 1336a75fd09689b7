//! Read transactions that span several calls.

use rusqlite::Connection;

use super::Store;
use super::changes::last;
use crate::error::{Error, Result};

impl Store {
    /// Begins a read transaction: later reads see the last commit before it, until
    /// [`Store::end_read`]. The write-ahead log cannot be shortened meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a writer, and if a read transaction has begun already.
    pub fn begin_read(&self) -> Result<()> {
        self.run_open(|open| {
            let db = &open.db;
            if self.writable || !db.is_autocommit() {
                return Err(Error::Invalid(
                    "begin_read: needs a handle opened for reading, without a read transaction"
                        .into(),
                ));
            }
            db.execute_batch("BEGIN")?;
            // The first read fixes the state that is seen.
            match last(db).and_then(|_| data_version(db)) {
                Ok(version) => open.rows.keep_at(version),
                Err(error) => {
                    db.execute_batch("ROLLBACK")?;
                    return Err(error);
                }
            }
            Ok(())
        })
    }

    /// Ends the read transaction of [`Store::begin_read`], if there is one.
    pub fn end_read(&self) -> Result<()> {
        self.run_open(|open| {
            if !open.db.is_autocommit() {
                open.db.execute_batch("ROLLBACK")?;
            }
            Ok(())
        })
    }
}

/// Returns a number that changes whenever another connection has changed the database: SQLite forgets
/// its cached pages then.
fn data_version(db: &Connection) -> Result<i64> {
    let mut statement = db.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}
