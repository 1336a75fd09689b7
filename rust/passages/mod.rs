//! Passages: the stretches of documents that are shown for hits.

mod expand;
mod island;
mod passage;
mod select;

pub use expand::{Growth, expand};
pub use passage::{Hit, Layout, Order, Passage};
pub use select::select;

#[cfg(test)]
mod tests;
