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

/// The most prices that are tried; 20 hits take about ten.
const MOST_CROSSINGS: usize = 64;

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
///
/// The value of the best stretches, less their cost, is a convex function of the price: of all lines
/// `value - price * cost` it is the upper envelope. At the price at which the lines of a set over the
/// budget and of one within it cross, either a third set is better, which replaces one of the two,
/// or the lines are neighbours on the envelope and their crossing is the lowest price.
pub(super) fn at_lowest_price(islands: &[Island<'_>], budget: u64) -> Vec<Mask> {
    let at = |price: f64| Priced::new(islands, price);
    let mut over = at(0.0);
    if tokens(islands, &over.masks) <= budget {
        return over.masks;
    }
    // At this price only the best hit, which is required, is selected.
    let mut within = at(islands.iter().map(Island::total).sum());
    for _ in 0..MOST_CROSSINGS {
        let price = (over.value - within.value) / (over.cost - within.cost);
        if !price.is_finite() || price <= 0.0 {
            break;
        }
        let best = at(price);
        // More than rounding adds to the sums.
        if best.at(price) <= within.at(price) + 1e-12 * within.value {
            break;
        }
        if tokens(islands, &best.masks) <= budget {
            within = best;
        } else {
            over = best;
        }
    }
    within.masks
}

/// The best stretches at a price, with the sums of their values and costs.
struct Priced {
    masks: Vec<Mask>,
    value: f64,
    cost: f64,
}

impl Priced {
    fn new(islands: &[Island<'_>], price: f64) -> Self {
        let mut buffer = Vec::new();
        let best = |part: &Island<'_>| part.best(price, &mut buffer);
        let masks: Vec<Mask> = islands.iter().map(best).collect();
        let (mut value, mut cost) = (0.0, 0.0);
        for (part, mask) in islands.iter().zip(&masks) {
            let sums = part.sums(mask);
            (value, cost) = (value + sums.0, cost + sums.1);
        }
        Priced { masks, value, cost }
    }

    /// Returns the value at a price, less the cost.
    fn at(&self, price: f64) -> f64 {
        self.value - price * self.cost
    }
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
