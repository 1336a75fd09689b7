//! The one way to open, replace and delete files in an index folder.
//!
//! An index may come with a clone or a download, so a name in it may be a link to a file elsewhere, a
//! pipe or a device. Everything here is relative to a handle on a folder and follows no link: a file
//! that is opened is a regular one, a new file is created exclusively, and a deletion stays in the
//! folder. Only the path of the index itself may pass links, because the user names it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading an existing file.
    Read,
    /// Writing to an existing file.
    Write,
    /// Reading and writing; the file is created if there is none.
    Create,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    /// A link, a pipe, a socket or a device.
    Other,
}

/// A handle on a folder of an index.
#[derive(Debug)]
pub struct IndexFolder {
    path: PathBuf,
    #[cfg(unix)]
    handle: std::os::fd::OwnedFd,
}

impl IndexFolder {
    /// Opens a folder that the user has named, by way of links, too.
    pub fn open(path: &Path) -> Result<Self> {
        Self::at(path).map_err(|error| Error::io(path, &error))
    }

    /// Opens the folder that holds a file, which is no link, and returns it with the file's name.
    pub fn of_file(path: &Path) -> Result<(Self, OsString)> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = path.file_name().unwrap_or_default().to_owned();
        match (folder.parent(), folder.file_name()) {
            (Some(above), Some(name)) => {
                let above = if above.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    above
                };
                Ok((Self::open(above)?.below(name)?, file))
            }
            _ => Ok((Self::open(folder)?, file)),
        }
    }

    /// Opens the folder in which a file lies, by its path below this one, and returns it with the
    /// file's name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path that leads elsewhere.
    pub fn of_relative(&self, path: &Path) -> Result<(Self, OsString)> {
        let mut names = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => names.push(name),
                _ => {
                    let path = path.display();
                    return Err(Error::Invalid(format!("{path}: not a path below a folder")));
                }
            }
        }
        let Some((file, folders)) = names.split_last() else {
            return Err(Error::Invalid("no file is named".into()));
        };
        let mut folder = self.again()?;
        for name in folders {
            folder = folder.below(name)?;
        }
        Ok((folder, (*file).to_owned()))
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the entry is something else, such as a link.
    pub fn below(&self, name: &OsStr) -> Result<Self> {
        match self.kind(name).map_err(|error| self.failed(name, &error))? {
            Kind::Folder => {}
            _ => return Err(self.refused(name, "not a folder")),
        }
        self.open_below(name)
            .map_err(|error| self.failed(name, &error))
    }

    /// Opens a folder in this one; creates it, for its owner alone, if there is none.
    ///
    /// # Errors
    /// As [`IndexFolder::below`].
    pub fn make_below(&self, name: &OsStr) -> Result<Self> {
        match self.make(name) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(self.failed(name, &error))
            }
            _ => self.below(name),
        }
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the entry is something else, such as a link or a pipe.
    pub fn file(&self, name: &OsStr, access: Access) -> Result<File> {
        match self.kind(name) {
            Ok(Kind::File) => {}
            Err(error) if error.kind() == ErrorKind::NotFound && access == Access::Create => {}
            Err(error) => return Err(self.failed(name, &error)),
            Ok(_) => return Err(self.refused(name, "not a regular file")),
        }
        let file = self
            .open_file(name, access)
            .map_err(|error| self.failed(name, &error))?;
        let found = file.metadata().map_err(|error| self.failed(name, &error))?;
        match found.is_file() {
            true => Ok(file),
            false => Err(self.refused(name, "not a regular file")),
        }
    }

    /// Creates a file, for its owner alone, instead of what has its name.
    ///
    /// A link of that name is deleted, and not what it leads to.
    pub fn new_file(&self, name: &OsStr) -> Result<File> {
        self.remove(name)?;
        self.create(name).map_err(|error| self.failed(name, &error))
    }

    /// Replaces the content of a file; the new content is durable first, under a temporary name.
    pub fn replace(&self, name: &OsStr, content: &[u8]) -> Result<()> {
        let mut temporary = name.to_owned();
        temporary.push(".tmp");
        let mut file = self.new_file(&temporary)?;
        let written = file.write_all(content).and_then(|()| file.sync_all());
        drop(file);
        let renamed = written
            .map_err(|error| self.failed(&temporary, &error))
            .and_then(|()| self.rename(&temporary, name));
        if renamed.is_err() {
            // The first error is the one to report.
            let _ = self.remove(&temporary);
        }
        renamed
    }

    /// Renames a file within the folder, instead of what has the new name.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.rename_entry(from, to)
            .map_err(|error| self.failed(to, &error))
    }

    /// Deletes a file or a link, if there is one.
    pub fn remove(&self, name: &OsStr) -> Result<()> {
        match self.unlink(name) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed(name, &error)),
            _ => Ok(()),
        }
    }

    /// Deletes a file, a link, or a folder with what is in it, if there is one.
    pub fn remove_tree(&self, name: &OsStr) -> Result<()> {
        match self.kind(name) {
            Ok(Kind::Folder) => {
                self.open_below(name)
                    .map_err(|error| self.failed(name, &error))?
                    .clear()?;
                self.unlink_folder(name)
                    .map_err(|error| self.failed(name, &error))
            }
            Ok(_) => self.remove(name),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.failed(name, &error)),
        }
    }

    /// Deletes all that is in the folder.
    pub fn clear(&self) -> Result<()> {
        for (name, _) in self.entries()? {
            self.remove_tree(&name)?;
        }
        Ok(())
    }

    /// Makes the creation, the renaming and the deletion of entries durable.
    pub fn sync(&self) -> Result<()> {
        crate::files::sync_folder(&self.path).map_err(|error| Error::io(&self.path, &error))
    }

    /// Checks that the folder, and the folders in it down to a depth, hold regular files and folders
    /// alone.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the first entry that is something else.
    pub fn require_files(&self, depth: usize) -> Result<()> {
        for (name, kind) in self.entries()? {
            match kind {
                Kind::Other => return Err(self.refused(&name, "not a regular file")),
                Kind::Folder if depth > 0 => match self.below(&name) {
                    Ok(folder) => folder.require_files(depth - 1)?,
                    // Removed meanwhile by a writer.
                    Err(_) if !self.path.join(&name).exists() => {}
                    Err(error) => return Err(error),
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn failed(&self, name: &OsStr, error: &io::Error) -> Error {
        Error::io(&self.path.join(name), error)
    }

    fn refused(&self, name: &OsStr, fact: &str) -> Error {
        let path = self.path.join(name);
        let is_link = path
            .symlink_metadata()
            .is_ok_and(|found| found.file_type().is_symlink());
        let fact = if is_link { "a link" } else { fact };
        Error::Damaged(format!(
            "{}: {fact}, which an index does not have and which is not followed; if the index is \
             your own, delete it and run the same command again",
            path.display()
        ))
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

    const OWNER_FILE: Mode = Mode::from_raw_mode(0o600);
    const OWNER_FOLDER: Mode = Mode::from_raw_mode(0o700);
    const FOLDER: OFlags = OFlags::RDONLY
        .union(OFlags::DIRECTORY)
        .union(OFlags::CLOEXEC);
    /// A pipe without a reader must not block.
    const SAFE: OFlags = OFlags::NOFOLLOW
        .union(OFlags::NONBLOCK)
        .union(OFlags::CLOEXEC);

    fn kind_of(found: FileType) -> Kind {
        match found {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            _ => Kind::Other,
        }
    }

    impl IndexFolder {
        pub(super) fn at(path: &Path) -> io::Result<Self> {
            Ok(IndexFolder {
                handle: rustix::fs::open(path, FOLDER, Mode::empty())?,
                path: path.to_owned(),
            })
        }

        pub(super) fn again(&self) -> Result<Self> {
            let handle = self.handle.try_clone();
            Ok(IndexFolder {
                handle: handle.map_err(|error| Error::io(&self.path, &error))?,
                path: self.path.clone(),
            })
        }

        pub(super) fn open_below(&self, name: &OsStr) -> io::Result<Self> {
            let flags = FOLDER.union(OFlags::NOFOLLOW);
            Ok(IndexFolder {
                handle: rustix::fs::openat(&self.handle, name, flags, Mode::empty())?,
                path: self.path.join(name),
            })
        }

        pub(super) fn make(&self, name: &OsStr) -> io::Result<()> {
            Ok(rustix::fs::mkdirat(&self.handle, name, OWNER_FOLDER)?)
        }

        pub(super) fn kind(&self, name: &OsStr) -> io::Result<Kind> {
            let found = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(kind_of(FileType::from_raw_mode(found.st_mode)))
        }

        pub(super) fn open_file(&self, name: &OsStr, access: Access) -> io::Result<File> {
            let flags = match access {
                Access::Read => OFlags::RDONLY,
                Access::Write => OFlags::WRONLY,
                Access::Create => OFlags::RDWR.union(OFlags::CREATE),
            };
            let opened = rustix::fs::openat(&self.handle, name, flags.union(SAFE), OWNER_FILE)?;
            Ok(File::from(opened))
        }

        pub(super) fn create(&self, name: &OsStr) -> io::Result<File> {
            let flags = OFlags::RDWR
                .union(OFlags::CREATE)
                .union(OFlags::EXCL)
                .union(SAFE);
            let opened = rustix::fs::openat(&self.handle, name, flags, OWNER_FILE)?;
            Ok(File::from(opened))
        }

        pub(super) fn rename_entry(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
        }

        pub(super) fn unlink(&self, name: &OsStr) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
        }

        pub(super) fn unlink_folder(&self, name: &OsStr) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(
                &self.handle,
                name,
                AtFlags::REMOVEDIR,
            )?)
        }

        pub(super) fn entries(&self) -> Result<Vec<(OsString, Kind)>> {
            let failed = |error: rustix::io::Errno| Error::io(&self.path, &error.into());
            let mut entries = Vec::new();
            for entry in Dir::read_from(&self.handle).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let name: &OsStr =
                    std::os::unix::ffi::OsStrExt::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                let kind = match entry.file_type() {
                    // A file system that does not tell.
                    FileType::Unknown => match self.kind(name) {
                        Ok(kind) => kind,
                        Err(error) if error.kind() == ErrorKind::NotFound => continue,
                        Err(error) => return Err(self.failed(name, &error)),
                    },
                    found => kind_of(found),
                };
                entries.push((name.to_owned(), kind));
            }
            Ok(entries)
        }
    }
}

/// Without handles on folders, each entry is checked before it is used.
#[cfg(not(unix))]
mod elsewhere {
    use super::*;
    use std::fs;

    fn kind_of(found: fs::FileType) -> Kind {
        match (found.is_file(), found.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Folder,
            _ => Kind::Other,
        }
    }

    impl IndexFolder {
        pub(super) fn at(path: &Path) -> io::Result<Self> {
            match fs::metadata(path)?.is_dir() {
                true => Ok(IndexFolder {
                    path: path.to_owned(),
                }),
                false => Err(ErrorKind::NotADirectory.into()),
            }
        }

        pub(super) fn again(&self) -> Result<Self> {
            Ok(IndexFolder {
                path: self.path.clone(),
            })
        }

        pub(super) fn open_below(&self, name: &OsStr) -> io::Result<Self> {
            Ok(IndexFolder {
                path: self.path.join(name),
            })
        }

        pub(super) fn make(&self, name: &OsStr) -> io::Result<()> {
            fs::create_dir(self.path.join(name))
        }

        pub(super) fn kind(&self, name: &OsStr) -> io::Result<Kind> {
            Ok(kind_of(
                fs::symlink_metadata(self.path.join(name))?.file_type(),
            ))
        }

        pub(super) fn open_file(&self, name: &OsStr, access: Access) -> io::Result<File> {
            let mut options = fs::OpenOptions::new();
            match access {
                Access::Read => options.read(true),
                Access::Write => options.write(true),
                Access::Create => options.read(true).write(true).create(true),
            };
            options.truncate(false).open(self.path.join(name))
        }

        pub(super) fn create(&self, name: &OsStr) -> io::Result<File> {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).create_new(true);
            options.open(self.path.join(name))
        }

        pub(super) fn rename_entry(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            fs::rename(self.path.join(from), self.path.join(to))
        }

        pub(super) fn unlink(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.path.join(name))
        }

        pub(super) fn unlink_folder(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_dir(self.path.join(name))
        }

        pub(super) fn entries(&self) -> Result<Vec<(OsString, Kind)>> {
            let failed = |error: io::Error| Error::io(&self.path, &error);
            let mut entries = Vec::new();
            for entry in fs::read_dir(&self.path).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                entries.push((
                    entry.file_name(),
                    kind_of(entry.file_type().map_err(failed)?),
                ));
            }
            Ok(entries)
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    /// An index folder beside a file and a folder that nothing in it may change.
    fn beside_victims() -> (tempfile::TempDir, IndexFolder) {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("index")).unwrap();
        fs::create_dir(scratch.path().join("victims")).unwrap();
        fs::write(scratch.path().join("victim"), "unchanged").unwrap();
        fs::write(scratch.path().join("victims/one"), "unchanged").unwrap();
        let folder = IndexFolder::open(&scratch.path().join("index")).unwrap();
        (scratch, folder)
    }

    fn require_unchanged(scratch: &Path) {
        for victim in ["victim", "victims/one"] {
            assert_eq!(
                fs::read_to_string(scratch.join(victim)).unwrap(),
                "unchanged"
            );
        }
    }

    #[test]
    fn a_link_is_neither_opened_nor_followed() {
        let (scratch, folder) = beside_victims();
        symlink("../victim", folder.path.join("lock")).unwrap();
        symlink("../new", folder.path.join("dangling")).unwrap();
        symlink("../victims", folder.path.join("derived")).unwrap();
        for file in ["lock", "dangling"] {
            for access in [Access::Read, Access::Write, Access::Create] {
                let Error::Damaged(message) = folder.file(name(file), access).unwrap_err() else {
                    panic!()
                };
                assert!(message.contains(&format!("{file}: a link, ")), "{message}");
            }
        }
        let refused = |result: Result<IndexFolder>| matches!(result, Err(Error::Damaged(_)));
        assert!(refused(folder.below(name("derived"))));
        assert!(refused(folder.make_below(name("derived"))));
        let one = folder.path.join("derived/one");
        assert!(matches!(IndexFolder::of_file(&one), Err(Error::Damaged(_))));
        assert!(matches!(
            folder.of_relative(Path::new("derived/one")),
            Err(Error::Damaged(_))
        ));
        assert!(!scratch.path().join("new").exists());
        require_unchanged(scratch.path());
    }

    #[test]
    fn a_new_file_takes_the_place_of_a_link() {
        let (scratch, folder) = beside_victims();
        symlink("../victim", folder.path.join("ends.tmp")).unwrap();
        symlink("../victim", folder.path.join("ends")).unwrap();
        folder.replace(name("ends"), b"new").unwrap();
        assert_eq!(fs::read(folder.path.join("ends")).unwrap(), b"new");
        assert!(!folder.path.join("ends").is_symlink());
        assert!(!folder.path.join("ends.tmp").exists());
        require_unchanged(scratch.path());
    }

    #[test]
    fn a_deletion_stays_in_the_folder() {
        let (scratch, folder) = beside_victims();
        fs::create_dir_all(folder.path.join("derived/bm25")).unwrap();
        fs::write(folder.path.join("derived/bm25/one"), "").unwrap();
        symlink("../../../victims", folder.path.join("derived/bm25/links")).unwrap();
        symlink("../victims", folder.path.join("linked")).unwrap();
        folder.clear().unwrap();
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 0);
        require_unchanged(scratch.path());
    }

    #[test]
    fn a_pipe_does_not_block() {
        let (_place, folder) = beside_victims();
        let pipe = folder.path.join("lock");
        let mut make = std::process::Command::new("mkfifo");
        assert!(make.arg(pipe).status().unwrap().success());
        for access in [Access::Read, Access::Write, Access::Create] {
            let refused = folder.file(name("lock"), access);
            assert!(matches!(refused, Err(Error::Damaged(_))));
        }
        assert!(matches!(folder.require_files(0), Err(Error::Damaged(_))));
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_invalid() {
        let (_place, folder) = beside_victims();
        for path in ["../victim", "/etc/passwd", "", "derived/../../victim"] {
            let refused = folder.of_relative(Path::new(path));
            assert!(matches!(refused, Err(Error::Invalid(_))), "{path}");
        }
    }
}
