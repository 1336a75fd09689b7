//! Lines of a PDF page in reading order, from the positions of its characters.
//!
//! PDFium gives the characters of a page in the order in which they are drawn. They are joined to
//! segments, stretches of text without a wide gap ([`segment`]); those that run from right to left
//! are put into the order in which they are read ([`bidi`]). Empty vertical strips between
//! segments are the gutters of columns or of tables ([`gutter`]): columns are read one after the
//! other, a row of a table is one line with tabs between its cells ([`layout`]).
//!
//! The characters are read through the addresses of PDFium's functions ([`source`]): calls from
//! Python, one for each character, would take longer than everything else.

mod bidi;
mod field;
mod geometry;
mod gutter;
mod layout;
mod legible;
mod line;
mod segment;
mod source;

pub use field::FieldText;
pub use geometry::Rect;
pub use layout::read_page;
pub use line::{Kind, Line};
pub use source::{Glyph, GlyphSource, PdfiumFunctions, PdfiumPage, Style};

#[cfg(test)]
mod tests;
