//! A copy of the index while it is in use, through SQLite's backup API.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::OpenFlags;
use rusqlite::backup::Backup;

use super::{Store, log_flag, open};
use crate::error::{Error, Result};
use crate::files;
use crate::index_folder::{Access, IndexFolder};

/// Pages copied before other threads get the connection.
const PAGES: i32 = 4096;

impl Store {
    /// Copies the database, with all that is committed, into a new index folder.
    ///
    /// The folder appears when the copy is whole. Its derived files are rebuilt on first use.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`], and [`Error::NotAnIndex`] if the folder holds other files.
    pub fn backup(&self, folder: &Path) -> Result<()> {
        make_whole(folder, |partial| self.copy_into(partial))
    }

    fn copy_into(&self, folder: &Path) -> Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut copy = open::connect(folder, open::DATABASE, flags, "")?;
        self.run(|db| {
            let backup = Backup::new(db, &mut copy)?;
            Ok(backup.run_to_completion(PAGES, Duration::ZERO, None)?)
        })?;
        log_flag::clear(&copy)?;
        drop(copy);
        let file = IndexFolder::open(folder)?.file(OsStr::new(open::DATABASE), Access::Read)?;
        file.sync_all()
            .map_err(|error| Error::io(&open::database(folder), &error))
    }
}

/// Makes a folder that appears when it is whole: `fill` fills one beside it, which is renamed.
///
/// # Errors
/// Those of `fill`, and [`Error::NotAnIndex`] if something else has the name of the unfinished folder,
/// or the folder exists and is not empty.
pub(super) fn make_whole<T>(folder: &Path, fill: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let partial = partial(folder);
    let (above, name) = begin(&partial)?;
    let filled = fill(&partial).and_then(|filled| {
        IndexFolder::open(&partial)?.remove(OsStr::new(open::UNFINISHED))?;
        open::sync_folder(&partial)?;
        fs::rename(&partial, folder).map_err(|error| Error::io(folder, &error))?;
        open::sync_parent(folder)?;
        Ok(filled)
    });
    if filled.is_err() {
        // What is left of a failed copy is of no use; the first error is the one to report.
        let _ = above.remove_tree(&name);
    }
    filled
}

/// Makes the folder of an unfinished copy, instead of one that was interrupted; returns the folder
/// that it is in, and its name.
fn begin(partial: &Path) -> Result<(IndexFolder, OsString)> {
    let parent = match partial.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(|error| Error::io(parent, &error))?;
    let above = IndexFolder::open(parent)?;
    let name = partial.file_name().unwrap_or_default().to_owned();
    if partial.symlink_metadata().is_ok() {
        if !is_unfinished(&above, &name) {
            return Err(Error::NotAnIndex(format!(
                "{}: exists and is no unfinished copy; move it away, or name another folder",
                partial.display()
            )));
        }
        above.remove_tree(&name)?;
    }
    let made = above.make_below(&name)?;
    made.new_file(OsStr::new(open::UNFINISHED))?;
    files::restrict_folder(partial).map_err(|error| Error::io(partial, &error))?;
    Ok((above, name))
}

/// Returns whether a folder is that of an unfinished copy.
fn is_unfinished(above: &IndexFolder, name: &OsStr) -> bool {
    let mark = |folder: IndexFolder| folder.file(OsStr::new(open::UNFINISHED), Access::Read);
    above.below(name).and_then(mark).is_ok()
}

/// The name under which a copy is made, beside its final one.
fn partial(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    folder.with_file_name(name)
}
