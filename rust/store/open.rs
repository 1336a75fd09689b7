//! Is this an index, and may it be opened? The folder, the format and SQLite's settings.

use std::fs::{self, DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::schema;
use crate::error::{Error, Result};

/// Older ones lose commits when the WAL is reset while it is being read.
const OLDEST_SQLITE: (i32, &str) = (3_051_003, "3.51.3");

/// How long a statement waits for another process's checkpoint.
const BUSY: Duration = Duration::from_secs(10);

/// The database file of an index.
pub(super) fn database(index: &Path) -> PathBuf {
    index.join("crx.db")
}

/// Makes the folder where there is none, or takes an empty one.
///
/// What a killed creation left behind (a lock, an empty database) counts as empty.
pub(super) fn make_folder(index: &Path) -> Result<()> {
    let io = |error: std::io::Error| Error::io(index, &error);
    if !index.exists() {
        if let Some(parent) = index
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            fs::create_dir_all(parent).map_err(io)?;
        }
        DirBuilder::new().mode(0o700).create(index).map_err(io)?;
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
        ];
        if !ours.iter().any(|own| name == *own) {
            return Err(Error::NotAnIndex(format!(
                "{}: a folder of other files, not an index; name one that does not exist yet",
                index.display()
            )));
        }
    }
    fs::set_permissions(index, Permissions::from_mode(0o700)).map_err(io)
}

/// Is there a database that someone has begun to write?
pub(super) fn exists(index: &Path) -> Result<bool> {
    match fs::metadata(database(index)) {
        Ok(file) => Ok(file.len() > 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(Error::io(&database(index), &error)),
    }
}

/// The error for a path that holds no index.
pub(super) fn not_an_index(index: &Path) -> Error {
    let index = index.display();
    Error::NotAnIndex(format!(
        "{index}: not an index; `crx index PATH... --index {index}` makes one"
    ))
}

/// Opens the database to write; makes its tables where `create` and there are none.
pub(super) fn writer(index: &Path, create: bool) -> Result<Connection> {
    refuse_old_sqlite()?;
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let db = Connection::open_with_flags(database(index), flags)?;
    db.busy_timeout(BUSY)?;
    let blank = blank(&db)?;
    if blank && !create {
        return Err(not_an_index(index));
    }
    if !blank {
        check_format(&db, index)?;
    }
    set(&db, "journal_mode", "wal")?;
    set(&db, "synchronous", "2")?;
    common(&db)?;
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
    Ok(db)
}

/// Opens the database to read, on a read-only disk too.
pub(super) fn reader(index: &Path) -> Result<Connection> {
    refuse_old_sqlite()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let immutable = match way(index)? {
        Way::Shared => "",
        Way::Immutable => "?immutable=1",
        Way::None => {
            return Err(Error::NoRoom(format!(
                "{}: read-only, and its last changes are still in crx.db-wal; \
                 open it once where it can be written",
                index.display()
            )));
        }
    };
    let uri = format!("file:{}{immutable}", percent_encoded(&database(index)));
    let db = Connection::open_with_flags(uri, flags)?;
    db.busy_timeout(BUSY)?;
    if blank(&db)? {
        return Err(not_an_index(index));
    }
    check_format(&db, index)?;
    common(&db)?;
    Ok(db)
}

/// How a reader may get at the database.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// With its WAL, beside a writer.
    Shared,
    /// As a file nobody changes.
    Immutable,
    /// Not at all: there is a WAL that cannot be read without writing.
    None,
}

/// A WAL needs its `-shm`; where that cannot be made, only a database without a WAL can be read.
fn way(index: &Path) -> Result<Way> {
    use rustix::fs::{Access, access};
    let beside = |suffix: &str| index.join(format!("crx.db{suffix}"));
    if access(index, Access::WRITE_OK).is_ok() {
        return Ok(Way::Shared);
    }
    let wal = match fs::metadata(beside("-wal")) {
        Ok(file) => file.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(Error::io(&beside("-wal"), &error)),
    };
    Ok(match (wal, beside("-shm").exists()) {
        (0, _) => Way::Immutable,
        (_, true) => Way::Shared,
        (_, false) => Way::None,
    })
}

/// A path as SQLite's URI wants it.
fn percent_encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let encode = |&byte: &u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    path.as_os_str().as_bytes().iter().map(encode).collect()
}

fn refuse_old_sqlite() -> Result<()> {
    if rusqlite::version_number() >= OLDEST_SQLITE.0 {
        return Ok(());
    }
    Err(Error::System(format!(
        "sqlite {}: older than {}, which can lose commits; build crx with its bundled one",
        rusqlite::version(),
        OLDEST_SQLITE.1
    )))
}

/// Has nothing been written yet?
fn blank(db: &Connection) -> Result<bool> {
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && number(db, "application_id")? == 0)
}

fn check_format(db: &Connection, index: &Path) -> Result<()> {
    if number(db, "application_id")? != schema::APPLICATION_ID {
        return Err(Error::NotAnIndex(format!(
            "{}: crx.db is another program's database; name another index",
            index.display()
        )));
    }
    let format = number(db, "user_version")?;
    if format == schema::FORMAT {
        return Ok(());
    }
    Err(Error::Incompatible(format!(
        "{}: index format {format}, and this crx reads format {}; use the crx that built it, \
         or build the index anew with `crx index`",
        index.display(),
        schema::FORMAT
    )))
}

/// What readers and writers share: keys that hold, no mapped memory (a disk error would kill the
/// process), no trust in the file's own SQL, and a look at every page that is read.
fn common(db: &Connection) -> Result<()> {
    set(db, "foreign_keys", "1")?;
    set(db, "trusted_schema", "0")?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "cache_size", -16_384)?;
    // Without it a statement is planned anew whenever a value bound to it could change its plan.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(64);
    super::select::register(db)
}

/// Sets a pragma and reads it back: SQLite does not say when it cannot.
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
        "sqlite keeps {pragma} at {kept:?} where {value:?} is needed; is the disk a network share?"
    )))
}

fn number(db: &Connection, pragma: &str) -> Result<i64> {
    Ok(db.pragma_query_value(None, pragma, |row| row.get(0))?)
}

/// Makes `derived/`.
pub(super) fn make_derived(index: &Path) -> Result<()> {
    let path = index.join("derived");
    let io = |error: std::io::Error| Error::io(&path, &error);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&path)
        .map_err(io)
}

fn sync_folder(path: &Path) -> Result<()> {
    let sync = File::open(path).and_then(|folder| folder.sync_all());
    sync.map_err(|error| Error::io(path, &error))
}
