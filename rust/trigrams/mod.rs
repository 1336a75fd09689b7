//! The trigram filter: which stretches of text may match a pattern.
//!
//! A text is divided into its pieces, as the store has them. A column of bits says for each piece
//! which trigrams it has, and those of the bytes after it that a match which begins in it may take; a
//! trigram is a bit at its hash, so the filter may name a piece too many, and none too few. Short texts
//! share a column.
//!
//! Texts are stored by content under numbers that are never used again. So a column is right as long
//! as the store is, whatever documents come and go, and new texts are those with larger numbers. The
//! writer publishes all columns as `derived/trigrams-<n>.bits`, when the texts that it lacks take long
//! to search. A handle adds those that are not published in memory.

mod bits;
mod candidates;
mod column;
mod file;
mod required;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

pub(crate) use candidates::{Candidates, Stretches};
#[cfg(test)]
pub(crate) use column::Column as TestColumn;
pub(crate) use required::Required;

use crate::error::{Error, Result};
use crate::interrupt;
use crate::pattern::Pattern;
use crate::pool;
use crate::seal::Key;
use crate::store::{Derived, Store};
use bits::Bits;
use column::Column;
use file::File;

/// Bits of a column. A piece of 4 kB sets about one in five.
pub(crate) const ROWS: usize = 1 << 13;
/// Bytes after a piece whose trigrams are in its column: the most bytes of a match that is found by
/// one column.
pub(crate) const OVERLAP: usize = 512;
/// Bytes of the short texts that share a column.
const SHARED_BYTES: usize = 4096;
/// Bytes of texts that are read at once.
const BATCH_BYTES: usize = 1 << 22;
/// Pieces that are searched without columns, at least, and the share of all pieces.
const UNPUBLISHED: i64 = 256;
const UNPUBLISHED_SHARE: i64 = 64;
/// Bytes of texts to which a search adds columns, and the most bytes of columns in memory.
const ADDED_BYTES: usize = 1 << 25;
const KEPT_BYTES: usize = 1 << 28;

/// The columns of a text: those of its pieces, or one that it shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    body: i64,
    first: u32,
    /// [`UNREAD`] if the text was damaged.
    columns: u32,
}

const UNREAD: u32 = u32::MAX;

/// A handle on the filter of an index; it may be used from several threads.
pub struct Trigrams {
    folder: PathBuf,
    key: Key,
    columns: Mutex<Columns>,
}

/// The columns of a published file, and those that were added since.
#[derive(Default)]
struct Columns {
    /// The file that was opened or refused.
    pointer: Option<Derived>,
    file: Option<File>,
    bits: Bits,
    /// By number, ascending.
    spans: Arc<Vec<Span>>,
    faults: Vec<String>,
}

impl Trigrams {
    /// Returns a handle on the filter in a folder of derived files; a search opens the file.
    pub fn open(folder: &Path, key: Key) -> Self {
        Trigrams {
            folder: folder.to_owned(),
            key,
            columns: Mutex::default(),
        }
    }

    /// Returns one line for each file that could not be used, with what was done instead.
    pub fn faults(&self) -> Vec<String> {
        let columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        columns.faults.clone()
    }

    /// Opens the published file and checks all its bytes; a damaged one is a fault.
    ///
    /// # Errors
    /// Those of the store.
    pub fn check(&self, store: &Store) -> Result<()> {
        let pointer = store.derived(file::NAME)?;
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        columns.open(&self.folder, &self.key, pointer);
        let checked = columns.file.as_ref().map_or(Ok(()), File::check_all);
        checked.or_else(|error| {
            columns.refuse(&error);
            Ok(())
        })
    }

    /// Publishes the columns of all texts, if many are not published or the file is damaged.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the store is not open for writing; [`Error::NoRoom`] or
    /// [`Error::System`] if the file cannot be written; those of the store.
    pub fn publish(&self, store: &Store) -> Result<()> {
        if !store.writable() {
            return Err(Error::Invalid(
                "trigrams: opened for reading; open the index with write=True to publish them"
                    .into(),
            ));
        }
        let pointer = store.derived(file::NAME)?;
        let mut columns = Columns::default();
        columns.open(&self.folder, &self.key, pointer.clone());
        if let Some(Err(error)) = columns.file.as_ref().map(File::check_all) {
            columns.refuse(&error);
        }
        let present = store.bodies_after(0)?;
        let is_present = |span: &Span| present.binary_search(&span.body).is_ok();
        Arc::make_mut(&mut columns.spans).retain(is_present);
        if columns.live() * 2 < 64 * columns.bits.slabs() {
            columns = Columns::default();
        }
        let after = columns.last();
        let lacking = store.pieces_after(after)?;
        let published = columns.live() as i64;
        if lacking < UNPUBLISHED.max(published / UNPUBLISHED_SHARE) {
            if columns.file.is_none() && pointer.is_some() {
                store.set_derived(file::NAME, None)?;
                file::remove_others(&self.folder, None)?;
            }
            return Ok(());
        }
        let new = &present[present.partition_point(|&body| body <= after)..];
        let (name, mut draft) = file::draft(&self.folder, &self.key)?;
        let path = self.folder.join(&name);
        let failed = |error: std::io::Error| Error::io(&path, &error);
        let old = columns.file.take();
        columns
            .bits
            .write_filed(old.as_ref().map_or(&[], File::bits), &mut draft)
            .map_err(failed)?;
        let mut rest = new;
        while !rest.is_empty() {
            interrupt::check()?;
            rest = &rest[columns.add(store, rest)?..];
            columns.bits.write_own(&mut draft, false).map_err(failed)?;
        }
        columns.bits.write_own(&mut draft, true).map_err(failed)?;
        file::write_end(&mut draft, columns.bits.slabs(), &columns.spans).map_err(failed)?;
        let derived = Derived {
            seal: draft.publish()?,
            seq: store.seq()?,
            file: name,
        };
        store.set_derived(file::NAME, Some(&derived))?;
        file::remove_others(&self.folder, Some(&derived.file))
    }

    /// Returns the stretches of text that may match a pattern.
    pub(crate) fn candidates(&self, store: &Store, pattern: &Pattern) -> Result<Candidates> {
        // First, since it is an error in a forked child, in which the lock may be another's.
        let pointer = store.derived(file::NAME)?;
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        columns.open(&self.folder, &self.key, pointer);
        columns.add_unpublished(store)?;
        match columns.candidates(pattern) {
            Some(found) => Ok(found),
            None => {
                let file = columns.file.as_ref();
                let error = file.map_or(Ok(()), File::require_undamaged);
                columns.refuse(&error.err().unwrap_or(Error::Interrupted));
                Ok(columns.candidates(pattern).unwrap_or_default())
            }
        }
    }
}

impl Columns {
    /// Opens a published file, unless it is the one that was opened last.
    fn open(&mut self, folder: &Path, key: &Key, pointer: Option<Derived>) {
        if self.pointer == pointer {
            return;
        }
        *self = Columns {
            faults: std::mem::take(&mut self.faults),
            ..Columns::default()
        };
        let opened = pointer
            .as_ref()
            .map(|pointer| File::open(folder, key, pointer));
        self.pointer = pointer;
        match opened {
            Some(Ok((file, slabs, spans))) => {
                self.bits = Bits::of_file(slabs);
                (self.file, self.spans) = (Some(file), Arc::new(spans));
            }
            Some(Err(error)) => self.refuse(&error),
            None => {}
        }
    }

    /// Goes on without the file.
    fn refuse(&mut self, error: &Error) {
        self.faults
            .push(format!("{error}; all texts are searched for a pattern"));
        (self.file, self.bits, self.spans) = Default::default();
    }

    /// Returns the number of the last text that has columns; all present ones before it have, too.
    fn last(&self) -> i64 {
        self.spans.last().map_or(0, |span| span.body)
    }

    /// Returns the number of columns of present texts.
    fn live(&self) -> usize {
        let columns = self.spans.iter().filter(|span| span.columns != UNREAD);
        columns.map(|span| span.columns as usize).sum()
    }

    /// Adds columns of texts that have none in memory, as many as take no long time.
    fn add_unpublished(&mut self, store: &Store) -> Result<()> {
        let bodies = store.bodies_after(self.last())?;
        let (mut rest, mut left) = (&bodies[..], ADDED_BYTES / BATCH_BYTES);
        while !rest.is_empty() && left > 0 && self.bits.bytes() < KEPT_BYTES {
            interrupt::check()?;
            rest = &rest[self.add(store, rest)?..];
            left -= 1;
        }
        Ok(())
    }

    /// Adds the columns of the first of some texts, and returns how many these are.
    fn add(&mut self, store: &Store, bodies: &[i64]) -> Result<usize> {
        let texts = store.body_pieces(bodies, BATCH_BYTES)?;
        let whole: Vec<Vec<u8>> = texts
            .iter()
            .map(|pieces| {
                pieces
                    .iter()
                    .flatten()
                    .flat_map(|piece| piece.bytes())
                    .collect()
            })
            .collect();
        let mut stretches: Vec<Vec<&[u8]>> = Vec::new();
        let mut shared = SHARED_BYTES;
        let first_column = self.bits.next();
        let spans = Arc::make_mut(&mut self.spans);
        for ((&body, pieces), whole) in bodies.iter().zip(&texts).zip(&whole) {
            let mut first = first_column + stretches.len();
            let columns = match pieces.as_deref() {
                None => UNREAD,
                Some([_]) => {
                    shared += whole.len();
                    match stretches.last_mut() {
                        Some(last) if shared <= SHARED_BYTES => {
                            last.push(whole);
                            first -= 1;
                        }
                        _ => {
                            stretches.push(vec![whole]);
                            shared = whole.len();
                        }
                    }
                    1
                }
                Some(pieces) => {
                    let mut at = 0;
                    for piece in pieces {
                        let end = whole.len().min(at + piece.len() + OVERLAP);
                        stretches.push(vec![&whole[at..end]]);
                        at += piece.len();
                    }
                    shared = SHARED_BYTES;
                    pieces.len() as u32
                }
            };
            let first = first as u32;
            spans.push(Span {
                body,
                first,
                columns,
            });
        }
        let columns: Vec<Column> = pool::install(|| {
            let stretches = stretches.into_par_iter();
            stretches.map(Column::of).collect()
        });
        columns.iter().for_each(|column| self.bits.push(column));
        Ok(texts.len())
    }
}
