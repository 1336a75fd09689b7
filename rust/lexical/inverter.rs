//! Postings in memory: chunks are collected here until they are written as one segment.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::bm25::FIELDS;
use crate::interner::Interner;

/// Bytes beside the term itself that a term takes in [`Inverter`], roughly: its entry in the table
/// and one list of postings.
const TERM_OVERHEAD: usize = 128;

/// Bytes that one chunk takes beside its postings.
const ROW_BYTES: usize = 16 + 4 * FIELDS;

/// The chunks of one segment. A chunk's row is its position, and tantivy's document id in the
/// segment.
#[derive(Default)]
pub(super) struct Inverter {
    terms: Interner,
    fields: [FieldPostings; FIELDS],
    keys: Vec<i64>,
    /// Each document with its rows.
    docs: Vec<(i64, Range<u32>)>,
    held: FxHashSet<i64>,
    bytes: usize,
}

/// The postings of one field.
#[derive(Default)]
pub(super) struct FieldPostings {
    /// The postings by the number of the term, as far as the field has had terms.
    lists: Vec<PostingList>,
    lengths: Vec<u32>,
}

/// The postings of one term: for each row, its distance from the row before and the frequency,
/// as variable-length integers. The last posting is kept apart, as its frequency may still grow.
#[derive(Default)]
struct PostingList {
    encoded: Vec<u8>,
    /// The row before the last one.
    before: u32,
    row: u32,
    /// The frequency in the last row; 0 if there is no posting.
    frequency: u32,
    count: u32,
}

impl Inverter {
    /// Returns whether there are no chunks.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of chunks.
    pub(super) fn len(&self) -> u32 {
        self.keys.len() as u32
    }

    /// Returns whether a document has chunks here.
    pub(super) fn has(&self, doc: i64) -> bool {
        self.held.contains(&doc)
    }

    /// Returns the bytes of memory that are used, roughly.
    pub(super) fn memory(&self) -> usize {
        self.bytes
    }

    /// Returns the number of a term.
    pub(super) fn number(&mut self, term: &[u8]) -> u32 {
        let count = self.terms.len();
        let number = self.terms.intern(term);
        if self.terms.len() > count {
            self.bytes += term.len() + TERM_OVERHEAD;
        }
        number
    }

    /// Adds a chunk of a document with the numbers of its terms, by field. The chunks of a document
    /// follow each other.
    pub(super) fn add(&mut self, doc: i64, key: i64, fields: [&[u32]; FIELDS]) {
        let row = self.len();
        match self.docs.last_mut() {
            Some((last, rows)) if *last == doc => rows.end = row + 1,
            _ => {
                self.docs.push((doc, row..row + 1));
                self.held.insert(doc);
            }
        }
        self.keys.push(key);
        self.bytes += ROW_BYTES;
        for (postings, numbers) in self.fields.iter_mut().zip(fields) {
            postings.lengths.push(numbers.len() as u32);
            if let Some(&highest) = numbers.iter().max() {
                postings.reserve(highest as usize + 1);
            }
            for &number in numbers {
                self.bytes += postings.lists[number as usize].add(row);
            }
        }
    }

    /// Returns the terms in the order of their bytes, with their numbers.
    pub(super) fn sorted_terms(&self) -> Vec<(&[u8], u32)> {
        let mut terms: Vec<_> = (0..self.terms.len() as u32)
            .map(|number| (self.terms.word(number), number))
            .collect();
        terms.sort_unstable();
        terms
    }

    /// Returns the documents in the order of their rows.
    pub(super) fn docs(&self) -> &[(i64, Range<u32>)] {
        &self.docs
    }

    /// Returns the postings of a field.
    pub(super) fn field(&self, field: usize) -> &FieldPostings {
        &self.fields[field]
    }

    /// Returns the key of each chunk.
    pub(super) fn keys(&self) -> &[i64] {
        &self.keys
    }
}

impl FieldPostings {
    /// Makes room for the postings of this many terms.
    fn reserve(&mut self, terms: usize) {
        if terms > self.lists.len() {
            self.lists.resize_with(terms, PostingList::default);
        }
    }

    /// Returns the number of terms of each chunk.
    pub(super) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Returns the number of terms of all chunks.
    pub(super) fn total(&self) -> u64 {
        self.lengths.iter().map(|&length| u64::from(length)).sum()
    }

    /// Returns the number of chunks with a term.
    pub(super) fn doc_freq(&self, number: u32) -> u32 {
        self.lists.get(number as usize).map_or(0, |list| list.count)
    }

    /// Calls a function with the row and the frequency of each posting of a term, in the order of
    /// rows.
    pub(super) fn for_each(&self, number: u32, mut visit: impl FnMut(u32, u32)) {
        if let Some(list) = self.lists.get(number as usize) {
            list.for_each(&mut visit);
        }
    }
}

impl PostingList {
    /// Adds an occurrence of the term; returns how many bytes were written.
    #[inline]
    fn add(&mut self, row: u32) -> usize {
        if self.frequency > 0 && self.row == row {
            self.frequency += 1;
            return 0;
        }
        let size = self.encoded.len();
        self.close();
        (self.row, self.frequency) = (row, 1);
        self.count += 1;
        self.encoded.len() - size
    }

    /// Encodes the last posting. Most frequencies are 1, which takes one bit.
    fn close(&mut self) {
        if self.frequency == 0 {
            return;
        }
        let gap = u64::from(self.row - self.before);
        if self.frequency == 1 {
            write_varint(gap << 1 | 1, &mut self.encoded);
        } else {
            write_varint(gap << 1, &mut self.encoded);
            write_varint(u64::from(self.frequency), &mut self.encoded);
        }
        self.before = self.row;
    }

    fn for_each(&self, visit: &mut impl FnMut(u32, u32)) {
        let (mut rest, mut row) = (&self.encoded[..], 0);
        while !rest.is_empty() {
            let gap = read_varint(&mut rest);
            row += (gap >> 1) as u32;
            let frequency = if gap & 1 == 1 {
                1
            } else {
                read_varint(&mut rest) as u32
            };
            visit(row, frequency);
        }
        if self.frequency > 0 {
            visit(self.row, self.frequency);
        }
    }
}

/// Appends an integer, seven bits a byte, the lowest first.
fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes an integer from the start of the bytes.
fn read_varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    value
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::analyze;

    /// The postings of all terms of a field.
    fn postings(inverter: &Inverter, field: usize) -> BTreeMap<String, Vec<(u32, u32)>> {
        let mut found = BTreeMap::new();
        for (term, number) in inverter.sorted_terms() {
            let mut list = Vec::new();
            inverter
                .field(field)
                .for_each(number, |row, frequency| list.push((row, frequency)));
            assert_eq!(list.len(), inverter.field(field).doc_freq(number) as usize);
            if !list.is_empty() {
                found.insert(String::from_utf8_lossy(term).into_owned(), list);
            }
        }
        found
    }

    proptest! {
        #[test]
        fn the_postings_are_the_counts_of_the_terms_of_each_chunk(
            chunks in proptest::collection::vec(("[a-d ]{0,9}", "[a-d ]{0,9}"), 0..300),
        ) {
            let mut inverter = Inverter::default();
            let mut expected = [BTreeMap::new(), BTreeMap::new()];
            for (row, (text, outline)) in chunks.iter().enumerate() {
                let terms = [text, outline].map(|text| analyze::terms(text, "none"));
                for (field, terms) in terms.iter().enumerate() {
                    for term in terms {
                        let list: &mut Vec<(u32, u32)> =
                            expected[field].entry(term.clone()).or_default();
                        match list.last_mut() {
                            Some((last, frequency)) if *last == row as u32 => *frequency += 1,
                            _ => list.push((row as u32, 1)),
                        }
                    }
                }
                let [text, outline] = terms.map(|terms| -> Vec<u32> {
                    terms.iter().map(|term| inverter.number(term.as_bytes())).collect()
                });
                inverter.add(row as i64 / 7, 10 * row as i64, [&text, &outline, &[]]);
            }
            prop_assert_eq!(postings(&inverter, 0), expected[0].clone());
            prop_assert_eq!(postings(&inverter, 1), expected[1].clone());
            prop_assert_eq!(postings(&inverter, 2), BTreeMap::new());
            prop_assert_eq!(inverter.len() as usize, chunks.len());
        }

        #[test]
        fn an_integer_is_read_as_written(values in proptest::collection::vec(any::<u64>(), 0..9)) {
            let mut bytes = Vec::new();
            values.iter().for_each(|&value| write_varint(value, &mut bytes));
            let mut rest = &bytes[..];
            let read: Vec<u64> = values.iter().map(|_| read_varint(&mut rest)).collect();
            prop_assert_eq!(read, values);
            prop_assert!(rest.is_empty());
        }
    }
}
