//! Selection against an enumeration of all sets of stretches.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::island::{self, Island, Mask};
use super::passage::group_by_document;
use super::select::at_lowest_price;
use super::*;

/// Returns a layout of (start, end, token_start, token_end, section).
pub(super) fn laid_out(spans: impl IntoIterator<Item = [u32; 5]>) -> Vec<LayoutChunk> {
    let chunk =
        |(ordinal, [start, end, token_start, token_end, section]): (u32, [u32; 5])| LayoutChunk {
            ordinal,
            span: ChunkSpan {
                start,
                end,
                token_start,
                token_end,
                section,
            },
        };
    (0u32..).zip(spans).map(chunk).collect()
}

/// Chunks of 100 tokens and 400 code points, in sections of so many chunks.
fn even(chunks: u32, section: u32) -> Vec<LayoutChunk> {
    laid_out((0..chunks).map(|i| [i * 400, i * 400 + 400, i * 100, i * 100 + 100, i / section]))
}

/// Hits in document 1, best first.
fn hits(ordinals: &[u32]) -> Vec<Hit> {
    let scores = (0u8..).map(|rank| 1.0 / f32::from(rank + 1));
    ordinals
        .iter()
        .zip(scores)
        .map(|(&ordinal, score)| Hit {
            doc: 1,
            ordinal,
            score,
        })
        .collect()
}

/// First and last chunk and the hits of each passage, best first.
fn selected(layout: Layout<'_>, ordinals: &[u32], budget: u32) -> Vec<(u32, u32, Vec<u32>)> {
    select(
        &hits(ordinals),
        |_| Some(layout),
        budget,
        false,
        Order::Score,
    )
    .unwrap()
    .into_iter()
    .map(|passage| (passage.first, passage.last, passage.hits))
    .collect()
}

#[test]
fn the_best_hit_is_shown_even_over_the_budget() {
    assert_eq!(selected(&even(9, 9), &[4, 0], 30), [(4, 4, vec![0])]);
    assert_eq!(selected(&even(9, 9), &[4, 0], 100), [(4, 4, vec![0])]);
}

#[test]
fn a_hit_is_selected_before_the_neighbours_of_another() {
    assert_eq!(
        selected(&even(30, 30), &[4, 24], 200),
        [(4, 4, vec![0]), (24, 24, vec![1])]
    );
}

#[test]
fn a_long_hit_is_selected_before_a_short_one_of_the_next_rank() {
    let lengths = [[100; 20], [300; 20], [100; 20]].concat();
    let starts = lengths.iter().scan(0, |next, length| {
        *next += length;
        Some(*next - length)
    });
    let spans = starts.zip(&lengths);
    let layout = laid_out(spans.map(|(at, size)| [at * 4, (at + size) * 4, at, at + size, 0]));
    assert_eq!(
        selected(&layout, &[4, 30, 50], 400),
        [(4, 4, vec![0]), (30, 30, vec![1])]
    );
}

#[test]
fn a_chunk_between_two_hits_is_selected_before_those_around_them() {
    assert_eq!(
        selected(&even(30, 30), &[14, 16], 300),
        [(14, 16, vec![0, 1])]
    );
}

#[test]
fn the_rest_of_the_budget_goes_to_the_text_around_the_best_hits() {
    assert_eq!(
        selected(&even(60, 60), &[10, 50], 500),
        [(8, 11, vec![0]), (50, 50, vec![1])]
    );
}

#[test]
fn without_a_tight_budget_all_text_within_reach_of_a_hit_is_selected() {
    assert_eq!(selected(&even(30, 30), &[10], 100_000), [(4, 16, vec![0])]);
}

#[test]
fn no_value_crosses_a_section_border() {
    let layout = even(12, 4);
    let given = |budget| -> Vec<(u32, u32)> {
        select(
            &hits(&[5, 8]),
            |_| Some(&layout),
            budget,
            true,
            Order::Document,
        )
        .unwrap()
        .iter()
        .map(|passage| (passage.first, passage.last))
        .collect()
    };
    assert_eq!(given(200), [(5, 5), (8, 8)]);
    assert_eq!(given(10_000), [(4, 11)]);
}

/// A document of chunks of 40 to 120 tokens, each starting up to 20 before or after the end of the
/// one before.
fn document(most: usize) -> impl Strategy<Value = Vec<LayoutChunk>> {
    prop::collection::vec((40u32..120, 0u32..40, any::<bool>()), 1..most).prop_map(|chunks| {
        let (mut end, mut section) = (20, 0);
        laid_out(chunks.into_iter().map(|(size, shift, opens)| {
            let start = end + shift - 20;
            end = start + size;
            section += u32::from(opens);
            [start * 4, end * 4, start, end, section]
        }))
    })
}

/// Documents, and hits in them, best first.
fn case(most: usize) -> impl Strategy<Value = (Vec<Vec<LayoutChunk>>, Vec<Hit>)> {
    let documents = prop::collection::vec(document(most), 1..4);
    let positions = prop::collection::vec((0usize..4, any::<prop::sample::Index>()), 1..7);
    (documents, positions).prop_map(|(documents, positions)| {
        let hits = positions
            .iter()
            .zip(0u8..)
            .map(|((doc, at), rank)| {
                let doc = doc % documents.len();
                Hit {
                    doc: doc as i64,
                    ordinal: at.index(documents[doc].len()) as u32,
                    score: 1.0 / f32::from(rank + 1),
                }
            })
            .collect();
        (documents, hits)
    })
}

fn islands<'a>(documents: &'a [Vec<LayoutChunk>], hits: &[Hit]) -> Vec<Island<'a>> {
    group_by_document(hits, |doc| documents.get(doc as usize).map(Vec::as_slice))
        .unwrap()
        .iter()
        .flat_map(|each| island::around(each, false))
        .collect()
}

proptest! {
    #[test]
    fn passages_fit_the_budget_do_not_touch_and_contain_hits_once(
        (documents, hits) in case(40), budget in 0u32..1500, within_section: bool,
    ) {
        let given = |order| {
            let layout_of = |doc: i64| documents.get(doc as usize).map(Vec::as_slice);
            select(&hits, layout_of, budget, within_section, order).unwrap()
        };
        let passages = given(Order::Document);
        let used: u32 = passages.iter().map(|passage| passage.tokens).sum();
        let best = documents[hits[0].doc as usize][hits[0].ordinal as usize].span;
        prop_assert!(used <= budget || passages.len() == 1 && used == best.token_end - best.token_start);
        prop_assert!(passages.iter().any(|passage| passage.hits.contains(&0)));
        for passage in &passages {
            let inside: Vec<u32> = (0u32..)
                .zip(&hits)
                .filter(|(_, hit)| hit.doc == passage.doc)
                .filter(|(_, hit)| (passage.first..=passage.last).contains(&hit.ordinal))
                .map(|(index, _)| index)
                .collect();
            prop_assert!(!inside.is_empty());
            prop_assert_eq!(&passage.hits, &inside);
            prop_assert_eq!(passage.score, hits[inside[0] as usize].score);
        }
        for pair in passages.windows(2) {
            prop_assert!(pair[0].doc < pair[1].doc || pair[0].last < pair[1].first);
        }
        let mut again = given(Order::Score);
        again.sort_by_key(|passage| (passage.doc, passage.start));
        prop_assert_eq!(again, passages);
    }

    #[test]
    fn the_stretches_of_a_price_are_the_best_of_all(
        (documents, hits) in case(10), price in 0.0..0.05f64,
    ) {
        for part in islands(&documents, &hits) {
            let chosen = part.best(price, &mut Vec::new());
            let value = |mask: &Mask| {
                let (value, tokens) = part.sums(mask);
                value - price * tokens
            };
            let highest = part.all().map(|mask| value(&mask)).fold(f64::MIN, f64::max);
            prop_assert!((value(&chosen) - highest).abs() < 1e-9);
        }
    }

    #[test]
    fn no_other_stretches_with_as_few_tokens_have_a_greater_value(
        (documents, hits) in case(5), budget in 0u32..800,
    ) {
        let parts = islands(&documents, &hits);
        let chosen = at_lowest_price(&parts, u64::from(budget));
        let sums = |masks: &[Mask]| {
            let each = parts.iter().zip(masks).map(|(part, mask)| part.sums(mask));
            each.fold((0.0, 0.0), |sum, (value, tokens)| (sum.0 + value, sum.1 + tokens))
        };
        let (value, tokens) = sums(&chosen);
        let mut all: Vec<Vec<Mask>> = vec![Vec::new()];
        for part in &parts {
            all = all
                .iter()
                .flat_map(|masks| part.all().map(move |mask| [&masks[..], &[mask]].concat()))
                .collect();
        }
        for other in &all {
            let (other_value, other_tokens) = sums(other);
            prop_assert!(other_tokens > tokens || other_value <= value + 1e-9);
        }
    }
}
