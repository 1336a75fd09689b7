//! The cheapest set of cuts, by dynamic programming, and the start of an overlap.

use super::costs::{FILL_WEIGHT, FREE_FILL};
use super::grain::each_word;
use super::ruler::{Boundary, Ruler};

/// Returns the indices of the boundaries between chunks for which the sum of all costs is least.
pub(super) fn cheapest(boundaries: &[Boundary], ruler: Ruler<'_>) -> Vec<usize> {
    let Some(end) = boundaries.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut best = vec![0.0f64; boundaries.len()];
    let mut back = vec![0u32; boundaries.len()];
    let mut first = 0;
    for to in 1..boundaries.len() {
        while first + 1 < to && !ruler.fits(boundaries[first], boundaries[to]) {
            first += 1;
        }
        best[to] = f64::INFINITY;
        for from in first..to {
            let uneven = ruler.fill(boundaries[from], boundaries[to]) - FREE_FILL;
            let cost = best[from] + f64::from(FILL_WEIGHT * uneven * uneven + boundaries[to].cost);
            if cost < best[to] {
                (best[to], back[to]) = (cost, from as u32);
            }
        }
    }
    let mut chosen = vec![end];
    let mut at = end;
    while at > 0 {
        at = back[at] as usize;
        chosen.push(at);
    }
    chosen.reverse();
    chosen
}

/// Returns the start of a chunk that repeats up to `overlap` of the chunk with these boundaries, which
/// is the one before it.
pub(super) fn start_of_overlap(
    text: &str,
    boundaries: &[Boundary],
    ruler: Ruler<'_>,
    overlap: u32,
) -> u32 {
    let end = boundaries[boundaries.len() - 1];
    let near = |boundary: &Boundary| ruler.size(*boundary, end) <= u64::from(overlap);
    let inner = &boundaries[1..boundaries.len() - 1];
    if let Some(boundary) = inner
        .iter()
        .filter(|boundary| near(boundary))
        .min_by(|a, b| a.cost.total_cmp(&b.cost))
    {
        return boundary.at;
    }
    // No sentence is short enough: repeat its last words.
    let mut last = boundaries[boundaries.len() - 2];
    let (at, byte) = (last.at, last.byte);
    let mut start = end.at;
    each_word(&text[byte..end.byte], |chars, bytes, cost| {
        if start == end.at {
            last = ruler.boundary(last, at + chars, byte + bytes, cost);
            start = if near(&last) { last.at } else { start };
        }
    });
    start
}
