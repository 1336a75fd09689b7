//! The best k chunks of a query, by MaxScore.
//!
//! MaxScore (Turtle, Flood 1995) over windows of a segment, as in Lucene's bulk scorer: terms that
//! could not together lift a chunk over the k-th best score so far are non-essential. Only the
//! essential terms are read in full; a chunk that is still a candidate after them is looked up in
//! the others, in descending order of their largest contribution, until it is out of reach. Where
//! many candidates are left, the next frequent term is read in full instead.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::bm25::{Bm25, saturation};
use super::postings::{Postings, WINDOW};
use super::schema::Fields;
use super::segment::Segment;
use super::snapshot::Snapshot;
use super::statistics::TermStatistics;
use super::sums::Sums;
use crate::analyze::QueryTerm;
use crate::interrupt;
use crate::store::Filter;

/// Scores are summed in fixed point; the largest possible sum is this number of units. So a sum
/// does not depend on the order of its terms, nor a result on how the work was divided.
const FULL_SCORE: f64 = (1 << 30) as f64;

/// The postings of a term that are read one after the other in the time in which one is sought.
const READ_PER_SOUGHT: usize = 8;

/// The postings of a term in a window from which all its chunks are scored at once, where SIMD can.
const DENSE: usize = WINDOW / 16;

/// The candidates of a window from which such a term is scored in all chunks, not sought in each.
const MANY: usize = 128;

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
    /// [`Bm25::ceiling`], from the document frequency of the term's word: the sum over its stems, each
    /// of which is in texts of another language.
    DocFreq,
    /// Nothing: the weight is the score that the term approaches as its frequency grows.
    Given,
}

/// Returns the best k chunks and their scores, best first; equal scores in ascending order of key.
///
/// What it returns after an interrupt is not complete.
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
    let mut of_words: HashMap<usize, u64> = HashMap::new();
    for (term, doc_freq) in query.terms.iter().zip(doc_freqs) {
        *of_words.entry(term.word).or_default() += doc_freq;
    }
    let ceiling = |term: &QueryTerm| match query.weighting {
        Weighting::DocFreq => {
            let doc_freq = of_words[&term.word].min(snapshot.chunks);
            term.weight * query.bm25.ceiling(snapshot.chunks, doc_freq)
        }
        Weighting::Given => term.weight,
    };
    let ceilings: Vec<f64> = query.terms.iter().map(ceiling).collect();
    let unit = ceilings.iter().sum::<f64>() / FULL_SCORE;
    let mut best = TopChunks::new(query.k);
    let mut sums = Sums::new();
    for (segment, statistics, of_segment) in found {
        let windows = (segment.max_doc as usize).div_ceil(WINDOW).max(1);
        let terms = of_segment
            .into_iter()
            .map(|(i, postings, statistics)| Term {
                per_window: statistics.doc_freq as usize / windows,
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
            freqs: Box::new([0.0; WINDOW]),
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
    /// The mean number of its postings in a window.
    per_window: usize,
}

impl Term {
    /// Returns whether all chunks of a window are scored at once.
    fn is_dense(&self) -> bool {
        self.per_window >= DENSE && Sums::adds_all()
    }
}

/// Returns the score of a term in a chunk, in units.
#[inline(always)]
pub(super) fn score(ceiling: f32, saturation: f32) -> i32 {
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
    /// The weighted frequencies of a term in a window; all 0 between two terms.
    freqs: Box<[f32; WINDOW]>,
}

impl Scan<'_> {
    fn run(&mut self, sums: &mut Sums, best: &mut TopChunks) {
        for (window, start) in (0..self.segment.max_doc).step_by(WINDOW).enumerate() {
            if interrupt::is_due() {
                return;
            }
            let mut first = self.order_terms(window, best.threshold());
            if first == self.terms.len() {
                continue;
            }
            let end = start
                .saturating_add(WINDOW as u32)
                .min(self.segment.max_doc);
            for i in first..self.terms.len() {
                self.add(i, start..end, sums);
            }
            while first > 0
                && self.terms[first - 1].is_dense()
                && sums.count(best.threshold() - self.prefix_max[first]) >= MANY
            {
                first -= 1;
                self.add(first, start..end, sums);
            }
            self.collect_candidates(first, start, sums, best);
            self.complete(first, start..end, best);
        }
    }

    /// Adds the scores of a term in a window.
    fn add(&mut self, term: usize, window: Range<u32>, sums: &mut Sums) {
        let term = &mut self.terms[term];
        let (ceiling, norms) = (term.ceiling, self.norms);
        let (start, end) = (window.start, window.end);
        if term.is_dense() {
            let freqs = &mut self.freqs;
            term.postings.each(start, end, |doc, tf| {
                freqs[(doc - start) as usize % WINDOW] = tf;
            });
            sums.add_all(ceiling, freqs, &norms[start as usize..end as usize]);
            freqs.fill(0.0);
        } else {
            term.postings.each(start, end, |doc, tf| {
                let score = score(ceiling, saturation(tf, norms[doc as usize]));
                sums.add((doc - start) as usize, score);
            });
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
            sums.drain(best.threshold(), |at, sum| {
                if sum >= best.threshold() {
                    offer(self.segment, self.only, best, start + at, sum);
                }
            });
        } else {
            let threshold = best.threshold() - rest;
            sums.drain(threshold, |at, sum| {
                self.candidates.push((start + at, sum));
            });
        }
    }

    /// Adds the scores of the non-essential terms to the candidates, largest contribution first.
    fn complete(&mut self, first: usize, window: Range<u32>, best: &mut TopChunks) {
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
            let add = |doc: u32, sum: &mut i32, tf: f32| {
                if tf > 0.0 {
                    *sum += score(ceiling, saturation(tf, norms[doc as usize]));
                }
                *sum >= threshold
            };
            if self.candidates.len() * READ_PER_SOUGHT < term.per_window {
                let postings = &mut term.postings;
                self.candidates
                    .retain_mut(|(doc, sum)| add(*doc, sum, postings.seek(*doc)));
            } else {
                let freqs = &mut self.freqs[..];
                let at = |doc: u32| (doc - window.start) as usize % WINDOW;
                term.postings
                    .each(window.start, window.end, |doc, tf| freqs[at(doc)] = tf);
                self.candidates
                    .retain_mut(|(doc, sum)| add(*doc, sum, freqs[at(*doc)]));
                freqs.fill(0.0);
            }
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
