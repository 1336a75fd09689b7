//! Columns of bits: which of many stretches of text may have a trigram.
//!
//! 64 columns are a slab, with one word for each hash of a trigram; 64 slabs are a block. In memory the
//! words of a slab lie together, so that columns are added quickly. In a file the words of a block with
//! the same hash do, so that a search reads 512 bytes of each block for a trigram, and checks no more
//! than a page of the file.

use std::io::{self, Write};
use std::ops::Range;

use super::ROWS;
use super::column::Column;
use crate::seal::Sealed;

/// Bytes of a word.
const WORD: usize = 8;
/// Slabs of a full block.
pub(super) const BLOCK: usize = 64;

/// 64 columns: the word of each hash.
type Slab = Box<[u64]>;

/// The slabs of a file, which begin at its first byte, and those in memory, which follow them.
#[derive(Default)]
pub(super) struct Bits {
    filed: usize,
    slabs: Vec<Slab>,
    /// Columns of the last slab; it is full if there are 64.
    last: usize,
}

impl Bits {
    /// Returns the bits of a file of so many slabs.
    pub(super) fn of_file(slabs: usize) -> Bits {
        Bits {
            filed: slabs,
            ..Bits::default()
        }
    }

    /// Returns the number of slabs.
    pub(super) fn slabs(&self) -> usize {
        self.filed + self.slabs.len()
    }

    /// Returns the bytes of the slabs in memory.
    pub(super) fn bytes(&self) -> usize {
        self.slabs.len() * ROWS * WORD
    }

    /// Returns the number of the column that is added next.
    pub(super) fn next(&self) -> usize {
        match self.slabs.is_empty() {
            true => 64 * self.filed,
            false => 64 * (self.slabs() - 1) + self.last,
        }
    }

    /// Adds a column.
    pub(super) fn push(&mut self, column: &Column) {
        if self.slabs.is_empty() || self.last == 64 {
            self.slabs.push(vec![0; ROWS].into_boxed_slice());
            self.last = 0;
        }
        if let Some(slab) = self.slabs.last_mut() {
            column.rows().for_each(|row| slab[row] |= 1 << self.last);
        }
        self.last += 1;
    }

    /// Adds to each word of `found`, which are the slabs', the columns that have a trigram of this
    /// hash. Returns None if the file is damaged.
    pub(super) fn add_row(
        &self,
        file: Option<&Sealed>,
        row: usize,
        found: &mut [u64],
    ) -> Option<()> {
        let (filed, own) = found.split_at_mut(self.filed);
        for (block, words) in filed.chunks_mut(BLOCK).enumerate() {
            let bytes = self.row_bytes(block, row);
            let file = file.filter(|file| bytes.end <= file.len() && file.check(bytes.clone()))?;
            for (word, bytes) in words.iter_mut().zip(file[bytes].chunks_exact(WORD)) {
                *word |= bytes.try_into().map_or(u64::MAX, u64::from_le_bytes);
            }
        }
        for (word, slab) in own.iter_mut().zip(&self.slabs) {
            *word |= slab[row];
        }
        Some(())
    }

    /// Returns the bytes of the words of a hash in a block of the file.
    fn row_bytes(&self, block: usize, row: usize) -> Range<usize> {
        let slabs = (self.filed - block * BLOCK).min(BLOCK);
        let start = WORD * (block * BLOCK * ROWS + row * slabs);
        start..start + WORD * slabs
    }

    /// Writes the full blocks of the file, and moves its last one to memory if that is not full, so
    /// that columns can be added to it.
    ///
    /// The file is one whose bytes were all checked.
    pub(super) fn write_filed(&mut self, file: &[u8], out: &mut impl Write) -> io::Result<()> {
        let kept = self.filed / BLOCK * BLOCK;
        let bytes = WORD * ROWS * kept;
        out.write_all(file.get(..bytes).unwrap_or_default())?;
        let rest = self.filed - kept;
        let mut moved: Vec<Slab> = (0..rest)
            .map(|_| vec![0; ROWS].into_boxed_slice())
            .collect();
        let words = file.get(bytes..).unwrap_or_default().chunks_exact(WORD);
        for (at, bytes) in words.take(rest * ROWS).enumerate() {
            let word = bytes.try_into().map_or(u64::MAX, u64::from_le_bytes);
            moved[at % rest][at / rest] = word;
        }
        self.filed = kept;
        self.slabs = moved;
        // What the last slab lacks stays empty.
        self.last = 64;
        Ok(())
    }

    /// Writes the slabs in memory as blocks and forgets them: all, or only full blocks.
    pub(super) fn write_own(&mut self, out: &mut impl Write, all: bool) -> io::Result<()> {
        let count = match all {
            true => self.slabs.len(),
            false => self.slabs.len().saturating_sub(1) / BLOCK * BLOCK,
        };
        let written: Vec<Slab> = self.slabs.drain(..count).collect();
        self.filed += count;
        for block in written.chunks(BLOCK) {
            for row in 0..ROWS {
                for slab in block {
                    out.write_all(&slab[row].to_le_bytes())?;
                }
            }
        }
        Ok(())
    }
}
