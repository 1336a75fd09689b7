//! A copy of the index while it is in use, through SQLite's backup API.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::{Store, log_flag, open};
use crate::error::{Error, Result};

/// Pages copied before other threads get the connection.
const PAGES: i32 = 4096;

impl Store {
    /// Copies the database, as of the last commit, into a new index folder.
    ///
    /// The folder appears when the copy is whole. Its derived files are rebuilt on first use.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`], and [`Error::NotAnIndex`] if the folder holds other files.
    pub fn backup(&self, folder: &Path) -> Result<()> {
        let partial = partial(folder);
        let io = |error: std::io::Error| Error::io(&partial, &error);
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(io)?;
        }
        let copied = self.copy_into(&partial).and_then(|()| {
            open::sync_folder(&partial)?;
            fs::rename(&partial, folder).map_err(io)?;
            open::sync_parent(folder)
        });
        if copied.is_err() {
            // What is left of a failed copy is of no use; the first error is the one to report.
            let _ = fs::remove_dir_all(&partial);
        }
        copied
    }

    fn copy_into(&self, folder: &Path) -> Result<()> {
        open::make_folder(folder)?;
        let path = open::database(folder);
        let mut copy = Connection::open(&path)?;
        self.run(|db| {
            let backup = Backup::new(db, &mut copy)?;
            Ok(backup.run_to_completion(PAGES, Duration::ZERO, None)?)
        })?;
        log_flag::clear(&copy)?;
        drop(copy);
        let file = fs::File::open(&path).and_then(|file| file.sync_all());
        file.map_err(|error| Error::io(&path, &error))
    }
}

/// The name under which a copy is made, beside its final one.
pub(super) fn partial(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    folder.with_file_name(name)
}
