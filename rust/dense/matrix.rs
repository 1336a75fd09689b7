//! The file `vectors-<n>.f16`: the rows of a generation, with their chunks and documents.
//!
//! It consists of a header of 64 bytes (magic, version, dimensions, rows, sequence number), the
//! chunks' keys, their documents, and from the next multiples of 64 the codes of 8 bits (see
//! [`codes`](super::codes)), their scales, and the rows: all little-endian, in document order.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use super::codes::{Codes, Scale, encode};
use crate::error::{Error, Result};
use crate::seal::{Draft, Key, Seal, Sealed};
use half::f16;

const MAGIC: [u8; 8] = *b"crx.f16\0";
const VERSION: u32 = 2;
/// The length of the header and the alignment of codes, scales and rows, in bytes: a cache line.
const ALIGN: usize = 64;

const _: () = assert!(
    cfg!(target_endian = "little"),
    "the mapped file is read without byte swaps"
);

/// The rows of a generation, mapped into memory.
///
/// The values of a row may be used after [`Matrix::check_row`] or [`Matrix::check`].
pub struct Matrix {
    map: Sealed,
    dim: usize,
    rows: usize,
    seq: i64,
    /// The first row of each document; found at the first search with a filter.
    starts: OnceLock<Vec<usize>>,
}

impl Matrix {
    /// Opens a published file, after checking its header, keys and documents.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal or has a bad header; [`Error::System`]
    /// if it cannot be read.
    pub fn open(path: &Path, key: &Key, seal: &Seal) -> Result<Self> {
        let map = Sealed::open(path, key, seal)?;
        map.check(0..ALIGN.min(map.len()));
        map.require_undamaged()?;
        let damaged = || Error::Damaged(format!("{}: not a matrix of vectors", path.display()));
        let header = map.first_chunk::<ALIGN>().ok_or_else(damaged)?;
        let word = |at: usize| -> [u8; 8] { std::array::from_fn(|byte| header[at + byte]) };
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
        let (dim, rows) = (half(12) as usize, u64::from_le_bytes(word(16)) as usize);
        let known = header.starts_with(&MAGIC) && half(8) == VERSION && dim > 0;
        let length = rows
            .checked_mul(dim)
            .and_then(|values| values.checked_mul(2))
            .and_then(|bytes| bytes.checked_add(rows_at(rows, dim)?));
        if !known || length != Some(map.len()) {
            return Err(damaged());
        }
        map.check(0..codes_at(rows).unwrap_or(ALIGN));
        map.require_undamaged()?;
        Ok(Matrix {
            dim,
            rows,
            seq: i64::from_le_bytes(word(24)),
            map,
            starts: OnceLock::new(),
        })
    }

    /// Checks all values, once.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal.
    pub fn check(&self) -> Result<()> {
        match self.map.is_checked() {
            true => self.require_undamaged(),
            false => self.map.check_all(),
        }
    }

    /// Checks all codes and scales.
    ///
    /// # Errors
    /// [`Error::Damaged`] if one is not as it was written.
    pub fn check_codes(&self) -> Result<()> {
        self.map.check(self.codes_at()..self.rows_at());
        self.require_undamaged()
    }

    /// Returns whether the values of a row are as they were written.
    #[inline]
    pub fn check_row(&self, row: usize) -> bool {
        let at = self.rows_at() + row * self.dim * size_of::<f16>();
        self.map.check(at..at + self.dim * size_of::<f16>())
    }

    /// # Errors
    /// [`Error::Damaged`] if a row that was checked is not as it was written.
    pub fn require_undamaged(&self) -> Result<()> {
        self.map.require_undamaged()
    }

    /// Returns the number of values in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the store's sequence number that it reflects.
    pub fn seq(&self) -> i64 {
        self.seq
    }

    /// Returns the chunk of each row.
    pub fn keys(&self) -> &[i64] {
        // SAFETY: any bits are an i64; `open` has checked that the file contains so many.
        unsafe { self.values(ALIGN, self.rows) }
    }

    /// Returns the document of each row, ascending.
    pub fn docs(&self) -> &[i64] {
        // SAFETY: as above.
        unsafe { self.values(ALIGN + self.rows * 8, self.rows) }
    }

    /// Returns each document with its rows, in ascending order.
    pub fn documents(&self) -> impl Iterator<Item = (i64, Range<usize>)> {
        let docs = self.docs();
        let starts = self.starts.get_or_init(|| {
            let is_first = |row: &usize| *row == 0 || docs[*row - 1] != docs[*row];
            (0..docs.len()).filter(is_first).collect()
        });
        let ends = starts.iter().skip(1).copied().chain([docs.len()]);
        let rows = starts.iter().zip(ends);
        rows.map(|(&start, end)| (docs[start], start..end))
    }

    /// Returns all values, row by row.
    pub fn all_values(&self) -> &[f16] {
        // SAFETY: any bits are an f16; `open` has checked that the file contains so many.
        unsafe { self.values(self.rows_at(), self.rows * self.dim) }
    }

    /// Returns the codes of all rows, which may be used after [`Matrix::check_codes`].
    pub fn codes(&self) -> Codes<'_> {
        let scales = scales_at(self.rows, self.dim).unwrap_or(ALIGN);
        // SAFETY: any bits are a code and a scale; `open` has checked that the file contains so many.
        unsafe {
            Codes {
                values: self.values(self.codes_at(), self.rows * self.dim),
                scales: self.values(scales, self.rows),
            }
        }
    }

    fn codes_at(&self) -> usize {
        codes_at(self.rows).unwrap_or(ALIGN)
    }

    fn rows_at(&self) -> usize {
        rows_at(self.rows, self.dim).unwrap_or(ALIGN)
    }

    /// Returns the values of one row.
    pub fn row(&self, row: usize) -> &[f16] {
        &self.all_values()[row * self.dim..][..self.dim]
    }

    /// Returns `count` values that start at byte `at`.
    ///
    /// # Safety
    /// The map must contain them, and any bits must be a valid `T`.
    unsafe fn values<T>(&self, at: usize, count: usize) -> &[T] {
        // Aligned: the map starts at a page and `at` is a multiple of 8.
        let start = self.map[at..].as_ptr().cast::<T>();
        // SAFETY: the caller guarantees the extent; the map lives as long as the slice.
        unsafe { std::slice::from_raw_parts(start, count) }
    }
}

/// Returns the byte at which the codes begin, or None on overflow.
fn codes_at(rows: usize) -> Option<usize> {
    after(ALIGN, rows, 16)
}

/// Returns the byte at which the scales begin, or None on overflow.
fn scales_at(rows: usize, dim: usize) -> Option<usize> {
    after(codes_at(rows)?, rows, dim)
}

/// Returns the byte at which the rows begin, or None on overflow.
fn rows_at(rows: usize, dim: usize) -> Option<usize> {
    after(scales_at(rows, dim)?, rows, size_of::<Scale>())
}

/// Returns the aligned byte after `count` objects of `size` bytes that begin at `start`.
fn after(start: usize, count: usize, size: usize) -> Option<usize> {
    count
        .checked_mul(size)?
        .checked_add(start)?
        .checked_next_multiple_of(ALIGN)
}

/// A row to write.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The chunk.
    pub key: i64,
    /// Its document.
    pub doc: i64,
    /// `dim` values.
    pub values: &'a [f16],
}

/// Publishes rows, which are in document order; returns the seal.
///
/// # Errors
/// [`Error::NoRoom`] or [`Error::System`].
pub fn write(path: &Path, key: &Key, dim: usize, seq: i64, rows: &[Row<'_>]) -> Result<Seal> {
    let mut draft = Draft::new(path, key)?;
    write_to(&mut draft, dim, seq, rows).map_err(|error| Error::io(path, &error))?;
    draft.publish()
}

fn write_to(out: &mut impl Write, dim: usize, seq: i64, rows: &[Row<'_>]) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(ALIGN + rows.len() * 16 + ALIGN);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((dim as u32).to_le_bytes());
    bytes.extend((rows.len() as u64).to_le_bytes());
    bytes.extend(seq.to_le_bytes());
    bytes.resize(ALIGN, 0);
    bytes.extend(rows.iter().flat_map(|row| row.key.to_le_bytes()));
    bytes.extend(rows.iter().flat_map(|row| row.doc.to_le_bytes()));
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    out.write_all(&bytes)?;
    let mut scales = Vec::with_capacity(rows.len());
    for row in rows {
        bytes.clear();
        scales.push(encode(row.values, &mut bytes));
        out.write_all(&bytes)?;
    }
    let filled = rows.len() * dim;
    bytes.clear();
    bytes.resize(filled.next_multiple_of(ALIGN) - filled, 0);
    bytes.extend(scales.iter().flat_map(|scale| scale.to_bytes()));
    let filled = scales.len() * size_of::<Scale>();
    bytes.resize(bytes.len() + filled.next_multiple_of(ALIGN) - filled, 0);
    out.write_all(&bytes)?;
    for row in rows {
        bytes.clear();
        bytes.extend(row.values.iter().flat_map(|value| value.to_le_bytes()));
        out.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const KEY: Key = [3; 32];

    #[test]
    fn a_written_matrix_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors-1.f16");
        let values: Vec<f16> = (0..9).map(|value| f16::from_f32(value as f32)).collect();
        let rows: Vec<Row<'_>> = (0..3usize)
            .map(|row| Row {
                key: 10 - row as i64,
                doc: row as i64,
                values: &values[row * 3..][..3],
            })
            .collect();
        let seal = write(&path, &KEY, 3, 42, &rows).unwrap();
        let matrix = Matrix::open(&path, &KEY, &seal).unwrap();
        matrix.check().unwrap();
        assert_eq!((matrix.dim(), matrix.rows(), matrix.seq()), (3, 3, 42));
        assert_eq!(
            (matrix.keys(), matrix.docs()),
            (&[10, 9, 8][..], &[0, 1, 2][..])
        );
        assert_eq!(
            (matrix.all_values(), matrix.row(2)),
            (&values[..], &values[6..])
        );
        assert_eq!(matrix.all_values().as_ptr() as usize % ALIGN, 0);
        matrix.check_codes().unwrap();
        let mut codes = Vec::new();
        let scales: Vec<Scale> = values
            .chunks(3)
            .map(|row| encode(row, &mut codes))
            .collect();
        let codes: Vec<i8> = codes.into_iter().map(u8::cast_signed).collect();
        assert_eq!(
            (matrix.codes().values, matrix.codes().scales),
            (&codes[..], &scales[..])
        );
    }

    #[test]
    fn damage_is_found_in_the_head_at_once_and_in_a_row_when_it_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors-1.f16");
        let (dim, count) = (384, 200);
        let values = vec![f16::ONE; dim];
        let row = |row: i64| Row {
            key: row,
            doc: row,
            values: &values,
        };
        let rows: Vec<Row<'_>> = (0..count).map(row).collect();
        let seal = write(&path, &KEY, dim, 1, &rows).unwrap();
        let good = std::fs::read(&path).unwrap();
        let damage = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
        };
        for at in [0, 70, good.len() - 1] {
            damage(at);
            assert!(Matrix::open(&path, &KEY, &seal).is_err(), "byte {at}");
        }
        damage(good.len() / 2);
        let matrix = Matrix::open(&path, &KEY, &seal).unwrap();
        assert!(matrix.check_row(0) && matrix.require_undamaged().is_ok());
        assert!(!(0..matrix.rows()).all(|row| matrix.check_row(row)));
        assert!(matrix.require_undamaged().is_err() && matrix.check().is_err());
    }

    #[test]
    fn a_sealed_file_of_another_shape_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors-1.f16");
        let seal = write(&path, &KEY, 4, 1, &[]).unwrap();
        assert_eq!(Matrix::open(&path, &KEY, &seal).unwrap().rows(), 0);
        let good = Sealed::open(&path, &KEY, &seal).unwrap().to_vec();
        for at in 0..24 {
            let mut bytes = good.clone();
            bytes[at] ^= 0x55;
            let mut draft = Draft::new(&path, &KEY).unwrap();
            draft.write_all(&bytes).unwrap();
            let seal = draft.publish().unwrap();
            // Without rows, any number of dimensions above 0 is valid.
            let refused = matches!(Matrix::open(&path, &KEY, &seal), Err(Error::Damaged(_)));
            assert_eq!(refused, !(12..16).contains(&at), "byte {at}");
        }
    }
}
