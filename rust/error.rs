//! Errors of the core, and the Python exceptions that they become.

use std::path::Path;

/// An error that a program must expect: a full disk, a held lock, a damaged row, a bad argument.
///
/// The text is one line: the thing, the fact and the next step.
#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    /// A bad argument (`ValueError`).
    Invalid(String),
    /// The path is not an index folder.
    NotAnIndex(String),
    /// Another process holds the writer's lock.
    Locked(String),
    /// A row or a file does not match its hash.
    Damaged(String),
    /// The index was written by another format, embedder or splitter.
    Incompatible(String),
    /// The disk is full or read-only, or memory ran out.
    NoRoom(String),
    /// The interrupt of the thread ended a search.
    Interrupted,
    /// Any other error of the operating system or of a library.
    System(String),
}

/// A result with an error of the core.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns the name of the exception that Python raises: a class of `crx.errors`, or `ValueError`.
    pub fn python_name(&self) -> &'static str {
        match self {
            Error::Invalid(_) => "ValueError",
            Error::NotAnIndex(_) => "NotAnIndex",
            Error::Locked(_) => "Locked",
            Error::Damaged(_) => "Damaged",
            Error::Incompatible(_) => "Incompatible",
            Error::NoRoom(_) => "NoRoom",
            Error::Interrupted => "Interrupted",
            Error::System(_) => "SystemFailure",
        }
    }

    /// Converts an I/O error at a path; a full or read-only disk becomes [`Error::NoRoom`].
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let text = format!("{}: {error}", path.display());
        match error.kind() {
            ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::OutOfMemory => Error::NoRoom(text),
            _ => Error::System(text),
        }
    }

    /// Puts a path before the text of the error, unless it is there; a bad argument has no path.
    pub fn at(self, path: &Path) -> Self {
        let name = |text: String| match text.starts_with(&*path.to_string_lossy()) {
            true => text,
            false => format!("{}: {text}", path.display()),
        };
        match self {
            Error::Invalid(text) => Error::Invalid(text),
            Error::NotAnIndex(text) => Error::NotAnIndex(name(text)),
            Error::Locked(text) => Error::Locked(name(text)),
            Error::Damaged(text) => Error::Damaged(name(text)),
            Error::Incompatible(text) => Error::Incompatible(name(text)),
            Error::NoRoom(text) => Error::NoRoom(name(text)),
            Error::Interrupted => Error::Interrupted,
            Error::System(text) => Error::System(name(text)),
        }
    }
}

impl From<rusqlite::Error> for Error {
    /// Converts an error of SQLite, without a path: see [`Error::at`].
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as Sql;
        use rusqlite::ErrorCode as Code;
        match &error {
            Sql::InvalidColumnType(..)
            | Sql::FromSqlConversionFailure(..)
            | Sql::IntegralValueOutOfRange(..)
            | Sql::Utf8Error(..) => {
                Error::Damaged(format!("{error}; `crx verify` lists every fault"))
            }
            Sql::SqliteFailure(failure, _) => match failure.code {
                Code::DiskFull => Error::NoRoom(format!(
                    "{error}; free some space and run the same command again: committed work is \
                     kept"
                )),
                Code::ReadOnly => {
                    Error::NoRoom(format!("{error}; make the folder and its disk writable"))
                }
                Code::OutOfMemory => Error::NoRoom(format!(
                    "{error}; free some memory and run the same command again"
                )),
                Code::CannotOpen | Code::PermissionDenied => {
                    Error::System(format!("{error}; check the permissions of the folder"))
                }
                Code::DatabaseCorrupt | Code::NotADatabase => {
                    Error::Damaged(format!("{error}; `crx verify` lists every fault"))
                }
                Code::OperationInterrupted => Error::Interrupted,
                Code::DatabaseBusy | Code::DatabaseLocked => Error::Locked(format!(
                    "{error}; wait for the other process and run the same command again"
                )),
                _ => Error::System(error.to_string()),
            },
            _ => Error::System(error.to_string()),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Invalid(text)
            | Error::NotAnIndex(text)
            | Error::Locked(text)
            | Error::Damaged(text)
            | Error::Incompatible(text)
            | Error::NoRoom(text)
            | Error::System(text) => f.write_str(text),
            Error::Interrupted => f.write_str("the search was given up; ask for less"),
        }
    }
}

impl std::error::Error for Error {}
