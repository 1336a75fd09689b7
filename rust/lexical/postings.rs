//! The postings of a term in a segment, over all fields.

use tantivy::Term;
use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;

use super::bm25::{Bm25, FIELDS};
use super::schema::Fields;
use super::segment::Segment;

/// Chunks that are scored together: their sums fit in the first-level cache.
pub(super) const WINDOW: usize = 4096;

/// The postings of one term in one segment.
#[derive(Clone)]
pub(super) struct Postings {
    lists: Vec<List>,
    /// Frequencies of a window, used to add up several lists.
    merged: Vec<f32>,
}

/// The postings of one field.
#[derive(Clone)]
struct List {
    weight: f32,
    blocks: BlockSegmentPostings,
    at: usize,
}

impl Postings {
    /// Opens the postings in the fields of positive weight; `None` if the term is in none of them.
    pub(super) fn open(
        segment: &Segment,
        fields: &Fields,
        term: &str,
        bm25: &Bm25,
    ) -> tantivy::Result<Option<Self>> {
        let mut lists = Vec::new();
        for i in 0..FIELDS {
            let (Some(field), Some(index)) = (fields.terms[i], &segment.terms[i]) else {
                continue;
            };
            if bm25.weights[i] == 0.0 {
                continue;
            }
            let term = Term::from_field_text(field, term);
            if let Some(blocks) = index.read_block_postings(&term, IndexRecordOption::WithFreqs)? {
                lists.push(List {
                    weight: bm25.weights[i] as f32,
                    blocks,
                    at: 0,
                });
            }
        }
        if lists.is_empty() {
            return Ok(None);
        }
        let merged = if lists.len() > 1 {
            vec![0.0; WINDOW]
        } else {
            Vec::new()
        };
        Ok(Some(Postings { lists, merged }))
    }

    /// Calls `f` with each chunk of a window and its weighted frequency. Windows must be requested in
    /// order.
    #[inline(always)]
    pub(super) fn each(&mut self, start: u32, end: u32, mut f: impl FnMut(u32, f32)) {
        if let [list] = &mut self.lists[..] {
            let weight = list.weight;
            return list.each(start, end, |doc, freq| f(doc, weight * freq as f32));
        }
        let mut changed = [0u64; WINDOW / 64];
        for list in &mut self.lists {
            let weight = list.weight;
            list.each(start, end, |doc, freq| {
                let at = (doc - start) as usize % WINDOW;
                self.merged[at] += weight * freq as f32;
                changed[at / 64] |= 1 << (at % 64);
            });
        }
        for (i, mut word) in changed.into_iter().enumerate() {
            while word != 0 {
                let at = i * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                f(start + at as u32, std::mem::take(&mut self.merged[at]));
            }
        }
    }

    /// Returns the weighted frequency in one chunk, 0 if it lacks the term. Chunks must be requested in
    /// order.
    #[inline]
    pub(super) fn seek(&mut self, doc: u32) -> f32 {
        self.lists
            .iter_mut()
            .map(|list| list.weight * list.seek(doc) as f32)
            .sum()
    }
}

impl List {
    #[inline(always)]
    fn each(&mut self, start: u32, end: u32, mut f: impl FnMut(u32, u32)) {
        if self
            .blocks
            .docs()
            .get(self.at)
            .is_some_and(|&doc| doc < start)
        {
            self.at = self.blocks.seek(start);
        }
        loop {
            let (docs, freqs) = (self.blocks.docs(), self.blocks.freqs());
            let rest = docs[self.at..].iter().zip(&freqs[self.at..]);
            let mut count = 0;
            for (&doc, &freq) in rest {
                if doc >= end {
                    self.at += count;
                    return;
                }
                f(doc, freq);
                count += 1;
            }
            self.at += count;
            if docs.is_empty() {
                return;
            }
            self.blocks.advance();
            self.at = 0;
        }
    }

    #[inline]
    fn seek(&mut self, doc: u32) -> u32 {
        if self
            .blocks
            .docs()
            .get(self.at)
            .is_some_and(|&here| here < doc)
        {
            self.at = self.blocks.seek(doc);
        }
        match self.blocks.docs().get(self.at) {
            Some(&here) if here == doc => self.blocks.freq(self.at),
            _ => 0,
        }
    }
}
