//! The best k chunks of a query, by MaxScore.
//!
//! MaxScore (Turtle, Flood 1995) over windows of a segment, as in Lucene's bulk scorer: terms that
//! could not together lift a chunk over the k-th best score so far are non-essential. Only the
//! essential terms are read in full; a chunk that is still a candidate after them is looked up in
//! the others, in descending order of their largest contribution, until it is out of reach.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::bm25::{Bm25, saturation};
use super::postings::{Postings, WINDOW};
use super::schema::Fields;
use super::segment::Segment;
use super::snapshot::Snapshot;
use super::statistics::TermStatistics;
use crate::analyze::QueryTerm;
use crate::store::Filter;

/// Scores are summed in fixed point; the largest possible sum is this number of units. So a sum
/// does not depend on the order of its terms, nor a result on how the work was divided.
const FULL_SCORE: f64 = (1 << 30) as f64;

/// The parameters of one search.
pub(super) struct Parameters<'a> {
    pub(super) terms: &'a [QueryTerm],
    pub(super) k: usize,
    pub(super) bm25: Bm25,
    pub(super) only: Option<&'a Filter>,
    pub(super) weighting: Weighting,
}

/// What the weight of a query term is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weighting {
    /// [`Bm25::ceiling`], from the term's document frequency.
    DocFreq,
    /// Nothing: the weight is the score that the term approaches as its frequency grows.
    Given,
}

/// Returns the best k chunks and their scores, best first; equal scores in ascending order of key.
pub(super) fn search(
    snapshot: &Snapshot,
    fields: &Fields,
    query: &Parameters,
) -> tantivy::Result<Vec<(i64, f32)>> {
    let mean = snapshot.mean_length(&query.bm25);
    let mut doc_freqs = vec![0; query.terms.len()];
    let mut found = Vec::with_capacity(snapshot.segments.len());
    for scored in &snapshot.segments {
        let segment = &scored.segment;
        let statistics = scored.statistics(&query.bm25, mean);
        let mut of_segment = Vec::with_capacity(query.terms.len());
        for (i, query_term) in query.terms.iter().enumerate() {
            if let Some(postings) = Postings::open(segment, fields, &query_term.term, &query.bm25)?
            {
                let term_statistics = statistics.of_term(&query_term.term, &postings, segment);
                doc_freqs[i] += u64::from(term_statistics.doc_freq);
                of_segment.push((i, postings, term_statistics));
            }
        }
        found.push((segment, statistics, of_segment));
    }
    let ceiling = |(term, doc_freq): (&QueryTerm, u64)| match query.weighting {
        Weighting::DocFreq => term.weight * query.bm25.ceiling(snapshot.chunks, doc_freq),
        Weighting::Given => term.weight,
    };
    let ceilings: Vec<f64> = query.terms.iter().zip(doc_freqs).map(ceiling).collect();
    let unit = ceilings.iter().sum::<f64>() / FULL_SCORE;
    let mut best = TopChunks::new(query.k);
    let mut sums = Sums::new();
    for (segment, statistics, of_segment) in found {
        let terms = of_segment
            .into_iter()
            .map(|(i, postings, statistics)| Term {
                postings,
                statistics,
                ceiling: (ceilings[i] / unit) as f32,
                max: 0,
            });
        let mut scan = Scan {
            segment,
            norms: &statistics.norms,
            only: query.only,
            terms: terms.collect(),
            prefix_max: Vec::new(),
            candidates: Vec::new(),
        };
        scan.run(&mut sums, &mut best);
    }
    Ok(best.into_ranking(unit))
}

/// Returns the number of live chunks that contain each term in a field of positive weight.
pub(super) fn doc_freqs(
    snapshot: &Snapshot,
    fields: &Fields,
    terms: &[String],
    bm25: &Bm25,
) -> tantivy::Result<Vec<u64>> {
    let mean = snapshot.mean_length(bm25);
    let mut doc_freqs = vec![0; terms.len()];
    for scored in &snapshot.segments {
        let statistics = scored.statistics(bm25, mean);
        for (term, doc_freq) in terms.iter().zip(&mut doc_freqs) {
            if let Some(postings) = Postings::open(&scored.segment, fields, term, bm25)? {
                let of_term = statistics.of_term(term, &postings, &scored.segment);
                *doc_freq += u64::from(of_term.doc_freq);
            }
        }
    }
    Ok(doc_freqs)
}

/// One term of the query in one segment.
struct Term {
    postings: Postings,
    statistics: Arc<TermStatistics>,
    /// The score, in units, that it approaches as its frequency grows.
    ceiling: f32,
    /// The largest score that it can add in the current window, in units.
    max: i32,
}

/// Returns the score of a term in a chunk, in units.
#[inline(always)]
fn score(ceiling: f32, saturation: f32) -> i32 {
    (ceiling * saturation) as i32
}

/// The scan of one segment.
struct Scan<'a> {
    segment: &'a Segment,
    norms: &'a [f32],
    only: Option<&'a Filter>,
    terms: Vec<Term>,
    /// For each term, the largest score that the terms before it can add together in the current
    /// window.
    prefix_max: Vec<i32>,
    /// Candidates and their sums so far.
    candidates: Vec<(u32, i32)>,
}

impl Scan<'_> {
    fn run(&mut self, sums: &mut Sums, best: &mut TopChunks) {
        for (window, start) in (0..self.segment.max_doc).step_by(WINDOW).enumerate() {
            let first = self.order_terms(window, best.threshold());
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
            self.collect_candidates(first, start, sums, best);
            self.complete(first, best);
        }
    }

    /// Sorts the terms by the largest score that they can add in the window; returns the index of the
    /// first essential one.
    fn order_terms(&mut self, window: usize, threshold: i32) -> usize {
        for term in &mut self.terms {
            term.max = score(term.ceiling, term.statistics.max_saturation[window]);
        }
        self.terms.sort_unstable_by_key(|term| term.max);
        self.prefix_max.clear();
        let mut sum = 0;
        let mut first = 0;
        for (i, term) in self.terms.iter().enumerate() {
            self.prefix_max.push(sum);
            sum += term.max;
            if sum < threshold || sum == 0 {
                first = i + 1;
            }
        }
        first
    }

    /// Collects the chunks that the non-essential terms can still lift over the threshold.
    fn collect_candidates(
        &mut self,
        first: usize,
        start: u32,
        sums: &mut Sums,
        best: &mut TopChunks,
    ) {
        let rest = self.prefix_max[first];
        self.candidates.clear();
        if rest == 0 {
            sums.drain(|at, sum| {
                if sum >= best.threshold() {
                    offer(self.segment, self.only, best, start + at, sum);
                }
            });
        } else {
            let threshold = best.threshold() - rest;
            sums.drain(|at, sum| {
                if sum >= threshold {
                    self.candidates.push((start + at, sum));
                }
            });
        }
    }

    /// Adds the scores of the non-essential terms to the candidates, largest contribution first.
    fn complete(&mut self, first: usize, best: &mut TopChunks) {
        if self.candidates.is_empty() {
            return;
        }
        for i in (0..first).rev() {
            let term = &mut self.terms[i];
            if term.max == 0 {
                continue;
            }
            let threshold = best.threshold() - self.prefix_max[i];
            let (ceiling, norms) = (term.ceiling, self.norms);
            self.candidates.retain_mut(|(doc, sum)| {
                let tf = term.postings.seek(*doc);
                if tf > 0.0 {
                    *sum += score(ceiling, saturation(tf, norms[*doc as usize]));
                }
                *sum >= threshold
            });
        }
        for &(doc, sum) in &self.candidates {
            if sum >= best.threshold() {
                offer(self.segment, self.only, best, doc, sum);
            }
        }
    }
}

fn offer(segment: &Segment, only: Option<&Filter>, best: &mut TopChunks, doc: u32, sum: i32) {
    let wanted = segment.is_live(doc) && only.is_none_or(|only| only.contains(segment.doc(doc)));
    if wanted {
        best.offer(sum, segment.key(doc));
    }
}

/// The sums of a window's chunks, and a bitmap of those that have one.
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
struct TopChunks {
    k: usize,
    /// A min-heap: on top the smallest score and, among equals, the largest key.
    heap: BinaryHeap<Reverse<(i32, Reverse<i64>)>>,
}

impl TopChunks {
    fn new(k: usize) -> Self {
        TopChunks {
            k,
            heap: BinaryHeap::new(),
        }
    }

    /// Returns the score below which nothing enters; an equal score enters if its key is smaller.
    #[inline]
    fn threshold(&self) -> i32 {
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
