//! Here are terms: which chunks score best?
//!
//! MaxScore (Turtle, Flood 1995) over windows of a segment, as in Lucene's bulk scorer: the terms
//! that could not together lift a chunk over the k-th best score so far are not essential. Only the
//! essential ones are read through; a chunk they leave in reach is looked up in the others, the
//! weightiest first, until it is out of reach.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::postings::{Facts, Postings, WINDOW};
use super::schema::Fields;
use super::snapshot::{Segment, Snapshot};
use crate::analyze::Word;
use crate::bm25::{Bm25, saturation};
use crate::store::Filter;

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
    let mean = snapshot.mean_length(&ask.bm25);
    let mut doc_freqs = vec![0; ask.words.len()];
    let mut found = Vec::with_capacity(snapshot.segments.len());
    for segment in &snapshot.segments {
        let tuning = segment.tuned(&ask.bm25, mean);
        let mut of_segment = Vec::with_capacity(ask.words.len());
        for (i, word) in ask.words.iter().enumerate() {
            if let Some(postings) = Postings::open(segment, fields, &word.term, &ask.bm25)? {
                let facts = tuning.facts(&word.term, &postings, segment);
                doc_freqs[i] += u64::from(facts.doc_freq);
                of_segment.push((i, postings, facts));
            }
        }
        found.push((segment, tuning, of_segment));
    }
    let ceilings: Vec<f64> = ask
        .words
        .iter()
        .zip(doc_freqs)
        .map(|(word, doc_freq)| word.weight * ask.bm25.ceiling(snapshot.chunks, doc_freq))
        .collect();
    let unit = ceilings.iter().sum::<f64>() / FULL_SCORE;
    let mut best = Best::new(ask.k);
    let mut sums = Sums::new();
    for (segment, tuning, of_segment) in found {
        let terms = of_segment.into_iter().map(|(i, postings, facts)| Term {
            postings,
            facts,
            ceiling: (ceilings[i] / unit) as f32,
            most: 0,
        });
        let mut scan = Scan {
            segment,
            norms: &tuning.norms,
            only: ask.only,
            terms: terms.collect(),
            reach: Vec::new(),
            candidates: Vec::new(),
        };
        scan.run(&mut sums, &mut best);
    }
    Ok(best.into_ranking(unit))
}

/// One term of the query in one segment.
struct Term {
    postings: Postings,
    facts: Arc<Facts>,
    /// The score, in units, that it approaches as its frequency grows.
    ceiling: f32,
    /// The most it can add in the window at hand.
    most: i32,
}

/// What a term gives a chunk, in units.
#[inline(always)]
fn score(ceiling: f32, saturation: f32) -> i32 {
    (ceiling * saturation) as i32
}

/// The walk over one segment.
struct Scan<'a> {
    segment: &'a Segment,
    norms: &'a [f32],
    only: Option<&'a Filter>,
    terms: Vec<Term>,
    /// What the terms before each can add together, in the window at hand.
    reach: Vec<i32>,
    /// Chunks in reach, and what they have so far.
    candidates: Vec<(u32, i32)>,
}

impl Scan<'_> {
    fn run(&mut self, sums: &mut Sums, best: &mut Best) {
        for (window, start) in (0..self.segment.max_doc).step_by(WINDOW).enumerate() {
            let first = self.arrange(window, best.bar());
            if first == self.terms.len() {
                continue;
            }
            let end = start
                .saturating_add(WINDOW as u32)
                .min(self.segment.max_doc);
            for term in &mut self.terms[first..] {
                let ceiling = term.ceiling;
                let norms = self.norms;
                term.postings.each(start, end, |doc, tf| {
                    sums.add(
                        (doc - start) as usize,
                        score(ceiling, saturation(tf, norms[doc as usize])),
                    );
                });
            }
            self.gather(first, start, sums, best);
            self.complete(first, best);
        }
    }

    /// Orders the terms by what they can add in the window; returns the first essential one.
    fn arrange(&mut self, window: usize, bar: i32) -> usize {
        for term in &mut self.terms {
            term.most = score(term.ceiling, term.facts.most[window]);
        }
        self.terms.sort_unstable_by_key(|term| term.most);
        self.reach.clear();
        let mut sum = 0;
        let mut first = 0;
        for (i, term) in self.terms.iter().enumerate() {
            self.reach.push(sum);
            sum += term.most;
            if sum < bar || sum == 0 {
                first = i + 1;
            }
        }
        first
    }

    /// Takes from the sums the chunks that the other terms may still lift over the bar.
    fn gather(&mut self, first: usize, start: u32, sums: &mut Sums, best: &mut Best) {
        let reach = self.reach[first];
        self.candidates.clear();
        if reach == 0 {
            sums.drain(|at, sum| {
                if sum >= best.bar() {
                    offer(self.segment, self.only, best, start + at, sum);
                }
            });
        } else {
            let bar = best.bar() - reach;
            sums.drain(|at, sum| {
                if sum >= bar {
                    self.candidates.push((start + at, sum));
                }
            });
        }
    }

    /// Looks the candidates up in the terms that are not essential, the weightiest first.
    fn complete(&mut self, first: usize, best: &mut Best) {
        if self.candidates.is_empty() {
            return;
        }
        for i in (0..first).rev() {
            let term = &mut self.terms[i];
            if term.most == 0 {
                continue;
            }
            let bar = best.bar() - self.reach[i];
            let (ceiling, norms) = (term.ceiling, self.norms);
            self.candidates.retain_mut(|(doc, sum)| {
                let tf = term.postings.seek(*doc);
                if tf > 0.0 {
                    *sum += score(ceiling, saturation(tf, norms[*doc as usize]));
                }
                *sum >= bar
            });
        }
        for &(doc, sum) in &self.candidates {
            if sum >= best.bar() {
                offer(self.segment, self.only, best, doc, sum);
            }
        }
    }
}

fn offer(segment: &Segment, only: Option<&Filter>, best: &mut Best, doc: u32, sum: i32) {
    let wanted = segment.is_live(doc) && only.is_none_or(|only| only.contains(segment.doc(doc)));
    if wanted {
        best.offer(sum, segment.key(doc));
    }
}

/// The sums of a window's chunks, and which have one.
struct Sums {
    sums: Box<[i32; WINDOW]>,
    touched: [u64; WINDOW / 64],
}

impl Sums {
    fn new() -> Self {
        Sums {
            sums: Box::new([0; WINDOW]),
            touched: [0; WINDOW / 64],
        }
    }

    #[inline(always)]
    fn add(&mut self, at: usize, score: i32) {
        let at = at % WINDOW;
        self.sums[at] += score;
        self.touched[at / 64] |= 1 << (at % 64);
    }

    #[inline(always)]
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

    /// The score below which nothing enters; one that equals it may, by its key.
    #[inline]
    fn bar(&self) -> i32 {
        match self.heap.peek() {
            Some(Reverse((score, _))) if self.heap.len() == self.k => *score,
            _ => 0,
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
