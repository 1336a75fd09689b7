//! Lines of a PDF page in reading order, from the positions of its characters.
//!
//! PDFium gives the characters of a page in the order in which they are drawn. They are joined to
//! segments, stretches of text without a wide gap ([`segment`]). Empty vertical strips between
//! segments are the gutters of columns or of tables ([`gutter`]): columns are read one after the
//! other, a row of a table is one line with tabs between its cells ([`layout`]).
//!
//! The characters are read through the addresses of PDFium's functions ([`source`]): calls from
//! Python, one for each character, would take longer than everything else.

mod geometry;
mod gutter;
mod layout;
mod line;
mod segment;
mod source;

pub use layout::read_page;
pub use line::{Kind, Line};
pub use source::{Glyph, GlyphSource, PdfiumFunctions, PdfiumPage, Style};

#[cfg(test)]
mod tests;
