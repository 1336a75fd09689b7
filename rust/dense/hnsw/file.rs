//! The file `ann-<n>.hnsw`: the layers of a graph.
//!
//! It consists of a header of 64 bytes (magic, version, links, rows, layers, entry, duplicates), the
//! number of rows of each layer above the lowest, the rows and then the lists of neighbours of each of
//! these layers, the duplicates, and the lists of the lowest layer: all little-endian, each part from a
//! multiple of 64. A list that is not full ends with `NONE`. A duplicate is a pair of rows of equal
//! bits, the first such row and a later one, which is in no list; the pairs are ascending.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use super::graph::{Duplicate, Graph, position};
use super::walk::{LINKS, Links};
use crate::dense::kernels::prefetch;
use crate::error::{Error, Result};
use crate::seal::{Draft, Key, Seal, Sealed};

const MAGIC: [u8; 8] = *b"crx.hnsw";
const VERSION: u32 = 2;
/// The length of the header and the alignment of the parts, in bytes: a cache line.
const ALIGN: usize = 64;
/// No graph has more layers: each has a sixteenth of the rows of the one below.
const MAX_LAYERS: usize = 17;

/// A graph in a mapped file.
///
/// All but the lowest layer, nearly all of the file, is checked when it is opened; a list of the
/// lowest one is checked when it is read.
pub(super) struct GraphFile {
    map: Sealed,
    pub(super) entry: u32,
    /// The layers above the lowest, from the one above it.
    upper: Vec<Part>,
    duplicates: Range<usize>,
    /// A bit a row: whether it has duplicates. Empty if no row has any.
    has_duplicates: Vec<u64>,
    lowest: usize,
}

/// Where the rows and the lists of a layer are, in bytes.
struct Part {
    rows: Range<usize>,
    lists: usize,
}

impl GraphFile {
    /// Opens the published graph of so many rows.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal or has other rows; [`Error::System`] if
    /// it cannot be read.
    pub(super) fn open(path: &Path, key: &Key, seal: &Seal, rows: usize) -> Result<Self> {
        let map = Sealed::open(path, key, seal)?;
        let damaged = || Error::Damaged(format!("{}: not a graph of its matrix", path.display()));
        map.check(0..ALIGN.min(map.len()));
        map.require_undamaged()?;
        let head = map.first_chunk::<ALIGN>().ok_or_else(damaged)?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let (layers, entry, duplicates) = (word(24) as usize, word(28), word(32) as usize);
        if head[..24] != header(rows, 0, 0, 0)[..24] || layers > MAX_LAYERS || rows == 0 {
            return Err(damaged());
        }
        let counts = ALIGN..ALIGN + 8 * layers;
        if counts.end > map.len() || entry as usize >= rows {
            return Err(damaged());
        }
        map.check(counts.clone());
        map.require_undamaged()?;
        let (counts, _) = map[counts].as_chunks::<8>();
        let mut end = (ALIGN + 8 * layers).next_multiple_of(ALIGN);
        let mut upper = Vec::with_capacity(layers);
        for &count in counts {
            let count = usize::try_from(u64::from_le_bytes(count)).map_err(|_| damaged())?;
            if count == 0 || count > rows {
                return Err(damaged());
            }
            let lists = (end + 4 * count).next_multiple_of(ALIGN);
            upper.push(Part {
                rows: end..end + 4 * count,
                lists,
            });
            end = (lists + 4 * count * LINKS).next_multiple_of(ALIGN);
        }
        let duplicates = end..end + 8 * duplicates;
        end = duplicates.end.next_multiple_of(ALIGN);
        let length = rows
            .checked_mul(8 * LINKS)
            .and_then(|bytes| bytes.checked_add(end));
        if length != Some(map.len()) {
            return Err(damaged());
        }
        map.check(0..end);
        map.require_undamaged()?;
        let mut file = GraphFile {
            map,
            entry,
            upper,
            duplicates,
            has_duplicates: Vec::new(),
            lowest: end,
        };
        if !file.duplicates.is_empty() {
            file.has_duplicates = file.marked_duplicates(rows).ok_or_else(damaged)?;
        }
        Ok(file)
    }

    /// Returns a bit a row, whether it has duplicates; `None` if the pairs are not those of a graph.
    fn marked_duplicates(&self, rows: usize) -> Option<Vec<u64>> {
        let (mut firsts, mut later) = (vec![0; rows.div_ceil(64)], vec![0; rows.div_ceil(64)]);
        let bit = |row: u32| (row as usize / 64, 1u64 << (row % 64));
        let (pairs, _) = self.numbers(self.duplicates.clone()).as_chunks::<2>();
        for &[first, row] in pairs {
            if first >= row || row as usize >= rows {
                return None;
            }
            let (word, mask) = bit(row);
            if later[word] & mask != 0 {
                return None;
            }
            later[word] |= mask;
            let (word, mask) = bit(first);
            firsts[word] |= mask;
        }
        let apart = firsts.iter().zip(&later).all(|(a, b)| a & b == 0);
        (apart && pairs.is_sorted()).then_some(firsts)
    }

    /// Returns the rows that are equal to a linked one, after it.
    #[inline]
    pub(super) fn duplicates(&self, row: usize) -> impl Iterator<Item = usize> {
        let word = self.has_duplicates.get(row / 64);
        let pairs = match word.is_some_and(|word| word >> (row % 64) & 1 == 1) {
            true => self.numbers(self.duplicates.clone()).as_chunks::<2>().0,
            false => &[],
        };
        let of_row = &pairs[pairs.partition_point(|pair| (pair[0] as usize) < row)..];
        of_row
            .iter()
            .take_while(move |pair| pair[0] as usize == row)
            .map(|pair| pair[1] as usize)
    }

    /// Returns the highest layer.
    pub(super) fn top(&self) -> usize {
        self.upper.len()
    }

    /// Checks all lists.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file does not match its seal.
    pub(super) fn check(&self) -> Result<()> {
        self.map.check_all()
    }

    /// # Errors
    /// [`Error::Damaged`] if a list that was read is not as it was written.
    pub(super) fn require_undamaged(&self) -> Result<()> {
        self.map.require_undamaged()
    }

    /// Returns the numbers in a range of bytes.
    #[inline]
    fn numbers(&self, bytes: Range<usize>) -> &[u32] {
        let bytes = &self.map[bytes];
        // SAFETY: any bits are a u32; the map starts at a page, and all parts at a multiple of 64.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / 4) }
    }

    /// Returns the bytes of a row's list in the lowest layer.
    #[inline]
    fn list(&self, row: u32) -> Range<usize> {
        let at = self.lowest + row as usize * 8 * LINKS;
        at..at + 8 * LINKS
    }
}

impl Links for GraphFile {
    #[inline]
    fn of(&self, layer: usize, row: u32) -> &[u32] {
        let Some(above) = layer.checked_sub(1) else {
            let list = self.list(row);
            // What is damaged has no neighbours, and the search fails when it has ended.
            return match self.map.check(list.clone()) {
                true => self.numbers(list),
                false => &[],
            };
        };
        let part = &self.upper[above];
        let at = position(self.numbers(part.rows.clone()), row);
        at.map_or(&[], |at| {
            let at = part.lists + 4 * LINKS * at;
            self.numbers(at..at + 4 * LINKS)
        })
    }

    #[inline]
    fn prefetch(&self, row: u32) {
        prefetch(&self.map[self.list(row)]);
    }
}

/// Publishes a graph; returns the seal.
///
/// # Errors
/// [`Error::NoRoom`] or [`Error::System`].
pub(super) fn write(path: &Path, key: &Key, graph: &Graph, rows: usize) -> Result<Seal> {
    let mut draft = Draft::new(path, key)?;
    write_to(&mut draft, graph, rows).map_err(|error| Error::io(path, &error))?;
    draft.publish()
}

fn write_to(out: &mut impl Write, graph: &Graph, rows: usize) -> std::io::Result<()> {
    let (lowest, upper) = graph.layers.split_at(1);
    let duplicates = &graph.duplicates;
    out.write_all(&header(rows, upper.len(), graph.entry, duplicates.len()))?;
    let counts = upper.iter().map(|layer| layer.rows.len() as u64);
    write_part(out, counts.flat_map(u64::to_le_bytes))?;
    for layer in upper {
        write_part(out, layer.rows.iter().flat_map(|row| row.to_le_bytes()))?;
        write_part(out, layer.links.iter().flat_map(|row| row.to_le_bytes()))?;
    }
    let pairs = duplicates
        .iter()
        .map(|&Duplicate { first, row }| [first, row]);
    write_part(out, pairs.flatten().flat_map(|row| row.to_le_bytes()))?;
    for lists in lowest.iter().flat_map(|layer| layer.links.chunks(1 << 16)) {
        write_part(out, lists.iter().flat_map(|row| row.to_le_bytes()))?;
    }
    Ok(())
}

/// Writes bytes, and zeros up to a multiple of [`ALIGN`].
fn write_part(out: &mut impl Write, bytes: impl Iterator<Item = u8>) -> std::io::Result<()> {
    let mut part: Vec<u8> = bytes.collect();
    part.resize(part.len().next_multiple_of(ALIGN), 0);
    out.write_all(&part)
}

fn header(rows: usize, layers: usize, entry: u32, duplicates: usize) -> [u8; ALIGN] {
    let mut header = [0; ALIGN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&(LINKS as u32).to_le_bytes());
    header[16..24].copy_from_slice(&(rows as u64).to_le_bytes());
    header[24..28].copy_from_slice(&(layers as u32).to_le_bytes());
    header[28..32].copy_from_slice(&entry.to_le_bytes());
    header[32..36].copy_from_slice(&(duplicates as u32).to_le_bytes());
    header
}
