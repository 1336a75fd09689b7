//! Sealed files: derived files that are published atomically and checked before they are used.
//!
//! A file is written under a temporary name, synced, renamed, and its folder synced. It ends in the
//! keyed BLAKE3 of each of its pages and the length of its contents. Then the store points to it with
//! its seal, the keyed BLAKE3 of that end. The key is not in the index, so that write access to the
//! index is not enough to make a valid seal.
//!
//! So a page can be checked when it is first read, and a large file need not be read to be opened.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memmap2::Mmap;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::index_folder::{Access, IndexFolder};
use crate::pool;

/// The key of seals: 32 bytes, one key for each user.
pub type Key = [u8; 32];
/// The keyed BLAKE3 of the end of a file.
pub type Seal = [u8; 32];

/// Bytes of a page: 16 chunks of BLAKE3, as many as it hashes at once with AVX-512.
pub const PAGE: usize = 16 << 10;
const HASH: usize = blake3::OUT_LEN;
/// Bytes of the length at the end of a file.
const LENGTH: usize = 8;

/// A file that is being written under a temporary name. It is removed if it is dropped unpublished.
pub struct Draft {
    out: Option<BufWriter<File>>,
    key: Key,
    page_key: Key,
    /// The last page, as long as it is not full.
    page: Vec<u8>,
    /// The hashes of the pages before.
    hashes: Vec<u8>,
    length: u64,
    folder: IndexFolder,
    temporary: OsString,
    name: OsString,
    path: PathBuf,
}

impl Draft {
    /// Creates a file that will be published at this path.
    ///
    /// # Errors
    /// [`Error::NoRoom`] or [`Error::System`] if it cannot be created.
    pub fn new(path: &Path, key: &Key) -> Result<Self> {
        let (folder, name) = IndexFolder::of_file(path)?;
        let mut temporary = name.clone();
        temporary.push(".tmp");
        let file = folder.new_file(&temporary)?;
        Ok(Draft {
            out: Some(BufWriter::with_capacity(1 << 20, file)),
            key: *key,
            page_key: page_key(key),
            page: Vec::with_capacity(PAGE),
            hashes: Vec::new(),
            length: 0,
            folder,
            temporary,
            name,
            path: path.to_owned(),
        })
    }

    /// Syncs the file and renames it to its path; returns its seal.
    ///
    /// # Errors
    /// [`Error::NoRoom`] or [`Error::System`]; the file at the path is then unchanged.
    pub fn publish(mut self) -> Result<Seal> {
        let temporary = self.path.with_file_name(&self.temporary);
        let failed = |error: io::Error| Error::io(&temporary, &error);
        if !self.page.is_empty() {
            self.end_page();
        }
        let mut end = std::mem::take(&mut self.hashes);
        end.extend(self.length.to_le_bytes());
        if let Some(mut out) = self.out.take() {
            let written = out.write_all(&end);
            let file = written
                .and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error))
                .map_err(failed)?;
            file.sync_all().map_err(failed)?;
        }
        self.folder.rename(&self.temporary, &self.name)?;
        // The rename is durable after the folder is synced.
        self.folder.sync()?;
        Ok(*blake3::keyed_hash(&self.key, &end).as_bytes())
    }

    /// Adds the hash of the last page, and begins a new one.
    fn end_page(&mut self) {
        let hash = blake3::keyed_hash(&self.page_key, &self.page);
        self.hashes.extend(hash.as_bytes());
        self.page.clear();
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(out) = &mut self.out else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let written = out.write(bytes)?;
        self.length += written as u64;
        let mut rest = &bytes[..written];
        while !rest.is_empty() {
            let (now, after) = rest.split_at(rest.len().min(PAGE - self.page.len()));
            self.page.extend(now);
            if self.page.len() == PAGE {
                self.end_page();
            }
            rest = after;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It does not exist after a publication; a file that remains is overwritten by the next draft.
        let _ = self.folder.remove(&self.temporary);
    }
}

/// The contents of a published file, mapped into memory. Only pages that were checked may be trusted.
pub struct Sealed {
    map: Mmap,
    /// The length of the contents; the hashes of their pages follow.
    length: usize,
    page_key: Key,
    path: PathBuf,
    /// A bitmap of the pages that were checked, and whether all were.
    checked: Box<[AtomicU64]>,
    whole: AtomicBool,
    damaged: AtomicBool,
}

impl Sealed {
    /// Maps a published file into memory, after checking its end; its pages are checked by the
    /// methods of these names.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal; [`Error::System`] if it cannot be
    /// read.
    pub fn open(path: &Path, key: &Key, seal: &Seal) -> Result<Self> {
        let (folder, name) = IndexFolder::of_file(path)?;
        let file = folder.file(&name, Access::Read)?;
        // SAFETY: a published file is never written again, only replaced by a rename or unlinked,
        // and only the user can access its folder (0700).
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::io(path, &error))?;
        let length = contents_length(&map).ok_or_else(|| mismatch(path))?;
        if blake3::keyed_hash(key, &map[length..]) != blake3::Hash::from_bytes(*seal) {
            return Err(mismatch(path));
        }
        let words = length.div_ceil(PAGE).div_ceil(64);
        Ok(Sealed {
            map,
            length,
            page_key: page_key(key),
            path: path.to_owned(),
            checked: (0..words).map(|_| AtomicU64::new(0)).collect(),
            whole: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
        })
    }

    /// Returns whether these bytes are as they were written. A page is hashed once.
    #[inline]
    pub fn check(&self, bytes: Range<usize>) -> bool {
        let pages = bytes.start / PAGE..bytes.end.div_ceil(PAGE);
        self.whole.load(Ordering::Relaxed) || pages.into_iter().all(|page| self.check_page(page))
    }

    /// Checks all bytes, with all threads.
    ///
    /// # Errors
    /// [`Error::Damaged`] if they are not as they were written.
    pub fn check_all(&self) -> Result<()> {
        /// Below it one thread takes less time than another takes to wake.
        const PARALLEL: usize = 1 << 20;
        let mut pages = 0..self.length.div_ceil(PAGE);
        let matches = if self.length < PARALLEL {
            pages.all(|page| self.check_page(page))
        } else {
            pool::install(|| pages.into_par_iter().all(|page| self.check_page(page)))
        };
        self.whole.store(matches, Ordering::Relaxed);
        self.require_undamaged()
    }

    /// Returns whether all bytes were checked.
    pub fn is_checked(&self) -> bool {
        self.whole.load(Ordering::Relaxed)
    }

    /// Returns whether a page did not match its hash.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// # Errors
    /// [`Error::Damaged`] if a page did not match its hash.
    pub fn require_undamaged(&self) -> Result<()> {
        match self.is_damaged() {
            true => Err(mismatch(&self.path)),
            false => Ok(()),
        }
    }

    #[inline]
    fn check_page(&self, page: usize) -> bool {
        let bit = 1 << (page % 64);
        self.checked[page / 64].load(Ordering::Relaxed) & bit != 0 || self.hash_page(page)
    }

    /// Hashes a page, and notes whether it matches.
    #[cold]
    fn hash_page(&self, page: usize) -> bool {
        let bytes = &self[page * PAGE..self.length.min((page + 1) * PAGE)];
        let hash = blake3::keyed_hash(&self.page_key, bytes);
        let matches = hash.as_bytes() == &self.map[self.length + page * HASH..][..HASH];
        if matches {
            self.checked[page / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
        } else {
            self.damaged.store(true, Ordering::Relaxed);
        }
        matches
    }
}

impl Deref for Sealed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map[..self.length]
    }
}

/// Maps a published file into memory, after checking all of its bytes.
///
/// # Errors
/// [`Error::Damaged`] if the file does not match its seal; [`Error::System`] if it cannot be read.
pub fn open(path: &Path, key: &Key, seal: &Seal) -> Result<Sealed> {
    let file = Sealed::open(path, key, seal)?;
    file.check_all()?;
    Ok(file)
}

/// Returns the length of the contents of a file, None if the file has another length than their
/// pages' hashes give.
fn contents_length(file: &[u8]) -> Option<usize> {
    let length = usize::try_from(u64::from_le_bytes(*file.last_chunk::<LENGTH>()?)).ok()?;
    let end = length.div_ceil(PAGE).checked_mul(HASH)? + LENGTH;
    (length.checked_add(end)? == file.len()).then_some(length)
}

/// Returns the key of the hashes of pages: no page has the hash of a file's end.
fn page_key(key: &Key) -> Key {
    *blake3::keyed_hash(key, b"page").as_bytes()
}

fn mismatch(path: &Path) -> Error {
    Error::Damaged(format!("{}: does not match its seal", path.display()))
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
        let (path, seal) = published(folder.path(), &(0..200u8).collect::<Vec<_>>());
        let bytes = std::fs::read(&path).unwrap();
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
        let bytes: Vec<u8> = (0..3 << 20).map(|n: u32| n.to_le_bytes()[1]).collect();
        let (path, seal) = published(folder.path(), &bytes);
        assert_eq!(&*open(&path, &KEY, &seal).unwrap(), &bytes[..]);
        let mut damaged = std::fs::read(&path).unwrap();
        damaged[2 << 20] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert!(matches!(open(&path, &KEY, &seal), Err(Error::Damaged(_))));
    }

    #[test]
    fn files_around_the_length_of_a_page_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        for length in [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 65 * PAGE + 5] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let (path, seal) = published(folder.path(), &bytes);
            assert_eq!(&*open(&path, &KEY, &seal).unwrap(), &bytes[..], "{length}");
            let mut longer = std::fs::read(&path).unwrap();
            longer.push(0);
            std::fs::write(&path, &longer).unwrap();
            assert!(Sealed::open(&path, &KEY, &seal).is_err(), "{length}");
        }
    }

    #[test]
    fn a_page_is_checked_when_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..5 * PAGE).map(|at| (at % 251) as u8).collect();
        let (path, seal) = published(folder.path(), &bytes);
        let mut damaged = std::fs::read(&path).unwrap();
        damaged[3 * PAGE] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        let file = Sealed::open(&path, &KEY, &seal).unwrap();
        assert!(file.check(0..3 * PAGE) && file.check(4 * PAGE..5 * PAGE));
        assert!(file.check(7..7) && !file.is_damaged() && !file.is_checked());
        assert!(!file.check(3 * PAGE - 1..3 * PAGE + 1) && file.is_damaged());
        assert!(matches!(file.check_all(), Err(Error::Damaged(_))));
        assert!(!file.is_checked());
    }

    #[test]
    fn pages_that_were_exchanged_and_hashes_that_were_made_to_fit_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..2 * PAGE).map(|at| (at / PAGE) as u8).collect();
        let (path, seal) = published(folder.path(), &bytes);
        let good = std::fs::read(&path).unwrap();
        let (pages, end) = good.split_at(2 * PAGE);
        let (first, second) = pages.split_at(PAGE);
        let exchanged = [second, first, end].concat();
        std::fs::write(&path, &exchanged).unwrap();
        assert!(!Sealed::open(&path, &KEY, &seal).unwrap().check(0..1));
        let hashes = [&end[HASH..2 * HASH], &end[..HASH], &end[2 * HASH..]].concat();
        std::fs::write(&path, [second, first, &hashes].concat()).unwrap();
        assert!(Sealed::open(&path, &KEY, &seal).is_err());
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
