//! Deletions of documents, which spare the segments that were added after them.
//!
//! tantivy applies a deletion to each segment by the opstamps of its chunks. A segment that is added as
//! a whole has none: deletions that tantivy has not handed out before are applied to it as well, though
//! they came first. So a deletion itself passes over the segments that were added later. tantivy applies
//! it once to each segment, also before a merge, after which a segment has another identity.

use std::sync::{Arc, PoisonError, RwLock};

use tantivy::index::SegmentId;
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, TermQuery, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, Score, SegmentReader, Term};

/// The segments that one writer has added, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct AddedSegments(Arc<RwLock<Vec<SegmentId>>>);

impl AddedSegments {
    /// Notes a segment, before tantivy knows it.
    pub(super) fn push(&self, segment: SegmentId) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(segment);
    }

    /// Returns the query that deletes the chunks with a term in the segments of now.
    pub(super) fn deletion(&self, term: Term) -> Box<dyn Query> {
        let added = self.0.read().unwrap_or_else(PoisonError::into_inner).len();
        Box::new(Deletion {
            target: TermQuery::new(term, IndexRecordOption::Basic),
            segments: self.clone(),
            added,
        })
    }

    /// Returns whether a segment came after the first `added` ones.
    fn is_later(&self, added: usize, segment: SegmentId) -> bool {
        let segments = self.0.read().unwrap_or_else(PoisonError::into_inner);
        segments[added..].contains(&segment)
    }
}

#[derive(Debug, Clone)]
struct Deletion {
    target: TermQuery,
    segments: AddedSegments,
    /// How many segments had been added before.
    added: usize,
}

impl Query for Deletion {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(DeletionWeight {
            target: self.target.weight(scoring)?,
            segments: self.segments.clone(),
            added: self.added,
        }))
    }
}

struct DeletionWeight {
    target: Box<dyn Weight>,
    segments: AddedSegments,
    added: usize,
}

impl Weight for DeletionWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        if self.segments.is_later(self.added, reader.segment_id()) {
            return Ok(Box::new(EmptyScorer));
        }
        self.target.scorer(reader, boost)
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.target.explain(reader, doc)
    }
}
