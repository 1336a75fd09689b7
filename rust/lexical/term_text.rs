//! The terms of a field as one text, in which parts of terms are found.
//!
//! To walk the terms' file takes 30 ns a term, to search this text a tenth of a nanosecond a byte.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use tantivy::{InvertedIndexReader, Result};

/// The bytes of the longest text that is kept, of a field of a segment: two million terms.
const MOST_BYTES: usize = 1 << 24;
/// What no term has.
const END: u8 = b'\n';

/// The terms of a field, each with an end; none if they are too many to be kept.
pub(super) struct TermText(Option<Vec<u8>>);

impl TermText {
    /// Reads the terms of a field.
    pub(super) fn of(index: &InvertedIndexReader) -> Result<Self> {
        let mut text = Vec::new();
        let mut stream = index.terms().stream()?;
        while stream.advance() {
            text.extend_from_slice(stream.key());
            text.push(END);
            if text.len() > MOST_BYTES {
                return Ok(TermText(None));
            }
        }
        Ok(TermText(Some(text)))
    }

    /// Returns the terms with a part, in order, none for an empty part; None if the terms are not kept.
    pub(super) fn terms_with(&self, part: &Finder<'_>) -> Option<Vec<&[u8]>> {
        let text = self.0.as_deref()?;
        let mut found = Vec::new();
        if part.needle().is_empty() {
            return Some(found);
        }
        let mut from = 0;
        while let Some(at) = part.find(&text[from..]).map(|at| from + at) {
            let start = memrchr(END, &text[..at]).map_or(0, |end| end + 1);
            let end = memchr(END, &text[at..]).map_or(text.len(), |end| at + end);
            found.push(&text[start..end]);
            from = end;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_found_once_by_any_of_its_parts() {
        let text = TermText(Some(b"arbor\nharbor\nharborharbor\nport\n".to_vec()));
        let with = |part: &str| text.terms_with(&Finder::new(part)).unwrap_or_default();
        assert_eq!(with("harbor"), [&b"harbor"[..], b"harborharbor"]);
        assert_eq!(with("arbor").len(), 3);
        assert_eq!(with("port"), [b"port"]);
        assert!(with("ship").is_empty());
        assert!(with("").is_empty());
        assert_eq!(TermText(None).terms_with(&Finder::new("a")), None);
    }
}
