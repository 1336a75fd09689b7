//! The terms of a text, as numbers.

use crate::interner::Interner;

/// The terms of a text, in order, as numbers of a vocabulary to which new ones are added.
pub(super) struct Terms<'a> {
    vocabulary: &'a mut Interner,
    numbers: &'a mut Vec<u32>,
}

impl<'a> Terms<'a> {
    /// Returns terms that are appended to `numbers`.
    pub(super) fn new(vocabulary: &'a mut Interner, numbers: &'a mut Vec<u32>) -> Self {
        Terms {
            vocabulary,
            numbers,
        }
    }

    /// Appends a term.
    pub(super) fn push(&mut self, term: &str) {
        let number = self.number(term);
        self.numbers.push(number);
    }

    /// Appends a term by its number.
    #[inline]
    pub(super) fn push_number(&mut self, number: u32) {
        self.numbers.push(number);
    }

    /// Appends several terms by their numbers.
    pub(super) fn push_numbers(&mut self, numbers: &[u32]) {
        self.numbers.extend_from_slice(numbers);
    }

    /// Returns the number of a term.
    pub(super) fn number(&mut self, term: &str) -> u32 {
        self.vocabulary.intern(term.as_bytes())
    }
}
