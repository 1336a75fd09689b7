//! Passages: the stretches of documents that are shown for hits.

mod expand;
mod island;
mod layout;
mod passage;
mod position;
mod select;

pub use expand::{Growth, expand};
pub use island::REACH_TOKENS;
pub use layout::{ChunkSpan, Layout, LayoutChunk};
pub use passage::{Hit, Order, Passage};
pub use position::{Position, line_breaks, position_in};
pub use select::select;

#[cfg(test)]
mod tests;
