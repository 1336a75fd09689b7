//! Selection of the passages of greatest value under a budget of tokens: the step "widen" with
//! `window="auto"`.
//!
//! Each chunk near a hit has a value ([`super::island`]) and each token a price. For a given price
//! the best stretches are found exactly. The lowest price at which they fit the budget is the
//! Lagrange multiplier of the problem (Everett 1963): no other stretches with as few tokens have a
//! greater value. The rest of the budget is filled by value per token.

use super::island::{self, Island, Mask};
use super::layout::Layout;
use super::passage::{Hit, Order, Passage, group_by_document, merge};
use crate::error::Result;

/// Bisection steps of the price; the remaining interval is far below any chunk's value per token.
const BISECTIONS: usize = 48;

/// Selects the stretches whose total value is greatest under a budget of tokens.
///
/// Hits are given best first; the value of a hit follows from its rank. A passage is a stretch of
/// whole consecutive chunks around one or more hits, and may bridge chunks of low value. The best
/// hit is always in a passage, even if it exceeds the budget; other hits may be in none. With
/// `within_section` neither value nor a stretch crosses a section border, and passages that touch
/// there become one.
///
/// # Errors
/// [`crate::error::Error::Invalid`] if a hit's document has no layout, or the layout does not
/// contain its ordinal.
pub fn select<'a>(
    hits: &[Hit],
    layout_of: impl Fn(i64) -> Option<Layout<'a>>,
    budget_tokens: u32,
    within_section: bool,
    order: Order,
) -> Result<Vec<Passage>> {
    let mut islands = Vec::new();
    for document in group_by_document(hits, layout_of)? {
        islands.extend(island::around(&document, within_section));
    }
    let budget = u64::from(budget_tokens);
    let mut selected = at_lowest_price(&islands, budget);
    fill(&islands, &mut selected, budget);
    let mut passages = Vec::new();
    let parts: Vec<(Island<'_>, Mask)> = islands.into_iter().zip(selected).collect();
    for group in parts.chunk_by(|a, b| a.0.doc == b.0.doc) {
        let mut runs: Vec<_> = group
            .iter()
            .flat_map(|(part, mask)| part.runs(mask))
            .collect();
        merge(
            &mut runs,
            hits,
            group[0].0.doc,
            group[0].0.layout,
            &mut passages,
        );
    }
    order.sort(&mut passages);
    Ok(passages)
}

/// Returns the best stretches at the lowest price at which they fit the budget.
pub(super) fn at_lowest_price(islands: &[Island<'_>], budget: u64) -> Vec<Mask> {
    let at = |price: f64| -> Vec<Mask> { islands.iter().map(|part| part.best(price)).collect() };
    let fits = |selected: &[Mask]| tokens(islands, selected) <= budget;
    let free = at(0.0);
    if fits(&free) {
        return free;
    }
    // At this price only the best hit, which is required, is selected.
    let (mut low, mut high) = (0.0, islands.iter().map(Island::total).sum());
    let mut selected = at(high);
    for _ in 0..BISECTIONS {
        let price = f64::midpoint(low, high);
        let candidate = at(price);
        if fits(&candidate) {
            (high, selected) = (price, candidate);
        } else {
            low = price;
        }
    }
    selected
}

/// Adds hits, and neighbours of selected chunks, by value per token until the budget is used.
fn fill(islands: &[Island<'_>], selected: &mut [Mask], budget: u64) {
    let mut left = budget.saturating_sub(tokens(islands, selected));
    loop {
        let mut best: Option<(usize, usize, u64, f64)> = None;
        for (at, part) in islands.iter().enumerate() {
            for (chunk, cost, rate) in part.additions(&selected[at]) {
                if cost <= left && best.is_none_or(|(.., highest)| rate > highest) {
                    best = Some((at, chunk, cost, rate));
                }
            }
        }
        let Some((at, chunk, cost, _)) = best else {
            return;
        };
        selected[at][chunk] = true;
        left -= cost;
    }
}

/// Returns the tokens of all selected chunks.
fn tokens(islands: &[Island<'_>], selected: &[Mask]) -> u64 {
    islands
        .iter()
        .zip(selected)
        .map(|(part, mask)| part.tokens(mask))
        .sum()
}
