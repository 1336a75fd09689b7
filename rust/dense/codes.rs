//! The file `codes-<n>.int8` or `codes-<n>.binary`: the rows of a generation in a byte or in a bit a
//! value.
//!
//! A scan of codes reads a half or a fourteenth of the bytes of the matrix. It proposes rows; their
//! scores are computed from the matrix and equal those of the exact scan.
//!
//! A row `r` is stored as its difference from the mean `m` of all rows, since the vectors of an
//! embedder have much in common: `<q, r> = <q, m> + <m, r - m> + <q - m, r - m>`. The first summand is
//! the same for all rows, the second is stored, the third is estimated from the code (a bit a value:
//! RaBitQ, Gao and Long 2024, without its random rotation, which changed no recall here).
//!
//! The file consists of a header of 64 bytes (magic, version, dimensions, rows, encoding), the mean,
//! for each row a factor and `<m, r - m>`, and the codes; each part begins at a multiple of 64.

use std::io::Write;
use std::path::Path;

use half::f16;

use super::kernels::{PLANES, kernel_bits, kernel_bytes};
use super::row_set::Selection;
use super::scan::best_rows;
use crate::error::{Error, Result};
use crate::seal::{self, Draft, Key, Seal, Sealed};

const MAGIC: [u8; 8] = *b"crx.code";
const VERSION: u32 = 1;
/// The length of the header and the alignment of the parts, in bytes: a cache line.
const ALIGN: usize = 64;
/// What is added to a value of -127 to 127, so that it is stored without a sign.
const ZERO: f32 = 128.0;
/// Sums of so many products of a byte and of a signed byte fit in 32 bits.
const MAX_DIM: usize = 1 << 16;

/// How the values of a row are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// A byte a value, with a scale a row.
    Int8,
    /// A bit a value: its sign.
    Binary,
}

impl Encoding {
    /// Returns the encoding of this name.
    pub fn of(name: &str) -> Option<Self> {
        [Encoding::Int8, Encoding::Binary]
            .into_iter()
            .find(|encoding| encoding.name() == name)
    }

    /// Returns the name, which is also the ending of the file's name.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Int8 => "int8",
            Encoding::Binary => "binary",
        }
    }

    /// Returns the length of a row in bytes.
    fn stride(self, dim: usize) -> usize {
        match self {
            Encoding::Int8 => dim.next_multiple_of(ALIGN),
            Encoding::Binary => dim.div_ceil(64) * 8,
        }
    }

    /// Returns the number of rows that are proposed for the best `count`.
    ///
    /// On 41,578 vectors of e5 (384 dimensions), queries at a cosine of 0.96 from a row, the proposed
    /// rows held all of the best 150 (int8) and 96% of them (binary), of the best 20 all and 99%.
    fn candidates(self, count: usize) -> usize {
        match self {
            Encoding::Int8 => (2 * count).max(100),
            Encoding::Binary => (8 * count).max(1200),
        }
    }
}

/// The codes of the rows of one generation, mapped into memory.
pub(super) struct Codes {
    map: Sealed,
    pub(super) encoding: Encoding,
    dim: usize,
    rows: usize,
    layout: Layout,
}

/// Where the parts of a file begin, and its length, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    terms: usize,
    codes: usize,
    length: usize,
}

impl Layout {
    /// Returns the layout, or None on overflow.
    fn of(encoding: Encoding, dim: usize, rows: usize) -> Option<Self> {
        let terms = (ALIGN + dim.checked_mul(4)?).checked_next_multiple_of(ALIGN)?;
        let codes = rows.checked_mul(8)?.checked_add(terms)?;
        let codes = codes.checked_next_multiple_of(ALIGN)?;
        let length = rows.checked_mul(encoding.stride(dim))?.checked_add(codes)?;
        Some(Layout {
            terms,
            codes,
            length,
        })
    }
}

/// What is stored of a row besides its code.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Terms {
    /// By which the product of the code and the query is multiplied.
    factor: f32,
    /// `<m, r - m>`.
    offset: f32,
}

impl Codes {
    /// Opens the published codes of so many rows.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal or has other rows; [`Error::System`] if
    /// it cannot be read.
    pub(super) fn open(
        path: &Path,
        key: &Key,
        seal: &Seal,
        encoding: Encoding,
        dim: usize,
        rows: usize,
    ) -> Result<Self> {
        let map = seal::open(path, key, seal)?;
        let layout = Layout::of(encoding, dim, rows);
        match layout {
            Some(layout)
                if map.starts_with(&header(encoding, dim, rows)) && layout.length == map.len() =>
            {
                Ok(Codes {
                    map,
                    encoding,
                    dim,
                    rows,
                    layout,
                })
            }
            _ => Err(Error::Damaged(format!(
                "{}: has other rows than its matrix",
                path.display()
            ))),
        }
    }

    /// Returns the allowed rows that are most likely among the best `count`, in no particular order.
    pub(super) fn search(
        &self,
        query: &[f32],
        count: usize,
        allowed: &impl Selection,
    ) -> Vec<usize> {
        let count = self.encoding.candidates(count);
        let centred: Vec<f32> = query.iter().zip(self.mean()).map(|(q, m)| q - m).collect();
        let terms = self.terms();
        let key_of = |row: usize| row as i64;
        let best = match self.encoding {
            Encoding::Int8 => {
                let query = ByteQuery::new(&centred, self.stride());
                let rows = self.bytes();
                let score = |row: usize| {
                    terms[row].score(query.product(&rows[row * self.stride()..][..self.stride()]))
                };
                best_rows(self.rows, count, score, allowed, key_of)
            }
            Encoding::Binary => {
                let query = BitQuery::new(&centred, self.stride() / 8);
                let (rows, words) = (self.words(), self.stride() / 8);
                let score =
                    |row: usize| terms[row].score(query.product(&rows[row * words..][..words]));
                best_rows(self.rows, count, score, allowed, key_of)
            }
        };
        best.into_rows()
    }

    fn stride(&self) -> usize {
        self.encoding.stride(self.dim)
    }

    fn mean(&self) -> &[f32] {
        // SAFETY: any bits are an f32; `open` has checked the length of the file.
        unsafe { self.values(ALIGN, self.dim) }
    }

    fn terms(&self) -> &[Terms] {
        // SAFETY: as above; two f32 in the order of their declaration.
        unsafe { self.values(self.layout.terms, self.rows) }
    }

    fn bytes(&self) -> &[u8] {
        &self.map[self.layout.codes..]
    }

    fn words(&self) -> &[u64] {
        // SAFETY: as above; the stride of bits is a multiple of 8.
        unsafe { self.values(self.layout.codes, self.rows * self.stride() / 8) }
    }

    /// Returns `count` values that start at byte `at`.
    ///
    /// # Safety
    /// The map must contain them, and any bits must be a valid `T`.
    unsafe fn values<T>(&self, at: usize, count: usize) -> &[T] {
        // Aligned: the map starts at a page and `at` is a multiple of 64.
        let start = self.map[at..].as_ptr().cast::<T>();
        // SAFETY: the caller guarantees the extent; the map lives as long as the slice.
        unsafe { std::slice::from_raw_parts(start, count) }
    }
}

impl Terms {
    /// Returns the estimate of `<q, r>` less `<q, m>`, from the product of the code and the query.
    #[inline(always)]
    fn score(self, product: f32) -> f32 {
        self.factor * product + self.offset
    }
}

/// A query to compare with rows of bytes.
struct ByteQuery {
    sum: fn(&[u8], &[i8]) -> i32,
    values: Vec<i8>,
    scale: f32,
    /// What the zero of the rows adds to each sum.
    zero: i32,
}

impl ByteQuery {
    fn new(query: &[f32], stride: usize) -> Self {
        let scale = largest(query) / 127.0;
        let mut values: Vec<i8> = query
            .iter()
            .map(|value| (value / scale).round() as i8)
            .collect();
        values.resize(stride, 0);
        let zero = values.iter().map(|&value| i32::from(value)).sum::<i32>() * ZERO as i32;
        ByteQuery {
            sum: kernel_bytes(),
            values,
            scale,
            zero,
        }
    }

    #[inline(always)]
    fn product(&self, row: &[u8]) -> f32 {
        ((self.sum)(row, &self.values) - self.zero) as f32 * self.scale
    }
}

/// A query to compare with rows of bits: its values are `low + step n`, of which the bits of `n` are
/// stored by place.
struct BitQuery {
    sums: fn(&[u64], &[u64]) -> u64,
    planes: Vec<u64>,
    low: f32,
    step: f32,
    total: f32,
}

impl BitQuery {
    fn new(query: &[f32], words: usize) -> Self {
        let low = query.iter().copied().fold(f32::INFINITY, f32::min);
        let high = query.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let step = ((high - low) / ((1 << PLANES) - 1) as f32).max(f32::MIN_POSITIVE);
        let mut planes = vec![0u64; PLANES * words];
        for (at, value) in query.iter().enumerate() {
            let level = ((value - low) / step).round() as u64;
            for plane in 0..PLANES {
                planes[plane * words + at / 64] |= (level >> plane & 1) << (at % 64);
            }
        }
        BitQuery {
            sums: kernel_bits(),
            planes,
            low,
            step,
            total: query.iter().sum(),
        }
    }

    /// Returns the product with the signs of a row.
    #[inline(always)]
    fn product(&self, row: &[u64]) -> f32 {
        let sums = (self.sums)(row, &self.planes);
        let above = self.low * (sums >> 32) as f32 + self.step * (sums & 0xffff_ffff) as f32;
        2.0 * above - self.total
    }
}

/// Publishes the codes of rows; returns the seal.
///
/// # Errors
/// [`Error::NoRoom`] or [`Error::System`].
pub(super) fn write(
    path: &Path,
    key: &Key,
    encoding: Encoding,
    dim: usize,
    values: &[f16],
) -> Result<Seal> {
    let mut draft = Draft::new(path, key)?;
    write_to(&mut draft, encoding, dim, values).map_err(|error| Error::io(path, &error))?;
    draft.publish()
}

/// Returns whether rows of so many values have codes.
pub(super) fn has_codes(dim: usize) -> bool {
    dim <= MAX_DIM
}

fn write_to(
    out: &mut impl Write,
    encoding: Encoding,
    dim: usize,
    values: &[f16],
) -> std::io::Result<()> {
    let mut head = header(encoding, dim, values.len() / dim).to_vec();
    head.resize(ALIGN, 0);
    let mean = mean(dim, values);
    head.extend(mean.iter().flat_map(|value| value.to_le_bytes()));
    head.resize(head.len().next_multiple_of(ALIGN), 0);
    let mut codes = Vec::with_capacity(values.len() / dim * encoding.stride(dim));
    let mut row = Vec::with_capacity(dim);
    for values in values.chunks_exact(dim) {
        row.clear();
        row.extend(
            values
                .iter()
                .zip(&mean)
                .map(|(value, mean)| value.to_f32() - mean),
        );
        let factor = match encoding {
            Encoding::Int8 => encode_bytes(&row, &mut codes),
            Encoding::Binary => encode_bits(&row, &mut codes),
        };
        codes.resize(codes.len().next_multiple_of(encoding.stride(dim)), 0);
        let offset: f32 = row
            .iter()
            .zip(&mean)
            .map(|(value, mean)| value * mean)
            .sum();
        head.extend(factor.to_le_bytes());
        head.extend(offset.to_le_bytes());
    }
    head.resize(head.len().next_multiple_of(ALIGN), 0);
    out.write_all(&head)?;
    out.write_all(&codes)
}

fn header(encoding: Encoding, dim: usize, rows: usize) -> [u8; 28] {
    let mut header = [0; 28];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&(dim as u32).to_le_bytes());
    header[16..24].copy_from_slice(&(rows as u64).to_le_bytes());
    header[24..].copy_from_slice(&(encoding as u32).to_le_bytes());
    header
}

/// Returns the mean of rows.
fn mean(dim: usize, values: &[f16]) -> Vec<f32> {
    let mut sums = vec![0.0f64; dim];
    for row in values.chunks_exact(dim) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(value.to_f32());
        }
    }
    let rows = (values.len() / dim).max(1) as f64;
    sums.into_iter().map(|sum| (sum / rows) as f32).collect()
}

/// Appends a byte for each value; returns the factor.
fn encode_bytes(row: &[f32], codes: &mut Vec<u8>) -> f32 {
    let scale = largest(row) / 127.0;
    codes.extend(
        row.iter()
            .map(|value| ((value / scale).round() + ZERO) as u8),
    );
    scale
}

/// Appends a bit for each value; returns the factor, with which the product of the row with itself is
/// estimated without error.
fn encode_bits(row: &[f32], codes: &mut Vec<u8>) -> f32 {
    for values in row.chunks(64) {
        let bits = values.iter().enumerate();
        let word = bits.fold(0u64, |word, (at, &value)| {
            word | u64::from(value > 0.0) << at
        });
        codes.extend(word.to_le_bytes());
    }
    let squares: f32 = row.iter().map(|value| value * value).sum();
    squares
        / row
            .iter()
            .map(|value| value.abs())
            .sum::<f32>()
            .max(f32::MIN_POSITIVE)
}

/// Returns the largest magnitude, or a tiny number if all values are 0.
fn largest(values: &[f32]) -> f32 {
    let largest = values
        .iter()
        .fold(0.0f32, |most, value| most.max(value.abs()));
    largest.max(f32::MIN_POSITIVE * 127.0)
}
