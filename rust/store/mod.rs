//! What is true: documents, texts, chunks, contexts, vectors and pointers, in one SQLite file.
//!
//! One handle, one connection, one mutex: every call is a transaction of its own. A change that a
//! leg of the search could see raises the sequence number, and the log says of which documents.

mod body;
mod changes;
mod chunks;
mod contexts;
mod documents;
mod filter;
mod gc;
mod glob;
mod lock;
mod open;
mod pointers;
mod put;
mod row;
mod schema;
mod select;
mod vectors;
mod verify;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use chunks::ChunkRow;
pub use contexts::ContextRow;
pub use documents::DocumentRow;
pub use filter::Filter;
pub use pointers::Derived;
pub use put::{Entry, Span};

use crate::error::{Error, Result};
use lock::Lock;

/// The handle on `crx.db`; may be used from several threads.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    writable: bool,
    open: Mutex<Option<Open>>,
}

/// What a handle holds until it is closed. Fields drop in order: the lock goes last.
#[derive(Debug)]
struct Open {
    db: Connection,
    _lock: Option<Lock>,
}

impl Store {
    /// Opens an index folder; `write` takes the writer's lock, `create` makes what is not there.
    ///
    /// # Errors
    ///
    /// [`Error::NotAnIndex`], [`Error::Locked`] (naming the holder), [`Error::Incompatible`]
    /// (another format), [`Error::Damaged`], [`Error::NoRoom`].
    pub fn open(path: &Path, write: bool, create: bool) -> Result<Self> {
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
        let opened = match &lock {
            Some(_) => open::writer(path, create),
            None => open::reader(path),
        };
        let mut open = Open {
            db: opened.map_err(|error| error.at(path))?,
            _lock: lock,
        };
        if !write && missing {
            drop(open);
            open = Open {
                db: open::reader(path).map_err(|error| error.at(path))?,
                _lock: None,
            };
        }
        if write {
            open::make_derived(path)?;
        }
        Ok(Store {
            path: path.to_path_buf(),
            writable: write,
            open: Mutex::new(Some(open)),
        })
    }

    /// Lets go of the file and the lock. A closed handle answers every call with an error.
    pub fn close(&self) {
        *self.guard() = None;
    }

    /// The index folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Is this handle the writer?
    pub fn writable(&self) -> bool {
        self.writable
    }

    fn guard(&self) -> MutexGuard<'_, Option<Open>> {
        // A panic while it was held has rolled its transaction back: the connection is sound.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `read` in one snapshot, which is let go of and not committed: a damaged page that was
    /// met while reading would fail the commit, and hide what was read.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.run(|db| read(&*db.transaction()?))
    }

    /// Runs `write` in one transaction: all of it is kept, or nothing.
    fn write<T>(&self, write: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        if !self.writable {
            let path = self.path.display();
            return Err(Error::Invalid(format!(
                "{path}: opened for reading; open it with write=True to change it"
            )));
        }
        self.run(|db| {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = write(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })
    }

    fn run<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        match self.guard().as_mut() {
            Some(open) => work(&mut open.db).map_err(|error| error.at(&self.path)),
            None => {
                let path = self.path.display();
                Err(Error::Invalid(format!(
                    "{path}: this handle is closed; open it again"
                )))
            }
        }
    }
}
