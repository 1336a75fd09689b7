//! The rows of the sheets of Office Open XML workbooks, as text.
//!
//! A part is fed piece by piece while it is decompressed: [xml] is a parser that takes pieces,
//! [strings] keeps the strings that the sheets share, and [rows] the cells. [number] shows a number
//! in the general format and in formats of one row of digits, [date] dates and times. These are the
//! formats of most cells. The front parses the codes of number formats and shows all others.

pub mod date;
pub mod number;
pub mod rows;
pub mod strings;
mod text;
mod xml;

#[cfg(test)]
mod tests;
