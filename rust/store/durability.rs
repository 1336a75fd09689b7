//! Durability of transactions: each is synced to the disk by itself, except those of documents, which
//! are synced in groups.
//!
//! A crash of the process loses no transaction, synced or not. A loss of power may take the last
//! documents with it, at most those put within [`GROUP`]; what is left is their state before. A
//! document is read again from its source, so it costs little; contexts and vectors are synced at
//! once. Syncs keep the order of transactions: whatever is durable, all before it is, too.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Transaction;

use super::{Store, open};
use crate::error::{Error, Result};
use crate::index_folder::{Access, IndexFolder};

/// The longest time between the first and the last transaction of a group.
pub(super) const GROUP: Duration = Duration::from_secs(1);

impl Store {
    /// Makes durable all that was committed. A leg must not be committed before the changes that it
    /// has: after a loss of power it would be newer than the store.
    pub fn flush(&self) -> Result<()> {
        self.run_open(|open| {
            if open.unsynced_since.is_some() {
                sync_log(&self.path)?;
                open.unsynced_since = None;
            }
            Ok(())
        })
    }

    /// Runs `write` in one transaction, which is committed if it succeeds. It is durable when the
    /// group is full, or with the next transaction that is synced by itself.
    pub(super) fn write_in_group<T>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.require_writable()?;
        self.run_open(|open| {
            open::set_synchronous(&open.db, open::Synchronous::Checkpoints)?;
            let result = super::transact(&mut open.db, write);
            open::set_synchronous(&open.db, open::Synchronous::Commits)?;
            let result = result?;
            let since = *open.unsynced_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= GROUP {
                sync_log(&self.path)?;
                open.unsynced_since = None;
            }
            Ok(result)
        })
    }
}

/// Writes the write-ahead log of an index to the disk.
fn sync_log(index: &Path) -> Result<()> {
    // SQLite's locks are on other files, so that closing this one releases none.
    let file = IndexFolder::open(index)?.file(OsStr::new("crx.db-wal"), Access::Write)?;
    file.sync_all()
        .map_err(|error| Error::io(&index.join("crx.db-wal"), &error))
}
