//! Opening of the database: the folder, the format and SQLite's settings.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{functions, piece_index, schema, schema_check, watched};
use crate::error::{Error, Result};
use crate::files;
use crate::index_folder::IndexFolder;

/// Older versions can lose commits when the WAL is reset during a read.
const OLDEST_SQLITE: (i32, &str) = (3_051_003, "3.51.3");

/// The time that a statement waits for another process's checkpoint.
const BUSY: Duration = Duration::from_secs(10);

/// The name of an index's database.
pub(super) const DATABASE: &str = "crx.db";

/// Returns the path of an index's database.
pub(super) fn database(index: &Path) -> PathBuf {
    index.join(DATABASE)
}

/// The empty file by which the folder of an unfinished copy is known.
pub(super) const UNFINISHED: &str = "unfinished-copy";

/// The depth of the folders in an index: `derived/bm25`.
const DEPTH: usize = 2;

/// Checks that an index folder holds regular files alone, if it has a database. SQLite and tantivy
/// open files by their names.
///
/// # Errors
/// [`Error::Damaged`] with the first link, pipe or device.
pub(super) fn require_files(index: &Path) -> Result<()> {
    match database(index).symlink_metadata().is_ok() {
        true => IndexFolder::open(index)?.require_files(DEPTH),
        false => Ok(()),
    }
}

/// Opens a database file, which is no link; the path of its folder may pass links. `parameters` are
/// those of SQLite's URI.
pub(super) fn connect(
    index: &Path,
    file: &str,
    flags: OpenFlags,
    parameters: &str,
) -> Result<Connection> {
    // SQLite refuses a link anywhere in the path, and Windows has another form of a path.
    let folder = match cfg!(unix) {
        true => fs::canonicalize(index).map_err(|error| Error::io(index, &error))?,
        false => index.to_owned(),
    };
    let uri = format!("{}{parameters}", uri_of(&folder.join(file)));
    let flags = flags
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(uri, flags)?)
}

/// Creates the folder of an index, or uses an empty one.
///
/// Files of an interrupted creation (a lock, an empty database) count as empty.
pub(super) fn make_folder(index: &Path) -> Result<()> {
    let io = |error: std::io::Error| Error::io(index, &error);
    if !index.exists() {
        if let Some(parent) = index
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            fs::create_dir_all(parent).map_err(io)?;
        }
        files::create_private_folder(index).map_err(io)?;
        if let Some(parent) = index
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            sync_folder(parent)?;
        }
        return Ok(());
    }
    if !index.is_dir() {
        return Err(not_an_index(index));
    }
    for entry in fs::read_dir(index).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        let ours = [
            "crx.db",
            "crx.db-wal",
            "crx.db-shm",
            "crx.db-journal",
            "derived",
            "lock",
            ".gitignore",
            UNFINISHED,
        ];
        if !ours.iter().any(|own| name == *own) {
            return Err(Error::NotAnIndex(format!(
                "{}: not an index but a folder of other files; name one that does not exist",
                index.display()
            )));
        }
    }
    files::restrict_folder(index).map_err(io)
}

/// Returns whether there is a database that is not empty.
pub(super) fn exists(index: &Path) -> Result<bool> {
    match fs::metadata(database(index)) {
        Ok(file) => Ok(file.len() > 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(Error::io(&database(index), &error)),
    }
}

/// Returns the error for a path that is not an index.
pub(super) fn not_an_index(index: &Path) -> Error {
    let index = index.display();
    Error::NotAnIndex(format!(
        "{index}: not an index; `crx index PATH... --index {index}` creates one"
    ))
}

/// Opens the database for writing; with `create`, creates its tables if there are none.
pub(super) fn writer(index: &Path, create: bool) -> Result<Connection> {
    refuse_old_sqlite()?;
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let mut db = connect(index, DATABASE, flags, "")?;
    distrust(&db)?;
    // SQLite would remove the log also where the mark could not be cleared: see `log_flag`.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    db.busy_timeout(BUSY)?;
    let blank = blank(&db)?;
    if blank && !create {
        return Err(not_an_index(index));
    }
    if !blank {
        check_format(&db, index)?;
        schema_check::check(&db, index)?;
    }
    set(&db, "journal_mode", "wal")?;
    set_synchronous(&db, Synchronous::Commits)?;
    common(&mut db)?;
    db.pragma_update(None, "journal_size_limit", 64 << 20)?;
    if blank {
        db.execute_batch(&format!(
            "BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;",
            schema::SQL,
            schema::APPLICATION_ID,
            schema::FORMAT
        ))?;
        make_derived(index)?;
        sync_folder(index)?;
    }
    if !piece_index::exists(&db)? {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        piece_index::create(&transaction)?;
        transaction.commit()?;
    }
    Ok(db)
}

/// Opens the database for reading, also on a read-only disk.
pub(super) fn reader(index: &Path) -> Result<Connection> {
    refuse_old_sqlite()?;
    let parameters = match access_to(index)? {
        Access::Shared => "",
        Access::Immutable => "?immutable=1",
        Access::None => {
            return Err(Error::NoRoom(format!(
                "{}: read-only, and its last changes are still in crx.db-wal; \
                 open it once with write permission",
                index.display()
            )));
        }
    };
    let mut db = connect(
        index,
        DATABASE,
        OpenFlags::SQLITE_OPEN_READ_ONLY,
        parameters,
    )?;
    distrust(&db)?;
    db.busy_timeout(BUSY)?;
    if blank(&db)? {
        return Err(not_an_index(index));
    }
    check_format(&db, index)?;
    schema_check::check(&db, index)?;
    common(&mut db)?;
    Ok(db)
}

/// How a reader can open the database.
#[derive(Debug, PartialEq, Eq)]
enum Access {
    /// With its WAL, also while there is a writer.
    Shared,
    /// As a file that does not change.
    Immutable,
    /// Not at all: its WAL cannot be read without write permission.
    None,
}

/// Returns how a reader can open the database. A WAL needs its `-shm` file; if that cannot be created,
/// only a database without a WAL can be read.
fn access_to(index: &Path) -> Result<Access> {
    let beside = |suffix: &str| index.join(format!("crx.db{suffix}"));
    if files::is_writable(index) {
        return Ok(Access::Shared);
    }
    let wal = match fs::metadata(beside("-wal")) {
        Ok(file) => file.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(Error::io(&beside("-wal"), &error)),
    };
    Ok(match (wal, beside("-shm").exists()) {
        (0, _) => Access::Immutable,
        (_, true) => Access::Shared,
        (_, false) => Access::None,
    })
}

/// Returns the SQLite URI of a file.
fn uri_of(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let mut uri = String::from("file:");
    if cfg!(windows) && path.is_absolute() {
        // `file:///C:/notes.crx/crx.db`
        uri.push_str("///");
    }
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b':' if cfg!(windows) => uri.push(':'),
            byte if plain(byte) => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn refuse_old_sqlite() -> Result<()> {
    if rusqlite::version_number() >= OLDEST_SQLITE.0 {
        return Ok(());
    }
    Err(Error::System(format!(
        "sqlite {}: older than {} and can lose commits; build crx with its bundled SQLite",
        rusqlite::version(),
        OLDEST_SQLITE.1
    )))
}

/// Returns whether nothing has been written yet.
fn blank(db: &Connection) -> Result<bool> {
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && number(db, "application_id")? == 0)
}

fn check_format(db: &Connection, index: &Path) -> Result<()> {
    if number(db, "application_id")? != schema::APPLICATION_ID {
        return Err(Error::NotAnIndex(format!(
            "{}: crx.db is the database of another program; name another index",
            index.display()
        )));
    }
    let format = number(db, "user_version")?;
    if format == schema::FORMAT {
        return Ok(());
    }
    Err(Error::Incompatible(format!(
        "{}: index format {format}, but this crx reads format {}; use the crx that built it, \
         or move the folder away and make a new index with `crx index PATH`",
        index.display(),
        schema::FORMAT
    )))
}

/// The most bytes of a field or a row: the marks of the longest documents have a tenth of it.
const MOST_BYTES: i32 = 512 << 20;

/// The most bytes of an SQL statement: a filter of many documents has its values bound.
const MOST_SQL_BYTES: i32 = 1 << 20;

/// Makes SQLite treat the database as one that anybody may have written, before anything is read:
/// no SQL of the schema runs, no other file is attached, sizes are limited, and every page is
/// checked. No file is mapped into memory, since a disk error in a mapped page kills the process.
fn distrust(db: &Connection) -> Result<()> {
    for (option, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
    ] {
        if db.set_db_config(option, on)? != on {
            return Err(Error::System(format!(
                "sqlite: {option:?} cannot be set; build crx with its bundled SQLite"
            )));
        }
    }
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_BYTES)?;
    db.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, MOST_SQL_BYTES)?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.pragma_update(None, "cell_size_check", true)?;
    Ok(())
}

/// Applies the settings of readers and writers.
fn common(db: &mut Connection) -> Result<()> {
    set(db, "foreign_keys", "1")?;
    db.pragma_update(None, "cache_size", -16_384)?;
    // Vectors and their links are written to pages all over the database, each many times: with
    // SQLite's 1,000 pages a checkpoint moves most of them after a few commits.
    db.pragma_update(None, "wal_autocheckpoint", 8_000)?;
    // Without it a statement is planned again whenever a bound value could change its plan.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(64);
    watched::watch(db)?;
    functions::register(db)
}

/// What SQLite writes to the disk before it goes on.
#[derive(Clone, Copy)]
pub(super) enum Synchronous {
    /// The write-ahead log before each checkpoint, and the database after it.
    Checkpoints = 1,
    /// The write-ahead log at each commit, too.
    Commits = 2,
}

/// Sets what SQLite writes to the disk before it goes on.
pub(super) fn set_synchronous(db: &Connection, level: Synchronous) -> Result<()> {
    set(db, "synchronous", &(level as u8).to_string())
}

/// Sets a pragma and reads it back, since SQLite does not report that it ignored one.
fn set(db: &Connection, pragma: &str, value: &str) -> Result<()> {
    db.pragma_update(None, pragma, value)?;
    let kept = db.pragma_query_value(None, pragma, |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => String::from_utf8_lossy(other.as_bytes().unwrap_or(b"")).into_owned(),
        })
    })?;
    if kept == value {
        return Ok(());
    }
    Err(Error::System(format!(
        "sqlite: {pragma} stays {kept:?} instead of {value:?}; move the index off a network share"
    )))
}

fn number(db: &Connection, pragma: &str) -> Result<i64> {
    Ok(db.pragma_query_value(None, pragma, |row| row.get(0))?)
}

/// Creates the folder `derived/`.
pub(super) fn make_derived(index: &Path) -> Result<()> {
    let folder = IndexFolder::open(index)?.make_below(OsStr::new("derived"))?;
    drop(folder);
    Ok(())
}

/// Makes the entry of a path in its folder durable.
pub(super) fn sync_parent(path: &Path) -> Result<()> {
    match path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}

pub(super) fn sync_folder(path: &Path) -> Result<()> {
    files::sync_folder(path).map_err(|error| Error::io(path, &error))
}
