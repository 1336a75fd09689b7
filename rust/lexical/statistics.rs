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

/// Settings whose statistics are cached: a search may rank with two weights of the outlines, and one of
/// several indexes asks for the frequencies of terms with k1 and b of its own besides.
const CACHED_SETTINGS: usize = 4;

/// A segment and its statistics under the settings that were used last.
pub(super) struct ScoredSegment {
    pub(super) segment: Segment,
    /// The setting that was used last is at the end.
    statistics: Mutex<Vec<Arc<Statistics>>>,
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

    /// Returns the statistics under a setting; those of the last settings are cached.
    ///
    /// A mean length that has changed, as it does with every commit, replaces the one before.
    pub(super) fn statistics(&self, bm25: &Bm25, mean: f64) -> Arc<Statistics> {
        let mut cached = locked(&self.statistics);
        let known = cached.iter().position(|known| known.bm25 == *bm25);
        let known = known.map(|at| cached.remove(at));
        let statistics = match known {
            Some(known) if known.mean == mean => known,
            _ => Arc::new(self.make_statistics(bm25, mean)),
        };
        if cached.len() == CACHED_SETTINGS {
            cached.remove(0);
        }
        cached.push(Arc::clone(&statistics));
        statistics
    }

    fn make_statistics(&self, bm25: &Bm25, mean: f64) -> Statistics {
        let segment = &self.segment;
        let norms = (0..segment.max_doc)
            .map(|doc| bm25.norm(bm25.length(segment.lengths(doc)), mean))
            .collect();
        Statistics {
            bm25: *bm25,
            mean,
            norms,
            terms: Mutex::default(),
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::lexical::{ChunkFields, Lexical};

    #[test]
    fn the_statistics_of_several_settings_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["text", "outline", "context"].map(String::from);
        let lexical = Lexical::open(&folder.path().join("bm25"), &names, true).unwrap();
        let fields = ["whales eat krill", "animals", ""];
        lexical
            .put(1, "en", &[ChunkFields { key: 1, fields }])
            .unwrap();
        lexical.commit(1).unwrap();
        let snapshot = lexical.snapshot();
        let of = |outline: f64, mean: f64| {
            let weights = [1.0, outline, 1.0];
            let bm25 = Bm25 {
                weights,
                ..Bm25::default()
            };
            snapshot.segments[0].statistics(&bm25, mean)
        };
        let (plain, named) = (of(1.0, 4.0), of(6.0, 4.0));
        assert!(Arc::ptr_eq(&plain, &of(1.0, 4.0)));
        assert!(Arc::ptr_eq(&named, &of(6.0, 4.0)));
        // Another mean length is another setting, and those that are used least go.
        assert_eq!(of(6.0, 5.0).mean, 5.0);
        assert!(!Arc::ptr_eq(&named, &of(6.0, 4.0)));
        assert!(Arc::ptr_eq(&plain, &of(1.0, 4.0)));
        let _ = [2.0, 3.0, 5.0, 7.0].map(|outline| of(outline, 4.0));
        assert!(!Arc::ptr_eq(&plain, &of(1.0, 4.0)));
    }
}
