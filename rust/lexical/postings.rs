//! Here is a term: which chunks of a segment hold it, how often, and how much can that be worth?

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::Term;
use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;

use super::schema::Fields;
use super::snapshot::Segment;
use crate::bm25::{Bm25, FIELDS, saturation};

/// Chunks that are scored together: their sums lie in the first-level cache.
pub(super) const WINDOW: usize = 4096;

/// Terms whose facts are remembered; when there are more, all are forgotten. A term's facts take
/// four bytes for every [`WINDOW`] chunks.
const REMEMBERED: usize = 1 << 13;

/// A segment's chunks under one setting of k1, b, weights and mean length.
pub(super) struct Tuning {
    pub(super) bm25: Bm25,
    pub(super) mean: f64,
    /// [`Bm25::norm`] of each chunk.
    pub(super) norms: Vec<f32>,
    remembered: Mutex<HashMap<Box<str>, Arc<Facts>>>,
}

/// What is true of a term in a segment: its first use reads its postings through once.
#[derive(Debug)]
pub(super) struct Facts {
    /// Live chunks that hold it.
    pub(super) doc_freq: u32,
    /// The largest saturation in each window, of all chunks, live or not.
    pub(super) most: Vec<f32>,
}

/// The postings of one term in one segment.
#[derive(Clone)]
pub(super) struct Postings {
    lists: Vec<List>,
    /// Frequencies of a window, where several lists must be added up.
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
    /// The postings of the fields that weigh, or `None` where the term is in none of them.
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

    /// Gives each chunk of a window and its weighted frequency. Windows must come in order.
    #[inline(always)]
    pub(super) fn each(&mut self, start: u32, end: u32, mut f: impl FnMut(u32, f32)) {
        if let [list] = &mut self.lists[..] {
            let weight = list.weight;
            return list.each(start, end, |doc, freq| f(doc, weight * freq as f32));
        }
        let mut touched = [0u64; WINDOW / 64];
        for list in &mut self.lists {
            let weight = list.weight;
            list.each(start, end, |doc, freq| {
                let at = (doc - start) as usize % WINDOW;
                self.merged[at] += weight * freq as f32;
                touched[at / 64] |= 1 << (at % 64);
            });
        }
        for (i, mut word) in touched.into_iter().enumerate() {
            while word != 0 {
                let at = i * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                f(start + at as u32, std::mem::take(&mut self.merged[at]));
            }
        }
    }

    /// The weighted frequency of one chunk; 0 where it lacks the term. Chunks must come in order.
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

impl Tuning {
    pub(super) fn new(bm25: Bm25, mean: f64, norms: Vec<f32>) -> Self {
        Tuning {
            bm25,
            mean,
            norms,
            remembered: Mutex::default(),
        }
    }

    /// The facts of a term whose postings these are.
    pub(super) fn facts(&self, term: &str, postings: &Postings, segment: &Segment) -> Arc<Facts> {
        if let Some(facts) = self.locked().get(term) {
            return Arc::clone(facts);
        }
        let facts = Arc::new(Facts::read(postings.clone(), segment, &self.norms));
        let mut kept = self.locked();
        if kept.len() >= REMEMBERED {
            kept.clear();
        }
        kept.insert(term.into(), Arc::clone(&facts));
        facts
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Facts>>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Facts {
    fn read(mut postings: Postings, segment: &Segment, norms: &[f32]) -> Facts {
        let mut doc_freq = 0;
        let windows = (0..segment.max_doc).step_by(WINDOW);
        let most = windows.map(|start| {
            let end = (start + WINDOW as u32).min(segment.max_doc);
            let mut most = 0.0f32;
            postings.each(start, end, |doc, tf| {
                doc_freq += u32::from(segment.is_live(doc));
                most = most.max(saturation(tf, norms[doc as usize]));
            });
            most
        });
        let most = most.collect();
        Facts { doc_freq, most }
    }
}
