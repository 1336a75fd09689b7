//! The change log, by which the legs catch up with the store.
//!
//! It has one row for each present or former document, with the number of its last change, so it
//! needs no pruning.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::Store;
use super::row::{OnConflict, all, check, first, insert};
use super::schema::CHANGE;
use crate::error::Result;

impl Store {
    /// Returns the sequence number of the last committed change.
    pub fn seq(&self) -> Result<i64> {
        self.read(last)
    }

    /// Returns the documents put, changed or removed after `seq`, ascending, without repeats.
    pub fn changed_since(&self, seq: i64) -> Result<Vec<i64>> {
        let sql = "SELECT doc, seq, hash FROM change WHERE seq > ? ORDER BY doc";
        self.read(|db| {
            all(db, sql, [seq], |row| {
                check(&CHANGE, row, 0)?;
                Ok(row.get(0)?)
            })
        })
    }
}

/// Logs that these documents change in this transaction.
pub(super) fn log(db: &Connection, docs: &[i64]) -> Result<()> {
    let seq = last(db)? + 1;
    for &doc in docs {
        let fields = [ValueRef::Integer(doc), ValueRef::Integer(seq)];
        insert(db, &CHANGE, OnConflict::Replace, &fields)?;
    }
    Ok(())
}

pub(super) fn last(db: &Connection) -> Result<i64> {
    let sql = "SELECT doc, seq, hash FROM change ORDER BY seq DESC LIMIT 1";
    let last = first(db, sql, [], |row| {
        check(&CHANGE, row, 0)?;
        Ok(row.get(1)?)
    })?;
    Ok(last.unwrap_or(0))
}
