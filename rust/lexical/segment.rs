//! One tantivy segment, opened, with the exact lengths of its chunks in memory.

use std::sync::{Arc, OnceLock};

use tantivy::columnar::ColumnValues;
use tantivy::error::DataCorruption;
use tantivy::fastfield::AliveBitSet;
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::{InvertedIndexReader, Opstamp, SegmentReader};

use super::bm25::FIELDS;
use super::schema::{DOC, Fields, KEY, NAMES, length_name};
use super::term_text::TermText;

/// A segment with its last deletion: equal identities mean equal content.
pub(super) type Identity = (SegmentId, Option<Opstamp>);

/// An open segment; a chunk is addressed by tantivy's document id in it.
pub(super) struct Segment {
    pub(super) identity: Identity,
    pub(super) terms: [Option<Arc<InvertedIndexReader>>; FIELDS],
    /// The terms of each field as one text, which the first search in it makes.
    pub(super) term_texts: [OnceLock<TermText>; FIELDS],
    /// The number of terms of each chunk; empty if no chunk has terms in that field.
    pub(super) lengths: [Vec<u32>; FIELDS],
    pub(super) max_doc: u32,
    alive: Option<AliveBitSet>,
    keys: Arc<dyn ColumnValues<i64>>,
    /// The chunks in ascending order of their keys; empty if that is their order in the segment.
    by_key: OnceLock<Vec<u32>>,
    docs: Arc<dyn ColumnValues<i64>>,
}

/// Returns the identity of a segment.
pub(super) fn identity(meta: &SegmentMeta) -> Identity {
    (meta.id(), meta.delete_opstamp())
}

impl Segment {
    /// Opens a segment.
    pub(super) fn open(stored: &tantivy::Segment, fields: &Fields) -> tantivy::Result<Segment> {
        let reader = SegmentReader::open(stored)?;
        let fast = reader.fast_fields();
        let max_doc = reader.max_doc();
        let keys = fast.column_first_or_default::<i64>(KEY)?;
        // The commit, which has the number of chunks, has no checksum; the column of keys has one.
        if keys.num_vals() != max_doc {
            let why = "a segment has another number of chunks than its commit";
            return Err(DataCorruption::comment_only(why).into());
        }
        let mut terms = [const { None }; FIELDS];
        let mut lengths = [const { Vec::new() }; FIELDS];
        for (i, name) in NAMES.into_iter().enumerate() {
            let Some(field) = fields.terms[i] else {
                continue;
            };
            let column = fast.column_first_or_default::<u64>(&length_name(name))?;
            if column.max_value() > 0 {
                terms[i] = Some(reader.inverted_index(field)?);
                lengths[i] = (0..max_doc).map(|doc| column.get_val(doc) as u32).collect();
            }
        }
        Ok(Segment {
            identity: identity(stored.meta()),
            terms,
            term_texts: Default::default(),
            lengths,
            max_doc,
            alive: reader.alive_bitset().cloned(),
            keys,
            by_key: OnceLock::new(),
            docs: fast.column_first_or_default(DOC)?,
        })
    }

    /// Iterates over the chunks that are not deleted.
    pub(super) fn live(&self) -> impl Iterator<Item = u32> {
        (0..self.max_doc).filter(|&doc| self.is_live(doc))
    }

    /// Returns whether a chunk is not deleted.
    #[inline]
    pub(super) fn is_live(&self, doc: u32) -> bool {
        self.alive.as_ref().is_none_or(|alive| alive.is_alive(doc))
    }

    /// Returns the key of a chunk.
    pub(super) fn key(&self, doc: u32) -> i64 {
        self.keys.get_val(doc)
    }

    /// Returns the chunk with a key, live or deleted.
    pub(super) fn find(&self, key: i64) -> Option<u32> {
        let by_key = self.by_key.get_or_init(|| self.sort_by_key());
        let at = |row: u32| by_key.get(row as usize).copied().unwrap_or(row);
        find_sorted(self.max_doc, |row| self.key(at(row)), key).map(at)
    }

    fn sort_by_key(&self) -> Vec<u32> {
        let keys: Vec<i64> = self.keys.iter().collect();
        if keys.is_sorted() {
            return Vec::new();
        }
        let mut docs: Vec<u32> = (0..self.max_doc).collect();
        docs.sort_by_key(|&doc| keys[doc as usize]);
        docs
    }

    /// Returns the store's document of a chunk.
    pub(super) fn doc(&self, doc: u32) -> i64 {
        self.docs.get_val(doc)
    }

    /// Returns the lengths of a chunk's fields, in terms.
    pub(super) fn lengths(&self, doc: u32) -> [u64; FIELDS] {
        std::array::from_fn(|field| {
            u64::from(self.lengths[field].get(doc as usize).copied().unwrap_or(0))
        })
    }
}

/// Returns the first of some numbers in order that is a key.
fn find_sorted(count: u32, number: impl Fn(u32) -> i64, key: i64) -> Option<u32> {
    let (mut first, mut end) = (0, count);
    // Where most numbers follow each other, a key is as far from the first as it is greater.
    if count > 0
        && let Some(beyond) = key.checked_sub(number(0))
        && let Ok(near) = u32::try_from(beyond)
        && near < count
    {
        let found = number(near);
        if found == key && (near == 0 || number(near - 1) < key) {
            return Some(near);
        }
        match found < key {
            true => first = near + 1,
            false => end = near,
        }
    }
    while first < end {
        let middle = first + (end - first) / 2;
        if number(middle) < key {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    (first < count && number(first) == key).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_among_numbers_with_and_without_gaps() {
        let lists: [&[i64]; 7] = [
            &[],
            &[5],
            &[3, 4, 5, 6],
            &[1, 2, 5, 6, 7, 20],
            &[1, 1, 1, 2, 2, 9],
            &[1, 3, 3, 3],
            &[-4, -3, 0, i64::MAX],
        ];
        for numbers in lists {
            for key in (-5..25).chain([i64::MIN, i64::MAX]) {
                let at = |row: u32| numbers[row as usize];
                let found = find_sorted(numbers.len() as u32, at, key);
                let first = numbers.iter().position(|&number| number == key);
                assert_eq!(found, first.map(|at| at as u32), "{key} in {numbers:?}");
            }
        }
    }
}
