//! The terms of a text.

/// The character after each term in [`Terms::joined`].
pub const SEPARATOR: char = '\0';

/// The terms of a text, in order, kept as one string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    joined: String,
    count: u32,
}

impl Terms {
    /// Returns the number of terms, repeats included.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Returns whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Iterates over the terms, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.joined.split_terminator(SEPARATOR)
    }

    /// Returns the terms as one string, each followed by [`SEPARATOR`], which no term contains.
    pub fn joined(&self) -> &str {
        &self.joined
    }

    /// Removes all terms and keeps the allocation.
    pub fn clear(&mut self) {
        self.joined.clear();
        self.count = 0;
    }

    /// Appends a term.
    pub(super) fn push(&mut self, term: &str) {
        self.joined.push_str(term);
        self.joined.push(SEPARATOR);
        self.count += 1;
    }

    /// Appends `count` terms in the form of [`Terms::joined`].
    pub(super) fn push_joined(&mut self, joined: &str, count: u32) {
        self.joined.push_str(joined);
        self.count += count;
    }
}
