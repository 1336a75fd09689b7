//! Here are terms: which chunks score best?

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{TERMINATED, Term};

use super::schema::Fields;
use super::snapshot::{Segment, Snapshot};
use crate::analyze::Word;
use crate::bm25::{Bm25, FIELDS};
use crate::store::Filter;

/// Documents (tantivy's: here, chunks) that are scored together.
const WINDOW: usize = 4096;

/// Scores are summed as whole numbers, of which the best imaginable sum is this many. So a sum does
/// not depend on the order of its terms, and no result on how the work was divided.
const FULL_SCORE: f64 = (1 << 30) as f64;

/// What one search asks of a snapshot.
pub(super) struct Ask<'a> {
    pub(super) words: &'a [Word],
    pub(super) k: usize,
    pub(super) bm25: Bm25,
    pub(super) only: Option<&'a Filter>,
}

/// The best k chunks and their scores, best first; equal scores go to the smaller key.
pub(super) fn best(
    snapshot: &Snapshot,
    fields: &Fields,
    ask: &Ask,
) -> tantivy::Result<Vec<(i64, f32)>> {
    let mut lists: Vec<Vec<Postings>> = Vec::new();
    let mut doc_freqs = vec![0; ask.words.len()];
    for segment in &snapshot.segments {
        let mut of_segment = Vec::with_capacity(ask.words.len());
        for (word, doc_freq) in ask.words.iter().zip(&mut doc_freqs) {
            let mut postings = Postings::open(segment, fields, &word.term, &ask.bm25)?;
            *doc_freq += postings.doc_freq(segment);
            of_segment.push(Postings::open(segment, fields, &word.term, &ask.bm25)?);
        }
        lists.push(of_segment);
    }
    let ceilings: Vec<f64> = doc_freqs
        .iter()
        .zip(ask.words)
        .map(|(&doc_freq, word)| word.weight * ask.bm25.ceiling(snapshot.chunks, doc_freq))
        .collect();
    let unit = FULL_SCORE / ceilings.iter().sum::<f64>();
    let mean = snapshot.mean_length(&ask.bm25);
    let mut best = Best::new(ask.k);
    for (segment, mut lists) in snapshot.segments.iter().zip(lists) {
        let norms = segment.norms(&ask.bm25, mean);
        let mut window = Window::new();
        for start in (0..segment.max_doc).step_by(WINDOW) {
            for (postings, ceiling) in lists.iter_mut().zip(&ceilings) {
                postings.add(start, (ceiling * unit) as f32, &norms, &mut window);
            }
            window.drain(|at, sum| {
                let doc = start + at;
                let wanted = segment.is_live(doc)
                    && ask.only.is_none_or(|only| only.contains(segment.doc(doc)));
                if wanted {
                    best.offer(sum, segment.key(doc));
                }
            });
        }
    }
    Ok(best.into_ranking(1.0 / unit))
}

/// The postings of one term in one segment: a list for each field that weighs.
struct Postings {
    lists: Vec<List>,
}

struct List {
    weight: f32,
    blocks: BlockSegmentPostings,
    at: usize,
}

impl Postings {
    fn open(segment: &Segment, fields: &Fields, term: &str, bm25: &Bm25) -> tantivy::Result<Self> {
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
        Ok(Postings { lists })
    }

    /// How many live chunks hold the term.
    fn doc_freq(&mut self, segment: &Segment) -> u64 {
        let mut docs = std::collections::HashSet::new();
        for list in &mut self.lists {
            list.each(u32::MAX, |doc, _| {
                if segment.is_live(doc) {
                    docs.insert(doc);
                }
            });
        }
        docs.len() as u64
    }

    fn add(&mut self, start: u32, ceiling: f32, norms: &[f32], window: &mut Window) {
        let end = start + WINDOW as u32;
        let mut tf = std::collections::BTreeMap::new();
        for list in &mut self.lists {
            let weight = list.weight;
            list.each(end, |doc, freq| {
                *tf.entry(doc).or_insert(0.0) += weight * freq as f32
            });
        }
        for (doc, tf) in tf {
            let sum: f32 = ceiling * tf / (tf + norms[doc as usize]);
            window.add((doc - start) as usize, sum as i32);
        }
    }
}

impl List {
    fn each(&mut self, end: u32, mut f: impl FnMut(u32, u32)) {
        loop {
            let (docs, freqs) = (self.blocks.docs(), self.blocks.freqs());
            while self.at < docs.len() {
                if docs[self.at] >= end {
                    return;
                }
                f(docs[self.at], freqs[self.at]);
                self.at += 1;
            }
            if docs.is_empty() {
                return;
            }
            self.blocks.advance();
            self.at = 0;
        }
    }
}

struct Window {
    sums: Vec<i32>,
    touched: Vec<u64>,
}

impl Window {
    fn new() -> Self {
        Window {
            sums: vec![0; WINDOW],
            touched: vec![0; WINDOW / 64],
        }
    }

    #[inline]
    fn add(&mut self, at: usize, score: i32) {
        self.sums[at] += score;
        self.touched[at / 64] |= 1 << (at % 64);
    }

    fn drain(&mut self, mut f: impl FnMut(u32, i32)) {
        for i in 0..self.touched.len() {
            let mut word = std::mem::take(&mut self.touched[i]);
            while word != 0 {
                let at = i * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                f(at as u32, std::mem::take(&mut self.sums[at]));
            }
        }
    }
}

/// The best k seen so far.
struct Best {
    k: usize,
    /// The worst on top: the smallest score and, among equals, the largest key.
    heap: BinaryHeap<Reverse<(i32, Reverse<i64>)>>,
}

impl Best {
    fn new(k: usize) -> Self {
        Best {
            k,
            heap: BinaryHeap::new(),
        }
    }

    fn offer(&mut self, score: i32, key: i64) {
        let entry = Reverse((score, Reverse(key)));
        if self.heap.len() < self.k {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }

    fn into_ranking(self, unit: f64) -> Vec<(i64, f32)> {
        self.heap
            .into_sorted_vec()
            .into_iter()
            .map(|Reverse((score, Reverse(key)))| (key, (f64::from(score) * unit) as f32))
            .collect()
    }
}
#[allow(unused)]
const _: u32 = TERMINATED;
