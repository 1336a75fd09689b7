//! The layout of a document: the spans of its chunks.

/// The position of a chunk in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSpan {
    /// Its first code point.
    pub start: u32,
    /// The code point after its last.
    pub end: u32,
    /// Its first token of the document.
    pub token_start: u32,
    /// The token after its last.
    pub token_end: u32,
    /// 1 + the index, in the document's marks, of the innermost heading or definition around it; 0
    /// for none.
    pub section: u32,
}

/// A chunk of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutChunk {
    /// Its ordinal in the document, from 0.
    pub ordinal: u32,
    /// Its position.
    pub span: ChunkSpan,
}

/// The chunks of a document, or those that are within reach of its hits, by ordinal. Starts and ends
/// are ascending; chunks may overlap.
pub type Layout<'a> = &'a [LayoutChunk];

/// Returns whether the chunk at an index directly follows the one at the index before.
pub(super) fn follows(layout: Layout<'_>, at: usize) -> bool {
    at > 0 && layout[at - 1].ordinal + 1 == layout[at].ordinal
}

/// Returns the tokens from the start of one chunk to the end of another; overlaps count once.
pub(super) fn tokens(layout: Layout<'_>, first: usize, last: usize) -> u32 {
    layout[last]
        .span
        .token_end
        .saturating_sub(layout[first].span.token_start)
}
