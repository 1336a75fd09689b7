//! Here is a derived file: is it the one that was published, every byte of it?
//!
//! A file is built aside, synced to the disk, renamed, and its folder synced; only then may a row
//! of the store point to it, with its seal: a keyed BLAKE3 of its bytes. The key lies outside the
//! index, so that who can write to the folder cannot seal what he wrote.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::error::{Error, Result};

/// What seals are made with: 32 bytes, one key for each user.
pub type Key = [u8; 32];
/// The keyed BLAKE3 of a file's bytes.
pub type Seal = [u8; 32];

/// A file that is being written aside. Dropped unpublished, it is removed.
pub struct Draft {
    out: Option<BufWriter<File>>,
    hasher: blake3::Hasher,
    aside: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Starts a file that will be published at this path.
    ///
    /// # Errors
    /// [`Error::NoRoom`] or [`Error::System`] where it cannot be made.
    pub fn new(path: &Path, key: &Key) -> Result<Self> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".tmp");
        let aside = PathBuf::from(aside);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&aside)
            .map_err(|error| Error::io(&aside, &error))?;
        Ok(Draft {
            out: Some(BufWriter::with_capacity(1 << 20, file)),
            hasher: blake3::Hasher::new_keyed(key),
            aside,
            path: path.to_owned(),
        })
    }

    /// Brings the file to the disk, and then under its name; returns its seal.
    ///
    /// # Errors
    /// [`Error::NoRoom`] or [`Error::System`]; the path then holds what it held before.
    pub fn publish(mut self) -> Result<Seal> {
        let failed = |path: &Path, error: &io::Error| Error::io(path, error);
        if let Some(out) = self.out.take() {
            let file = out
                .into_inner()
                .map_err(|error| failed(&self.aside, error.error()))?;
            file.sync_all()
                .map_err(|error| failed(&self.aside, &error))?;
        }
        std::fs::rename(&self.aside, &self.path).map_err(|error| failed(&self.path, &error))?;
        if let Some(folder) = self.path.parent() {
            // A rename is on the disk once the folder is.
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .map_err(|error| failed(folder, &error))?;
        }
        Ok(*self.hasher.finalize().as_bytes())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(out) = &mut self.out else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let written = out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a publication it is gone; what a failure leaves here is overwritten by the next.
        let _ = std::fs::remove_file(&self.aside);
    }
}

/// Maps a published file into memory, once all of its bytes have been checked.
///
/// # Errors
/// [`Error::Damaged`] where its bytes are not those that were sealed; [`Error::System`] where it
/// cannot be read.
pub fn open(path: &Path, key: &Key, seal: &Seal) -> Result<Mmap> {
    let file = File::open(path).map_err(|error| Error::io(path, &error))?;
    // SAFETY: a published file is never written to again, only replaced by a rename and unlinked,
    // and its folder is the user's alone (0700).
    let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::io(path, &error))?;
    if blake3::keyed_hash(key, &map) != blake3::Hash::from_bytes(*seal) {
        return Err(Error::Damaged(format!(
            "{}: does not match its seal",
            path.display()
        )));
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const KEY: Key = [7; 32];

    fn published(folder: &Path, bytes: &[u8]) -> (PathBuf, Seal) {
        let path = folder.join("a.bin");
        let mut draft = Draft::new(&path, &KEY).unwrap();
        draft.write_all(bytes).unwrap();
        (path, draft.publish().unwrap())
    }

    #[test]
    fn a_published_file_is_opened_with_its_seal() {
        let folder = tempfile::tempdir().unwrap();
        let (path, seal) = published(folder.path(), b"some bytes");
        assert_eq!(&*open(&path, &KEY, &seal).unwrap(), b"some bytes");
        let names: Vec<_> = folder
            .path()
            .read_dir()
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        assert_eq!(names, [path]);
    }

    #[test]
    fn any_flipped_byte_a_cut_end_and_another_key_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..200u8).collect();
        let (path, seal) = published(folder.path(), &bytes);
        let refused = |key: &Key| matches!(open(&path, key, &seal), Err(Error::Damaged(_)));
        assert!(!refused(&KEY));
        assert!(refused(&[8; 32]));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, &damaged).unwrap();
            assert!(refused(&KEY), "byte {at}");
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(refused(&KEY), "cut at {at}");
        }
    }

    #[test]
    fn a_draft_that_is_dropped_leaves_what_was_published() {
        let folder = tempfile::tempdir().unwrap();
        let (path, seal) = published(folder.path(), b"first");
        let mut draft = Draft::new(&path, &KEY).unwrap();
        draft.write_all(b"second").unwrap();
        drop(draft);
        assert_eq!(&*open(&path, &KEY, &seal).unwrap(), b"first");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
