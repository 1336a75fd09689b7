//! The input of a split: structural cuts, and the size of chunks.

/// A position at which the structure of the text allows a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// The code point before which to cut.
    pub at: u32,
    /// 1 is the strongest.
    pub level: u32,
}

/// The size of chunks, in tokens, or in code points if the text has no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The most that a chunk may contain, its overlap included.
    pub budget: u32,
    /// The most that a chunk may repeat of the chunk before it; below the budget.
    pub overlap: u32,
}
