//! What has changed since? The log that brings the legs up to the store.
//!
//! One row a document that is or was, with the number of its last change: the log never outgrows
//! the documents, and needs no pruning.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::Store;
use super::row::{Existing, all, check, first, insert};
use super::schema::CHANGE;
use crate::error::Result;

impl Store {
    /// The sequence number of the last committed change.
    pub fn seq(&self) -> Result<i64> {
        self.read(last)
    }

    /// Documents put, changed or removed after `seq`, ascending, each once.
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

/// Notes that these documents change in this transaction.
pub(super) fn log(db: &Connection, docs: &[i64]) -> Result<()> {
    let seq = last(db)? + 1;
    for &doc in docs {
        let fields = [ValueRef::Integer(doc), ValueRef::Integer(seq)];
        insert(db, &CHANGE, Existing::Replace, &fields)?;
    }
    Ok(())
}

fn last(db: &Connection) -> Result<i64> {
    let sql = "SELECT doc, seq, hash FROM change ORDER BY seq DESC LIMIT 1";
    let last = first(db, sql, [], |row| {
        check(&CHANGE, row, 0)?;
        Ok(row.get(1)?)
    })?;
    Ok(last.unwrap_or(0))
}
