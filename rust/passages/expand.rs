//! Expansion of hits by their neighbours: the step "widen" with a fixed window.

use super::layout::{Layout, follows, tokens};
use super::passage::{Hit, HitDocument, Order, Passage, Run, group_by_document, merge};
use crate::error::Result;

/// How far a hit grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// No expansion: the chunk alone.
    None,
    /// Alternately after and before, up to this many tokens in all.
    Tokens(u32),
    /// By this many chunks on each side.
    Chunks(u32),
}

/// Expands each hit by whole neighbouring chunks; runs that touch or overlap become one passage.
///
/// The budget limits the growth of each hit, not the size of a passage: if the windows of two hits
/// meet, both are shown in one passage.
///
/// # Errors
/// [`crate::error::Error::Invalid`] if a hit's document has no layout, or the layout does not
/// contain its ordinal.
pub fn expand<'a>(
    hits: &[Hit],
    layout_of: impl Fn(i64) -> Option<Layout<'a>>,
    growth: Growth,
    within_section: bool,
    order: Order,
) -> Result<Vec<Passage>> {
    let mut passages: Vec<Passage> = Vec::with_capacity(hits.len());
    for HitDocument {
        doc,
        layout,
        hits: own,
    } in group_by_document(hits, layout_of)?
    {
        let mut runs: Vec<Run> = own
            .into_iter()
            .map(|(hit, at)| {
                let (first, last) = grow(layout, at, growth, within_section);
                Run { first, last, hit }
            })
            .collect();
        merge(&mut runs, hits, doc, layout, &mut passages);
    }
    order.sort(&mut passages);
    Ok(passages)
}

/// Returns the indices of the first and the last chunk of a hit's window.
fn grow(layout: Layout<'_>, hit: usize, growth: Growth, within_section: bool) -> (usize, usize) {
    let fits = |first: usize, last: usize| match growth {
        Growth::None => false,
        Growth::Tokens(budget) => tokens(layout, first, last) <= budget,
        Growth::Chunks(window) => hit - first <= window as usize && last - hit <= window as usize,
    };
    let allowed =
        |at: usize| !within_section || layout[at].span.section == layout[hit].span.section;
    let (mut first, mut last) = (hit, hit);
    let (mut after, mut before) = (true, true);
    while after || before {
        // A side ends at the first chunk that does not fit.
        after = after
            && last + 1 < layout.len()
            && follows(layout, last + 1)
            && allowed(last + 1)
            && fits(first, last + 1);
        last += usize::from(after);
        before = before && follows(layout, first) && allowed(first - 1) && fits(first - 1, last);
        first -= usize::from(before);
    }
    (first, last)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Error;
    use crate::passages::LayoutChunk;
    use crate::passages::tests::laid_out;
    use proptest::prelude::*;

    /// Chunks of 10 tokens and 40 code points; the second half is another section.
    fn layout(chunks: u32) -> Vec<LayoutChunk> {
        let span = |i: u32| {
            [
                i * 40,
                i * 40 + 40,
                i * 10,
                i * 10 + 10,
                u32::from(i >= chunks / 2),
            ]
        };
        laid_out((0..chunks).map(span))
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
        expand(
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
    fn the_budget_of_a_side_that_ends_goes_to_the_other() {
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
        let layout = laid_out([[0, 50, 0, 12, 0], [30, 80, 8, 20, 0], [45, 90, 11, 22, 0]]);
        let hits = [hit(0, 1.0), hit(2, 2.0)];
        let passages = expand(&hits, |_| Some(&layout), Growth::None, false, Order::Score).unwrap();
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
        let positions = |order| -> Vec<(i64, u32)> {
            expand(&hits, |_| Some(&layout), Growth::None, false, order)
                .unwrap()
                .iter()
                .map(|passage| (passage.doc, passage.first))
                .collect()
        };
        assert_eq!(positions(Order::Score), [(1, 6), (1, 3), (1, 9), (2, 0)]);
        assert_eq!(positions(Order::Document), [(1, 3), (1, 6), (1, 9), (2, 0)]);
    }

    #[test]
    fn an_ordinal_or_document_without_a_layout_is_an_error() {
        let layout = layout(2);
        let error = expand(
            &[hit(2, 1.0)],
            |_| Some(&layout),
            Growth::None,
            false,
            Order::Score,
        );
        assert_eq!(
            error,
            Err(Error::Invalid(
                "ordinals: 2 is not in the layout of document 1; give all its chunks".into()
            ))
        );
        let error = expand(&[hit(2, 1.0)], |_| None, Growth::None, false, Order::Score);
        assert_eq!(
            error,
            Err(Error::Invalid(
                "layouts: document 1 is missing; give the layout of each hit's document".into()
            ))
        );
    }

    proptest! {
        #[test]
        fn passages_do_not_touch_and_contain_every_hit_once(
            sizes in prop::collection::vec(1u32..50, 1..40),
            picks in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4), 1..12),
            budget in 0u32..200,
        ) {
            let mut at = 0;
            let layout = laid_out(sizes.iter().map(|size| {
                at += size;
                [(at - size) * 4, at * 4, at - size, at, 0]
            }));
            let hits: Vec<Hit> = picks
                .iter()
                .map(|(at, score)| hit(at.index(layout.len()) as u32, f32::from(*score)))
                .collect();
            let passages =
                expand(&hits, |_| Some(&layout), Growth::Tokens(budget), false, Order::Document)
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
