//! Hits, passages, and the merging of runs of chunks into passages.

use super::layout::{Layout, tokens};
use crate::error::{Error, Result};

/// A chunk that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its document.
    pub doc: i64,
    /// Its ordinal in the document, from 0.
    pub ordinal: u32,
    /// Larger is better.
    pub score: f32,
}

/// The order in which passages are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By descending score; equal scores by document, then start.
    Score,
    /// By document, then start.
    Document,
}

impl Order {
    /// Sorts passages that are in document order.
    pub(super) fn sort(self, passages: &mut [Passage]) {
        if self == Order::Score {
            // A stable sort keeps equal scores in document order.
            passages.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
    }
}

/// A stretch of a document around one or more hits.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The document.
    pub doc: i64,
    /// Its first code point.
    pub start: u32,
    /// The code point after its last.
    pub end: u32,
    /// Ordinal of its first chunk.
    pub first: u32,
    /// Ordinal of its last chunk.
    pub last: u32,
    /// Its tokens; tokens in overlaps of chunks count once.
    pub tokens: u32,
    /// The score of its best hit.
    pub score: f32,
    /// Indices of the hits in it, best first.
    pub hits: Vec<u32>,
}

/// A document with hits.
#[derive(Debug)]
pub(super) struct HitDocument<'a> {
    pub(super) doc: i64,
    pub(super) layout: Layout<'a>,
    /// The index of each hit, ascending, and the index of its chunk in the layout.
    pub(super) hits: Vec<(u32, usize)>,
}

/// Groups hits by document, ascending, and looks up each document's layout.
///
/// # Errors
/// [`Error::Invalid`] if a layout is missing, or does not contain the ordinal of a hit.
pub(super) fn group_by_document<'a>(
    hits: &[Hit],
    layout_of: impl Fn(i64) -> Option<Layout<'a>>,
) -> Result<Vec<HitDocument<'a>>> {
    let mut by_doc: Vec<(i64, u32)> = hits
        .iter()
        .zip(0u32..)
        .map(|(hit, index)| (hit.doc, index))
        .collect();
    by_doc.sort_unstable();
    let document = |group: &[(i64, u32)]| {
        let doc = group[0].0;
        let layout = layout_of(doc).ok_or_else(|| {
            Error::Invalid(format!(
                "layouts: document {doc} is missing; give the layout of each hit's document"
            ))
        })?;
        let position = |&(_, hit): &(i64, u32)| {
            let ordinal = hits[hit as usize].ordinal;
            match layout.binary_search_by_key(&ordinal, |chunk| chunk.ordinal) {
                Ok(at) => Ok((hit, at)),
                Err(_) => Err(Error::Invalid(format!(
                    "ordinals: {ordinal} is not in the layout of document {doc}; give all its chunks"
                ))),
            }
        };
        let hits = group.iter().map(position).collect::<Result<_>>()?;
        Ok(HitDocument { doc, layout, hits })
    };
    by_doc.chunk_by(|a, b| a.0 == b.0).map(document).collect()
}

/// The chunks around a hit, as indices in the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) hit: u32,
}

/// Joins the runs of one document that touch or overlap, and appends their passages.
pub(super) fn merge(
    runs: &mut [Run],
    hits: &[Hit],
    doc: i64,
    layout: Layout<'_>,
    passages: &mut Vec<Passage>,
) {
    runs.sort_unstable();
    let mut rest = &*runs;
    while let Some(&Run {
        first, mut last, ..
    }) = rest.first()
    {
        let joined = rest
            .iter()
            .take_while(|run| {
                let (next, end) = (&layout[run.first], &layout[last]);
                let touches = next.ordinal <= end.ordinal + 1 || next.span.start < end.span.end;
                last = if touches { last.max(run.last) } else { last };
                touches
            })
            .count();
        let mut best_first: Vec<u32> = rest[..joined].iter().map(|run| run.hit).collect();
        best_first.sort_unstable_by(|&a, &b| {
            let (first, second) = (hits[a as usize].score, hits[b as usize].score);
            second.total_cmp(&first).then(a.cmp(&b))
        });
        passages.push(Passage {
            doc,
            start: layout[first].span.start,
            end: layout[last].span.end,
            first: layout[first].ordinal,
            last: layout[last].ordinal,
            tokens: tokens(layout, first, last),
            score: hits[best_first[0] as usize].score,
            hits: best_first,
        });
        rest = &rest[joined..];
    }
}
