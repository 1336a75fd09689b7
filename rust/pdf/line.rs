//! Lines of a page, as they are read.

use super::geometry::Rect;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line of text.
    Text,
    /// A row of a table, with tabs between its cells.
    Row,
}

/// A line in reading order.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The text of the line.
    pub text: String,
    /// The box on the page.
    pub rect: Rect,
    /// The height of its type.
    pub size: f32,
    /// Whether most of its characters are bold.
    pub bold: bool,
    /// Whether it is a row of a table.
    pub kind: Kind,
    /// The number of its block: a column, a table, or text between them.
    pub block: u32,
    /// Whether a paragraph begins with it.
    pub opens: bool,
}
