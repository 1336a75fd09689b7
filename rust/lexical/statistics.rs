//! Statistics of a segment under one scoring setting: length norms, and for each term its live
//! document frequency and its largest saturation in each window.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bm25::{Bm25, saturation};
use super::postings::{Postings, WINDOW};
use super::segment::Segment;

/// Terms whose statistics are cached; a full cache is cleared. The statistics of a term take four
/// bytes for every [`WINDOW`] chunks.
const CACHED_TERMS: usize = 1 << 13;

/// A segment and its statistics under the setting that was used last.
pub(super) struct ScoredSegment {
    pub(super) segment: Segment,
    statistics: Mutex<Option<Arc<Statistics>>>,
}

/// The statistics of a segment under one setting of k1, b, weights and mean length.
pub(super) struct Statistics {
    bm25: Bm25,
    mean: f64,
    /// [`Bm25::norm`] of each chunk.
    pub(super) norms: Vec<f32>,
    terms: Mutex<HashMap<Box<str>, Arc<TermStatistics>>>,
}

/// The statistics of a term in a segment, made by one pass over its postings.
#[derive(Debug)]
pub(super) struct TermStatistics {
    /// Live chunks that contain the term.
    pub(super) doc_freq: u32,
    /// The largest saturation in each window, over all chunks, live or deleted.
    pub(super) max_saturation: Vec<f32>,
}

impl ScoredSegment {
    pub(super) fn new(segment: Segment) -> Self {
        ScoredSegment {
            segment,
            statistics: Mutex::default(),
        }
    }

    /// Returns the statistics under a setting; those of the last setting are cached.
    pub(super) fn statistics(&self, bm25: &Bm25, mean: f64) -> Arc<Statistics> {
        let mut cached = locked(&self.statistics);
        if let Some(statistics) = cached.as_ref()
            && statistics.bm25 == *bm25
            && statistics.mean == mean
        {
            return Arc::clone(statistics);
        }
        let segment = &self.segment;
        let norms = (0..segment.max_doc)
            .map(|doc| bm25.norm(bm25.length(segment.lengths(doc)), mean))
            .collect();
        let statistics = Arc::new(Statistics {
            bm25: *bm25,
            mean,
            norms,
            terms: Mutex::default(),
        });
        *cached = Some(Arc::clone(&statistics));
        statistics
    }
}

impl Statistics {
    /// Returns the statistics of the term with these postings.
    pub(super) fn of_term(
        &self,
        term: &str,
        postings: &Postings,
        segment: &Segment,
    ) -> Arc<TermStatistics> {
        if let Some(statistics) = locked(&self.terms).get(term) {
            return Arc::clone(statistics);
        }
        let statistics = Arc::new(TermStatistics::read(postings.clone(), segment, &self.norms));
        let mut cached = locked(&self.terms);
        if cached.len() >= CACHED_TERMS {
            cached.clear();
        }
        cached.insert(term.into(), Arc::clone(&statistics));
        statistics
    }
}

impl TermStatistics {
    fn read(mut postings: Postings, segment: &Segment, norms: &[f32]) -> Self {
        let mut doc_freq = 0;
        let windows = (0..segment.max_doc).step_by(WINDOW);
        let max_saturation = windows.map(|start| {
            let end = (start + WINDOW as u32).min(segment.max_doc);
            let mut most = 0.0f32;
            postings.each(start, end, |doc, tf| {
                doc_freq += u32::from(segment.is_live(doc));
                most = most.max(saturation(tf, norms[doc as usize]));
            });
            most
        });
        let max_saturation = max_saturation.collect();
        TermStatistics {
            doc_freq,
            max_saturation,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
