//! The store: documents, texts, chunks, contexts, vectors and pointers, in one SQLite file.
//!
//! A handle has one connection behind a mutex, and every call is a transaction, unless several calls
//! are made one by [`Store::begin_read`]. A change that a leg
//! of the search reads increments the sequence number, and the change log records the documents.

mod backup;
mod base;
mod changes;
mod chunks;
mod contexts;
mod documents;
mod durability;
mod filter;
mod functions;
mod gc;
mod locate;
mod lock;
mod log_flag;
mod matching;
mod mend_filter;
mod open;
mod passages;
mod piece_index;
mod pointers;
mod read_rows;
mod read_transaction;
mod row;
mod salvage;
mod schema;
mod schema_check;
mod select;
mod text;
mod upsert;
mod vectors;
mod verify;
mod watched;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use chunks::ChunkRow;
pub use contexts::ContextRow;
pub use documents::DocumentRow;
pub use filter::Filter;
pub use matching::{MatchingChunks, MatchingEnd};
pub use mend_filter::mend_filter;
pub use passages::ShownPassage;
pub use piece_index::PassageText;
pub use pointers::Derived;
pub use salvage::salvage;
pub use upsert::NewDocument;
pub use vectors::{DocVector, PendingChunk};

use crate::error::{Error, Result};
use base::Base;
use lock::Lock;
use read_rows::ReadRows;

/// How long a closing writer waits for readers before it leaves them the log.
const CLOSE_BUSY: std::time::Duration = std::time::Duration::from_millis(200);

/// A handle on `crx.db`; it may be used from several threads.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    writable: bool,
    /// The process that opened it; a forked child must not use it.
    process: u32,
    log_lost: bool,
    /// The folder that stored URIs are relative to: see [`Store::located`].
    base: Option<Base>,
    /// The change at which all rows of documents were checked; -1 if they never were.
    documents_checked: AtomicI64,
    /// The texts of all documents, for patterns.
    texts: Mutex<matching::Texts>,
    open: Mutex<Option<Resources>>,
}

/// The resources of a handle until it is closed. The lock is dropped last.
#[derive(Debug)]
struct Resources {
    db: Connection,
    /// The rows that read transactions of [`Store::begin_read`] have read.
    rows: ReadRows,
    /// When the first transaction that may not be durable was committed.
    unsynced_since: Option<Instant>,
    _lock: Option<Lock>,
}

impl Store {
    /// Opens an index folder; `write` takes the writer's lock, `create` creates a missing index.
    ///
    /// # Errors
    ///
    /// [`Error::NotAnIndex`], [`Error::Locked`] with the holder's process, [`Error::Incompatible`] for
    /// another format, [`Error::Damaged`], [`Error::NoRoom`].
    pub fn open(path: &Path, write: bool, create: bool) -> Result<Self> {
        open::require_files(path)?;
        let missing = !open::exists(path)?;
        if missing && !create {
            return Err(open::not_an_index(path));
        }
        if missing {
            open::make_folder(path)?;
        }
        let lock = if write || missing {
            Some(Lock::take(path)?)
        } else {
            None
        };
        let had_log = log_flag::log_exists(&open::database(path))?;
        let opened = match &lock {
            Some(_) => open::writer(path, create),
            None => open::reader(path),
        };
        let mut open = Resources {
            db: opened.map_err(|error| error.at(path))?,
            rows: ReadRows::default(),
            unsynced_since: None,
            _lock: lock,
        };
        if !write && missing {
            log_flag::close(&open.db).map_err(|error| error.at(path))?;
            drop(open);
            open = Resources {
                db: open::reader(path).map_err(|error| error.at(path))?,
                rows: ReadRows::default(),
                unsynced_since: None,
                _lock: None,
            };
        }
        let log_lost = !had_log
            && log_flag::is_lost(&open.db, &open::database(path))
                .map_err(|error| error.at(path))?;
        if write {
            open::make_derived(path)?;
            log_flag::set(&open.db).map_err(|error| error.at(path))?;
        }
        Ok(Store {
            path: path.to_path_buf(),
            writable: write,
            process: std::process::id(),
            log_lost,
            base: None,
            documents_checked: AtomicI64::new(-1),
            texts: Mutex::default(),
            open: Mutex::new(Some(open)),
        })
    }

    /// Closes the database and releases the lock. Every later call returns an error.
    ///
    /// A writer first moves its write-ahead log into the database file, so that this file alone is
    /// the index. If that fails, as on a full disk, the log stays and nothing is lost.
    pub fn close(&self) {
        if std::process::id() != self.process {
            // The connection and the lock belong to the parent: closing them here would harm it.
            // A thread of the parent may have held the mutex when the child was forked.
            if let Ok(mut open) = self.open.try_lock() {
                std::mem::forget(open.take());
            }
            return;
        }
        if let Some(open) = self.guard().take()
            && self.writable
        {
            let _ = open
                .db
                .busy_timeout(CLOSE_BUSY)
                .map_err(Error::from)
                .and_then(|()| log_flag::close(&open.db));
        }
    }

    /// Returns whether the database was being written and its write-ahead log is missing.
    pub fn log_lost(&self) -> bool {
        self.log_lost
    }

    /// Returns the index folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether this handle is the writer.
    pub fn writable(&self) -> bool {
        self.writable
    }

    fn guard(&self) -> MutexGuard<'_, Option<Resources>> {
        // A panic has rolled its transaction back, so the connection can be used.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `read` in the read transaction that has begun, or else in one of its own. That one is
    /// rolled back: a commit would fail if a damaged page was read, and hide what was read.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.run(|db| {
            if db.is_autocommit() {
                read(&*db.transaction()?)
            } else {
                read(db)
            }
        })
    }

    /// Runs `read` as [`Store::read`] does, with the rows that read transactions have read so far.
    fn read_rows<T>(
        &self,
        read: impl FnOnce(&Connection, &mut ReadRows) -> Result<T>,
    ) -> Result<T> {
        self.run_open(|open| {
            if self.writable || open.db.is_autocommit() {
                return read(&*open.db.transaction()?, &mut ReadRows::default());
            }
            open.rows.trim();
            read(&open.db, &mut open.rows)
        })
    }

    /// Runs `write` in one transaction, which is committed if it succeeds, and is then durable.
    fn write<T>(&self, write: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.require_writable()?;
        self.run(|db| transact(db, write))
    }

    fn require_writable(&self) -> Result<()> {
        if self.writable {
            return Ok(());
        }
        let path = self.path.display();
        Err(Error::Invalid(format!(
            "{path}: opened for reading; open it with write=True to change it"
        )))
    }

    fn run<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        self.run_open(|open| work(&mut open.db))
    }

    fn run_open<T>(&self, work: impl FnOnce(&mut Resources) -> Result<T>) -> Result<T> {
        if std::process::id() != self.process {
            return Err(Error::Invalid(format!(
                "{}: opened by process {} and used in its child {}; open it again in the child",
                self.path.display(),
                self.process,
                std::process::id()
            )));
        }
        match self.guard().as_mut() {
            Some(open) => work(open).map_err(|error| error.at(&self.path)),
            None => {
                let path = self.path.display();
                Err(Error::Invalid(format!(
                    "{path}: this handle is closed; open it again"
                )))
            }
        }
    }
}

/// Runs `write` in one transaction, which is committed if it succeeds.
fn transact<T>(
    db: &mut Connection,
    write: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let result = write(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
