//! Sealed files: derived files that are published atomically and checked before they are mapped.
//!
//! A file is written under a temporary name, synced, renamed, and its folder synced. Then the store
//! points to it with its seal, a keyed BLAKE3 of its bytes. The key is not in the index, so that
//! write access to the index is not enough to make a valid seal.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::files;
use crate::pool;

/// The key of seals: 32 bytes, one key for each user.
pub type Key = [u8; 32];
/// The keyed BLAKE3 of a file's bytes.
pub type Seal = [u8; 32];

/// A file that is being written under a temporary name. It is removed if it is dropped unpublished.
pub struct Draft {
    out: Option<BufWriter<File>>,
    hasher: blake3::Hasher,
    temporary: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Creates a file that will be published at this path.
    ///
    /// # Errors
    /// [`Error::NoRoom`] or [`Error::System`] if it cannot be created.
    pub fn new(path: &Path, key: &Key) -> Result<Self> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let file = files::private(&mut OpenOptions::new())
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)
            .map_err(|error| Error::io(&temporary, &error))?;
        Ok(Draft {
            out: Some(BufWriter::with_capacity(1 << 20, file)),
            hasher: blake3::Hasher::new_keyed(key),
            temporary,
            path: path.to_owned(),
        })
    }

    /// Syncs the file and renames it to its path; returns its seal.
    ///
    /// # Errors
    /// [`Error::NoRoom`] or [`Error::System`]; the file at the path is then unchanged.
    pub fn publish(mut self) -> Result<Seal> {
        let failed = |path: &Path, error: &io::Error| Error::io(path, error);
        if let Some(out) = self.out.take() {
            let file = out
                .into_inner()
                .map_err(|error| failed(&self.temporary, error.error()))?;
            file.sync_all()
                .map_err(|error| failed(&self.temporary, &error))?;
        }
        std::fs::rename(&self.temporary, &self.path).map_err(|error| failed(&self.path, &error))?;
        if let Some(folder) = self.path.parent() {
            // The rename is durable after the folder is synced.
            files::sync_folder(folder).map_err(|error| failed(folder, &error))?;
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
        // It does not exist after a publication; a file that remains is overwritten by the next draft.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Maps a published file into memory, after checking all of its bytes.
///
/// # Errors
/// [`Error::Damaged`] if the file does not match its seal; [`Error::System`] if it cannot be read.
pub fn open(path: &Path, key: &Key, seal: &Seal) -> Result<Mmap> {
    let file = File::open(path).map_err(|error| Error::io(path, &error))?;
    // SAFETY: a published file is never written again, only replaced by a rename or unlinked, and
    // only the user can access its folder (0700).
    let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::io(path, &error))?;
    if hash(key, &map) != blake3::Hash::from_bytes(*seal) {
        return Err(Error::Damaged(format!(
            "{}: does not match its seal",
            path.display()
        )));
    }
    Ok(map)
}

/// Hashes with all threads what takes one longer than a thread takes to wake.
fn hash(key: &Key, bytes: &[u8]) -> blake3::Hash {
    const PARALLEL: usize = 1 << 20;
    if bytes.len() < PARALLEL {
        return blake3::keyed_hash(key, bytes);
    }
    let mut hasher = blake3::Hasher::new_keyed(key);
    pool::install(|| hasher.update_rayon(bytes));
    hasher.finalize()
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
    fn a_flipped_bit_a_truncated_file_and_another_key_are_errors() {
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
            assert!(refused(&KEY), "truncated at {at}");
        }
    }

    #[test]
    fn a_flipped_bit_of_a_large_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes: Vec<u8> = (0..3 << 20).map(|n: u32| n.to_le_bytes()[1]).collect();
        let (path, seal) = published(folder.path(), &bytes);
        assert_eq!(&*open(&path, &KEY, &seal).unwrap(), &bytes[..]);
        bytes[2 << 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(open(&path, &KEY, &seal), Err(Error::Damaged(_))));
    }

    #[test]
    fn a_dropped_draft_leaves_the_published_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, seal) = published(folder.path(), b"first");
        let mut draft = Draft::new(&path, &KEY).unwrap();
        draft.write_all(b"second").unwrap();
        drop(draft);
        assert_eq!(&*open(&path, &KEY, &seal).unwrap(), b"first");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
