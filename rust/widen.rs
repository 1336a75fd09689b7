//! Here are hits: which stretches of their documents should be read?

use crate::error::{Error, Result};

/// A document's chunks by ordinal: start, end, token_start, token_end, section. Starts and ends
/// ascend; chunks may overlap.
pub type Layout<'a> = &'a [[u32; 5]];

const START: usize = 0;
const END: usize = 1;
pub(crate) const TOKEN_START: usize = 2;
pub(crate) const TOKEN_END: usize = 3;
pub(crate) const SECTION: usize = 4;

/// A chunk that answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its document.
    pub doc: i64,
    /// Its place in the document, from 0.
    pub ordinal: u32,
    /// Larger is better.
    pub score: f32,
}

/// How far a hit grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Not at all: the bare chunk.
    None,
    /// After and before in turn, while the stretch holds at most this many tokens.
    Tokens(u32),
    /// By this many chunks on each side.
    Chunks(u32),
}

/// In which order passages are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Best first; equal scores by document, then start.
    Score,
    /// By document, then start.
    Document,
}

impl Order {
    /// Puts passages that are in document order into this one.
    pub(crate) fn sort(self, passages: &mut [Passage]) {
        // The sort is stable.
        if self == Order::Score {
            passages.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
    }
}

/// One stretch of one document around one or more hits.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The document.
    pub doc: i64,
    /// Code points, half open.
    pub start: u32,
    /// End of the stretch.
    pub end: u32,
    /// Ordinal of its first chunk.
    pub first: u32,
    /// Ordinal of its last chunk.
    pub last: u32,
    /// Tokens from its first to its last, those in overlaps once.
    pub tokens: u32,
    /// The score of its best hit.
    pub score: f32,
    /// The hits it was made from, as indices, best first.
    pub hits: Vec<u32>,
}

/// Grows each hit by whole neighbouring chunks; runs that touch or overlap become one passage.
///
/// The budget bounds the growth of each hit, not the passage: where the windows of two hits meet,
/// the whole is shown once. Cutting it back to one budget would show a hit without the neighbours
/// that another hit, with fewer hits beside it, is given.
///
/// # Errors
/// [`Error::Invalid`] where a hit's document has no layout, or its ordinal lies outside of it.
pub fn widen<'a>(
    hits: &[Hit],
    layout_of: impl Fn(i64) -> Option<Layout<'a>>,
    growth: Growth,
    within_section: bool,
    order: Order,
) -> Result<Vec<Passage>> {
    let mut passages: Vec<Passage> = Vec::with_capacity(hits.len());
    for Document {
        doc,
        layout,
        hits: own,
    } in documents(hits, layout_of)?
    {
        let mut runs: Vec<Run> = own
            .into_iter()
            .map(|hit| {
                let ordinal = hits[hit as usize].ordinal as usize;
                let (first, last) = grow(layout, ordinal, growth, within_section);
                Run { first, last, hit }
            })
            .collect();
        merge(&mut runs, hits, doc, layout, &mut passages);
    }
    order.sort(&mut passages);
    Ok(passages)
}

/// A document that has hits: their indices, ascending.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) doc: i64,
    pub(crate) layout: Layout<'a>,
    pub(crate) hits: Vec<u32>,
}

/// The documents of hits, ascending, each with its layout; checks that it holds the hits.
pub(crate) fn documents<'a>(
    hits: &[Hit],
    layout_of: impl Fn(i64) -> Option<Layout<'a>>,
) -> Result<Vec<Document<'a>>> {
    let mut by_doc: Vec<(i64, u32)> = hits
        .iter()
        .zip(0u32..)
        .map(|(hit, index)| (hit.doc, index))
        .collect();
    by_doc.sort_unstable();
    let document = |group: &[(i64, u32)]| {
        let doc = group[0].0;
        let layout = layout_of(doc)
            .ok_or_else(|| Error::Invalid(format!("layouts: document {doc} is missing")))?;
        let own: Vec<u32> = group.iter().map(|&(_, hit)| hit).collect();
        let outside = own
            .iter()
            .map(|&hit| hits[hit as usize].ordinal as usize)
            .find(|&ordinal| ordinal >= layout.len());
        if let Some(ordinal) = outside {
            return Err(Error::Invalid(format!(
                "ordinals: document {doc} has {} chunks, none is number {ordinal}",
                layout.len()
            )));
        }
        Ok(Document {
            doc,
            layout,
            hits: own,
        })
    };
    by_doc.chunk_by(|a, b| a.0 == b.0).map(document).collect()
}

/// The chunks `first..=last` in which a hit is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) hit: u32,
}

/// Joins the runs of one document that touch, by chunk or by text, and appends their passages.
pub(crate) fn merge(
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
                let touches = run.first <= last + 1 || layout[run.first][START] < layout[last][END];
                last = if touches { last.max(run.last) } else { last };
                touches
            })
            .count();
        let mut answers: Vec<u32> = rest[..joined].iter().map(|run| run.hit).collect();
        answers.sort_unstable_by(|&a, &b| {
            let (first, second) = (hits[a as usize].score, hits[b as usize].score);
            second.total_cmp(&first).then(a.cmp(&b))
        });
        passages.push(Passage {
            doc,
            start: layout[first][START],
            end: layout[last][END],
            first: first as u32,
            last: last as u32,
            tokens: tokens(layout, first, last),
            score: hits[answers[0] as usize].score,
            hits: answers,
        });
        rest = &rest[joined..];
    }
}

/// Tokens from the start of one chunk to the end of another: what overlaps counts once.
fn tokens(layout: Layout<'_>, first: usize, last: usize) -> u32 {
    layout[last][TOKEN_END].saturating_sub(layout[first][TOKEN_START])
}

/// The first and the last ordinal that a hit grows to.
fn grow(layout: Layout<'_>, hit: usize, growth: Growth, within_section: bool) -> (usize, usize) {
    let fits = |first: usize, last: usize| match growth {
        Growth::None => false,
        Growth::Tokens(budget) => tokens(layout, first, last) <= budget,
        Growth::Chunks(window) => hit - first <= window as usize && last - hit <= window as usize,
    };
    let allowed =
        |ordinal: usize| !within_section || layout[ordinal][SECTION] == layout[hit][SECTION];
    let (mut first, mut last) = (hit, hit);
    let (mut after, mut before) = (true, true);
    while after || before {
        // A side is done at its first refusal: what lies beyond a chunk that does not fit is no
        // neighbour.
        after = after && last + 1 < layout.len() && allowed(last + 1) && fits(first, last + 1);
        last += usize::from(after);
        before = before && first > 0 && allowed(first - 1) && fits(first - 1, last);
        first -= usize::from(before);
    }
    (first, last)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Chunks of 10 tokens and 40 code points; the second half is another section.
    fn layout(chunks: u32) -> Vec<[u32; 5]> {
        (0..chunks)
            .map(|i| {
                [
                    i * 40,
                    i * 40 + 40,
                    i * 10,
                    i * 10 + 10,
                    u32::from(i >= chunks / 2),
                ]
            })
            .collect()
    }

    fn hit(ordinal: u32, score: f32) -> Hit {
        Hit {
            doc: 1,
            ordinal,
            score,
        }
    }

    fn runs(hits: &[Hit], growth: Growth, within_section: bool) -> Vec<(u32, u32, Vec<u32>)> {
        let layout = layout(10);
        widen(
            hits,
            |_| Some(&layout),
            growth,
            within_section,
            Order::Score,
        )
        .unwrap()
        .into_iter()
        .map(|passage| (passage.first, passage.last, passage.hits))
        .collect()
    }

    #[test]
    fn a_hit_grows_after_then_before_until_the_budget_is_full() {
        let grown = |budget| runs(&[hit(4, 1.0)], Growth::Tokens(budget), false)[0].clone();
        assert_eq!(grown(9), (4, 4, vec![0]));
        assert_eq!(grown(20), (4, 5, vec![0]));
        assert_eq!(grown(30), (3, 5, vec![0]));
        assert_eq!(grown(45), (3, 6, vec![0]));
        assert_eq!(grown(1000), (0, 9, vec![0]));
    }

    #[test]
    fn a_side_that_is_closed_leaves_the_budget_to_the_other() {
        assert_eq!(
            runs(&[hit(0, 1.0)], Growth::Tokens(30), false),
            [(0, 2, vec![0])]
        );
        assert_eq!(
            runs(&[hit(4, 1.0)], Growth::Tokens(30), true),
            [(2, 4, vec![0])]
        );
        assert_eq!(
            runs(&[hit(5, 1.0)], Growth::Chunks(2), true),
            [(5, 7, vec![0])]
        );
    }

    #[test]
    fn windows_that_touch_become_one_passage_with_its_hits_best_first() {
        let hits = [hit(1, 0.5), hit(4, 0.9), hit(8, 0.7), hit(1, 0.9)];
        assert_eq!(
            runs(&hits, Growth::Chunks(1), false),
            [(0, 5, vec![1, 3, 0]), (7, 9, vec![2])]
        );
        assert_eq!(
            runs(&hits[..2], Growth::None, false),
            [(4, 4, vec![1]), (1, 1, vec![0])]
        );
    }

    #[test]
    fn chunks_that_share_text_become_one_passage() {
        let layout = [[0, 50, 0, 12, 0], [30, 80, 8, 20, 0], [45, 90, 11, 22, 0]];
        let hits = [hit(0, 1.0), hit(2, 2.0)];
        let passages = widen(&hits, |_| Some(&layout), Growth::None, false, Order::Score).unwrap();
        assert_eq!(
            passages,
            [Passage {
                doc: 1,
                start: 0,
                end: 90,
                first: 0,
                last: 2,
                tokens: 22,
                score: 2.0,
                hits: vec![1, 0],
            }]
        );
    }

    #[test]
    fn equal_scores_come_by_document_and_start() {
        let layout = layout(10);
        let hits = [
            Hit {
                doc: 2,
                ordinal: 0,
                score: 1.0,
            },
            Hit {
                doc: 1,
                ordinal: 9,
                score: 1.0,
            },
            Hit {
                doc: 1,
                ordinal: 3,
                score: 1.0,
            },
            Hit {
                doc: 1,
                ordinal: 6,
                score: 2.0,
            },
        ];
        let places = |order| -> Vec<(i64, u32)> {
            widen(&hits, |_| Some(&layout), Growth::None, false, order)
                .unwrap()
                .iter()
                .map(|passage| (passage.doc, passage.first))
                .collect()
        };
        assert_eq!(places(Order::Score), [(1, 6), (1, 3), (1, 9), (2, 0)]);
        assert_eq!(places(Order::Document), [(1, 3), (1, 6), (1, 9), (2, 0)]);
    }

    #[test]
    fn an_ordinal_or_document_without_a_layout_is_an_error() {
        let layout = layout(2);
        let error = widen(
            &[hit(2, 1.0)],
            |_| Some(&layout),
            Growth::None,
            false,
            Order::Score,
        );
        assert_eq!(
            error,
            Err(Error::Invalid(
                "ordinals: document 1 has 2 chunks, none is number 2".into()
            ))
        );
        let error = widen(&[hit(2, 1.0)], |_| None, Growth::None, false, Order::Score);
        assert_eq!(
            error,
            Err(Error::Invalid("layouts: document 1 is missing".into()))
        );
    }

    proptest! {
        #[test]
        fn passages_are_apart_and_hold_every_hit_once(
            sizes in prop::collection::vec(1u32..50, 1..40),
            picks in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4), 1..12),
            budget in 0u32..200,
        ) {
            let mut at = 0;
            let layout: Vec<[u32; 5]> = sizes
                .iter()
                .map(|size| {
                    at += size;
                    [(at - size) * 4, at * 4, at - size, at, 0]
                })
                .collect();
            let hits: Vec<Hit> = picks
                .iter()
                .map(|(at, score)| hit(at.index(layout.len()) as u32, f32::from(*score)))
                .collect();
            let passages =
                widen(&hits, |_| Some(&layout), Growth::Tokens(budget), false, Order::Document)
                    .unwrap();
            for pair in passages.windows(2) {
                prop_assert!(pair[0].last + 1 < pair[1].first);
            }
            let mut seen: Vec<u32> = passages.iter().flat_map(|p| p.hits.clone()).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..hits.len() as u32).collect::<Vec<_>>());
            for passage in &passages {
                let inside = |hit: &u32| {
                    (passage.first..=passage.last).contains(&hits[*hit as usize].ordinal)
                };
                prop_assert!(passage.hits.iter().all(inside));
                prop_assert!(
                    passage.hits.len() > 1 || passage.tokens <= budget || passage.first == passage.last
                );
            }
        }
    }
}
