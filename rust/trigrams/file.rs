//! The file of columns: the slabs, the span of each text, and the number of both.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use super::{ROWS, Span};
use crate::error::{Error, Result};
use crate::index_folder::IndexFolder;
use crate::seal::{Draft, Key, Sealed};
use crate::store::Derived;

/// The name of the pointer to the file, and the start of the file's name.
pub(super) const NAME: &str = "trigrams";
const SUFFIX: &str = ".bits";
/// The last bytes of the contents: the format and its version.
const FORMAT: &[u8; 8] = b"crxtri 1";
/// Bytes of a span, and of the end.
const SPAN: usize = 16;
const END: usize = 24;

/// An open file of columns.
pub(super) struct File {
    sealed: Sealed,
    bits: usize,
}

impl File {
    /// Opens the file that a pointer names; returns it with its number of slabs and its spans. The
    /// slabs are checked when they are read.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal; [`Error::System`] if it cannot be read.
    pub(super) fn open(
        folder: &Path,
        key: &Key,
        pointer: &Derived,
    ) -> Result<(File, usize, Vec<Span>)> {
        let file = &pointer.file;
        let wrong = |what: &str| Error::Damaged(format!("{file}: {what}"));
        number(file).ok_or_else(|| wrong("not the name of a file of trigrams"))?;
        let sealed = Sealed::open(&folder.join(file), key, &pointer.seal)?;
        let start = sealed
            .len()
            .checked_sub(END)
            .filter(|&start| sealed.check(start..sealed.len()));
        let start = start.ok_or_else(|| wrong("does not match its seal"))?;
        let (counts, format) = sealed[start..].split_at(16);
        let mut counts = counts.chunks_exact(8).map(|bytes| read_u64(bytes) as usize);
        let (slabs, spans) = (counts.next().unwrap_or(0), counts.next().unwrap_or(0));
        let bits = slabs.checked_mul(ROWS * 8);
        let whole = bits.and_then(|bits| bits.checked_add(spans.checked_mul(SPAN)?));
        if format != FORMAT || whole != Some(start) {
            return Err(wrong("another format; the next build makes it anew"));
        }
        let bits = bits.unwrap_or(0);
        if !sealed.check(bits..start) {
            return Err(wrong("does not match its seal"));
        }
        let spans = sealed[bits..start]
            .chunks_exact(SPAN)
            .map(read_span)
            .collect();
        Ok((File { sealed, bits }, slabs, spans))
    }

    /// Returns the bytes of the slabs.
    pub(super) fn bits(&self) -> &[u8] {
        &self.sealed[..self.bits]
    }

    /// Returns the contents, of which what was checked may be read.
    pub(super) fn sealed(&self) -> &Sealed {
        &self.sealed
    }

    /// # Errors
    /// [`Error::Damaged`] if not all bytes are as they were written.
    pub(super) fn check_all(&self) -> Result<()> {
        self.sealed.check_all()
    }

    /// # Errors
    /// [`Error::Damaged`] if bytes that were read are not as they were written.
    pub(super) fn require_undamaged(&self) -> Result<()> {
        self.sealed.require_undamaged()
    }
}

/// Begins the next file of a folder; returns its name with it.
pub(super) fn draft(folder: &Path, key: &Key) -> Result<(String, Draft)> {
    let numbers = names(folder)?.into_iter().filter_map(|name| number(&name));
    let name = format!("{NAME}-{}{SUFFIX}", 1 + numbers.max().unwrap_or(0));
    let draft = Draft::new(&folder.join(&name), key)?;
    Ok((name, draft))
}

/// Writes what follows the slabs.
pub(super) fn write_end(out: &mut impl Write, slabs: usize, spans: &[Span]) -> io::Result<()> {
    for span in spans {
        out.write_all(&span.body.to_le_bytes())?;
        out.write_all(&span.first.to_le_bytes())?;
        out.write_all(&span.columns.to_le_bytes())?;
    }
    out.write_all(&(slabs as u64).to_le_bytes())?;
    out.write_all(&(spans.len() as u64).to_le_bytes())?;
    out.write_all(FORMAT)
}

/// Removes all files of columns but one.
pub(super) fn remove_others(folder: &Path, kept: Option<&str>) -> Result<()> {
    for name in names(folder)? {
        let finished = name.strip_suffix(".tmp").unwrap_or(&name);
        if number(finished).is_some() && Some(&name[..]) != kept {
            let (folder, name) = IndexFolder::of_file(&folder.join(&name))?;
            match folder.remove(OsStr::new(&name)) {
                // Windows does not remove a file that a reader has mapped: it stays until the next.
                Err(_) if cfg!(windows) => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let failed = |error| Error::io(folder, &error);
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        found.extend(name.into_string().ok());
    }
    Ok(found)
}

fn number(name: &str) -> Option<u64> {
    let number = name.strip_prefix(NAME)?.strip_prefix('-')?;
    number.strip_suffix(SUFFIX)?.parse().ok()
}

fn read_span(bytes: &[u8]) -> Span {
    let rest = read_u64(&bytes[8..]);
    Span {
        body: read_u64(bytes) as i64,
        first: rest as u32,
        columns: (rest >> 32) as u32,
    }
}

fn read_u64(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
