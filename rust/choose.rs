//! Here are scores: which stretches are worth their tokens?
//!
//! Each chunk near a hit has a worth (`island.rs`), each token a price. At a given price the best
//! stretches are found exactly; the lowest price whose stretches fit the budget is the Lagrange
//! multiplier of the whole (Everett 1963): no other stretches with as few tokens are worth more.
//! What room it leaves is filled by worth per token.

mod island;

use crate::error::Result;
use crate::widen::{Hit, Layout, Order, Passage, documents, merge};
use island::{Island, Mask};

/// Halvings of the price's range; what is left of it is far below any chunk's worth per token.
const HALVINGS: usize = 48;

/// Chooses the stretches whose summed worth is greatest under a budget of tokens.
///
/// Hits are given best first; the worth of each follows from its place. A passage is a stretch of
/// whole consecutive chunks around one or more of them, over weak ones between where that pays.
/// The best hit is always in one, even where it alone is over the budget; other hits may be in
/// none. With `within_section` neither worth nor a stretch crosses a section's border, and
/// passages that touch there become one.
///
/// # Errors
/// [`crate::error::Error::Invalid`] where a hit's document has no layout, or its ordinal lies
/// outside of it.
pub fn choose<'a>(
    hits: &[Hit],
    layout_of: impl Fn(i64) -> Option<Layout<'a>>,
    budget_tokens: u32,
    within_section: bool,
    order: Order,
) -> Result<Vec<Passage>> {
    let mut islands = Vec::new();
    for document in documents(hits, layout_of)? {
        let ordinal_of = |hit: u32| hits[hit as usize].ordinal as usize;
        islands.extend(island::around(&document, ordinal_of, within_section));
    }
    let budget = u64::from(budget_tokens);
    let mut chosen = at_lowest_price(&islands, budget);
    fill(&islands, &mut chosen, budget);
    let mut passages = Vec::new();
    let parts: Vec<(Island<'_>, Mask)> = islands.into_iter().zip(chosen).collect();
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

/// The best stretches at the lowest price at which they fit.
fn at_lowest_price(islands: &[Island<'_>], budget: u64) -> Vec<Mask> {
    let at = |price: f64| -> Vec<Mask> { islands.iter().map(|part| part.best(price)).collect() };
    let fits = |chosen: &[Mask]| tokens(islands, chosen) <= budget;
    let free = at(0.0);
    if fits(&free) {
        return free;
    }
    // At this price nothing is bought but the best hit, which has to be.
    let (mut low, mut high) = (0.0, islands.iter().map(Island::total).sum());
    let mut chosen = at(high);
    for _ in 0..HALVINGS {
        let price = f64::midpoint(low, high);
        let candidate = at(price);
        if fits(&candidate) {
            (high, chosen) = (price, candidate);
        } else {
            low = price;
        }
    }
    chosen
}

/// Adds hits, and chunks beside what is chosen, by worth per token while there is room.
fn fill(islands: &[Island<'_>], chosen: &mut [Mask], budget: u64) {
    let mut room = budget.saturating_sub(tokens(islands, chosen));
    loop {
        let mut best: Option<(usize, usize, u64, f64)> = None;
        for (at, part) in islands.iter().enumerate() {
            for (chunk, cost, rate) in part.additions(&chosen[at]) {
                if cost <= room && best.is_none_or(|(.., highest)| rate > highest) {
                    best = Some((at, chunk, cost, rate));
                }
            }
        }
        let Some((at, chunk, cost, _)) = best else {
            return;
        };
        chosen[at][chunk] = true;
        room -= cost;
    }
}

/// Tokens of all that is chosen.
fn tokens(islands: &[Island<'_>], chosen: &[Mask]) -> u64 {
    islands
        .iter()
        .zip(chosen)
        .map(|(part, mask)| part.tokens(mask))
        .sum()
}

#[cfg(test)]
mod tests;
