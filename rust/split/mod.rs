//! Splitting of a text into chunks.
//!
//! Boundaries (possible cuts, each with a cost) come from the reader's structure, from blank
//! lines, line breaks and the ends of sentences. Only a stretch between two of them that exceeds
//! the budget is searched for finer ones: clauses, then words, then graphemes. Dynamic programming
//! then selects the boundaries for which the sum of their costs and of the costs of unevenly
//! filled chunks is least.
//!
//! Boundaries closer together than a 64th of the budget are thinned, so that the window of the
//! dynamic program contains about 64 of them. Time is therefore linear in the length of the text,
//! and memory a small multiple of it.

mod boundaries;
mod cheapest;
mod costs;
mod cut;
mod grain;
mod lines;
mod punctuation;
mod ruler;
mod scanner;

pub use cut::{Cut, Size};

use boundaries::Boundaries;
use cheapest::{cheapest, start_of_overlap};
use ruler::Ruler;

/// Splits a text into chunks: half-open spans of code points, in order, that cover it.
///
/// Without overlap each chunk starts at the end of the last one; with overlap it starts earlier, at
/// the best boundary within the overlap. No chunk exceeds the budget, unless a single character with
/// the whitespace after it does. `tokens` are the code points at which the document's tokens start,
/// ascending; a span contains the tokens that start in it. Whitespace belongs to the chunk before
/// it; a blank text has no chunks.
///
/// # Panics
/// If the budget is not above the overlap.
pub fn split(text: &str, cuts: &[Cut], tokens: Option<&[u32]>, size: Size) -> Vec<(u32, u32)> {
    assert!(
        size.budget > size.overlap,
        "the budget must be above the overlap"
    );
    let ruler = Ruler {
        tokens,
        budget: size.budget - size.overlap,
    };
    let boundaries = Boundaries::find(text, cuts, ruler);
    let chosen = cheapest(&boundaries, ruler);
    let mut spans = Vec::with_capacity(chosen.len());
    for (chunk, ends) in chosen.windows(2).enumerate() {
        // A chunk that exceeds the budget by itself repeats nothing.
        let full = !ruler.fits(boundaries[ends[0]], boundaries[ends[1]]);
        let start = match (chunk, size.overlap) {
            (0, _) | (_, 0) => boundaries[ends[0]].at,
            _ if full => boundaries[ends[0]].at,
            (_, overlap) => {
                let previous = &boundaries[chosen[chunk - 1]..=ends[0]];
                start_of_overlap(text, previous, ruler, overlap)
            }
        };
        spans.push((start, boundaries[ends[1]].at));
    }
    spans
}

#[cfg(test)]
mod tests;
