//! The pages of a database and of its write-ahead log, read without SQLite.
//!
//! The formats are those of <https://sqlite.org/fileformat2.html>.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Error, Result};
use crate::index_folder::{Access, IndexFolder};
use crate::store::open;

/// The size that crx leaves to SQLite's default, for a file whose header is damaged.
const USUAL_SIZE: usize = 4096;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The pages of a database at its last commit.
pub(super) struct Pages {
    database: File,
    log: Option<File>,
    size: usize,
    /// Bytes of a page that hold data.
    usable: usize,
    /// Pages of the database file, the last one perhaps in part.
    in_file: u32,
    /// Pages that the database should have.
    wanted: u32,
    /// The offset in the log of each page that it holds.
    in_log: HashMap<u32, u64>,
}

impl Pages {
    /// Opens the files of an index for reading.
    pub(super) fn open(index: &Path) -> Result<Self> {
        let database = open::database(index);
        if !database.exists() {
            let database = database.display();
            return Err(Error::NotAnIndex(format!("{database}: no such file")));
        }
        let folder = IndexFolder::open(index)?;
        let file = folder.file(OsStr::new(open::DATABASE), Access::Read)?;
        let metadata = file.metadata();
        let bytes = metadata
            .map_err(|error| Error::io(&database, &error))?
            .len();
        let log = folder.file(OsStr::new("crx.db-wal"), Access::Read).ok();
        let header = read_at(&file, 0, 100).filter(|header| header.starts_with(MAGIC));
        let in_header = header
            .as_deref()
            .and_then(|header| page_size(u32::from(be16(header, 16))));
        let log_header = log.as_ref().and_then(|log| read_at(log, 0, LOG_HEADER));
        let in_log_header = log_header
            .as_deref()
            .and_then(|header| page_size(be32(header, 8)));
        let size = in_header.or(in_log_header).unwrap_or(USUAL_SIZE);
        let reserved = header
            .as_deref()
            .map_or(0, |header| usize::from(header[20]));
        let in_file = u32::try_from(bytes.div_ceil(size as u64)).unwrap_or(u32::MAX);
        let mut pages = Pages {
            database: file,
            log,
            size,
            usable: size - reserved.min(size - 480),
            in_file,
            wanted: header.as_deref().map_or(in_file, |header| be32(header, 28)),
            in_log: HashMap::new(),
        };
        if let Some(header) = log_header {
            pages.read_log(&header);
        }
        Ok(pages)
    }

    /// Returns the numbers of the pages that there are, ascending.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        let above: BTreeSet<u32> = self
            .in_log
            .keys()
            .copied()
            .filter(|&page| page > self.in_file)
            .collect();
        (1..=self.in_file).chain(above)
    }

    /// Returns how many pages of the database there are not, as in a truncated file.
    pub(super) fn missing(&self) -> i64 {
        (i64::from(self.wanted) - self.numbers().count() as i64).max(0)
    }

    /// Returns the bytes of a page that hold data.
    pub(super) fn usable(&self) -> usize {
        self.usable
    }

    /// Returns a number of pages above that of any record.
    pub(super) fn most(&self) -> usize {
        self.in_file as usize + self.in_log.len()
    }

    /// Reads a page; None if there is no such page, or the disk cannot read it.
    pub(super) fn read(&self, page: u32) -> Option<Vec<u8>> {
        match (self.in_log.get(&page), &self.log) {
            (Some(&at), Some(log)) => read_at(log, at, self.size),
            _ if page == 0 || page > self.in_file => None,
            _ => {
                let at = u64::from(page - 1) * self.size as u64;
                let left = self.database.metadata().ok()?.len().checked_sub(at)?;
                let bytes = self.size.min(usize::try_from(left).unwrap_or(self.size));
                let mut content = read_at(&self.database, at, bytes)?;
                content.resize(self.size, 0);
                Some(content)
            }
        }
    }

    /// Returns the pages that hold nothing, and whether their list is whole.
    pub(super) fn free(&self) -> (HashSet<u32>, bool) {
        let mut free = HashSet::new();
        let Some(first) = self.read(1).filter(|page| page.starts_with(MAGIC)) else {
            return (free, false);
        };
        let (mut trunk, count) = (be32(&first, 32), be32(&first, 36));
        while trunk != 0 {
            let Some(content) = self.read(trunk).filter(|_| free.insert(trunk)) else {
                return (free, false);
            };
            let leaves = be32(&content, 4) as usize;
            if leaves > self.usable / 4 - 2 {
                return (free, false);
            }
            free.extend((0..leaves).map(|leaf| be32(&content, 8 + 4 * leaf)));
            trunk = be32(&content, 0);
        }
        let is_whole = free.len() == count as usize;
        (free, is_whole)
    }

    /// Finds the newest version of each page in the log, up to its last whole commit.
    fn read_log(&mut self, header: &[u8]) {
        let Some(log) = &self.log else { return };
        let word: fn(&[u8], usize) -> u32 = match be32(header, 0) {
            0x377f_0682 => le32,
            0x377f_0683 => be32,
            _ => return,
        };
        let mut sum = checksum((0, 0), &header[..24], word);
        if sum != (be32(header, 24), be32(header, 28))
            || page_size(be32(header, 8)) != Some(self.size)
        {
            return;
        }
        let mut uncommitted = HashMap::new();
        let mut at = LOG_HEADER as u64;
        while let Some(frame) = read_at(log, at, FRAME_HEADER + self.size) {
            sum = checksum(
                checksum(sum, &frame[..8], word),
                &frame[FRAME_HEADER..],
                word,
            );
            if frame[8..16] != header[16..24] || sum != (be32(&frame, 16), be32(&frame, 20)) {
                return;
            }
            uncommitted.insert(be32(&frame, 0), at + FRAME_HEADER as u64);
            if be32(&frame, 4) != 0 {
                self.wanted = be32(&frame, 4);
                self.in_log.extend(uncommitted.drain());
            }
            at += (FRAME_HEADER + self.size) as u64;
        }
    }
}

/// Continues the checksum of a write-ahead log over a multiple of 8 bytes.
fn checksum(sum: (u32, u32), bytes: &[u8], word: fn(&[u8], usize) -> u32) -> (u32, u32) {
    bytes.chunks_exact(8).fold(sum, |(first, second), pair| {
        let first = first.wrapping_add(word(pair, 0)).wrapping_add(second);
        (
            first,
            second.wrapping_add(word(pair, 4)).wrapping_add(first),
        )
    })
}

/// Returns the page size that a header names, if it is one.
fn page_size(named: u32) -> Option<usize> {
    let size = if named == 1 { 1 << 16 } else { named as usize };
    (size.is_power_of_two() && (512..=1 << 16).contains(&size)).then_some(size)
}

fn read_at(mut file: &File, at: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut content = vec![0; bytes];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut content).ok()?;
    Some(content)
}

pub(super) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    be32(bytes, at).swap_bytes()
}
