//! The rows that a search may find.

use std::ops::Range;

/// Rows among those of one matrix. A function of a row's number selects the rows for which it returns
/// true.
pub trait Selection: Sync {
    /// Returns the selected rows that are in a range, in ascending order.
    fn within(&self, rows: Range<usize>) -> impl Iterator<Item = usize>;
}

impl<F: Fn(usize) -> bool + Sync> Selection for F {
    #[inline]
    fn within(&self, rows: Range<usize>) -> impl Iterator<Item = usize> {
        rows.filter(|&row| self(row))
    }
}

/// A set of rows, as a bitmap.
#[derive(Clone, Default)]
pub(super) struct RowSet {
    /// A bit a row.
    words: Vec<u64>,
    /// The number of rows in the set.
    len: usize,
}

impl RowSet {
    /// Returns the set of no row of so many.
    pub(super) fn none(rows: usize) -> Self {
        RowSet {
            words: vec![0; rows.div_ceil(64)],
            len: 0,
        }
    }

    /// Returns the set of all of so many rows.
    pub(super) fn all(rows: usize) -> Self {
        let mut set = RowSet::none(rows);
        set.insert(0..rows);
        set
    }

    /// Returns the number of rows in the set.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether a row is in the set.
    #[inline]
    pub(super) fn contains(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// Adds consecutive rows.
    pub(super) fn insert(&mut self, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        for word in rows.start / 64..rows.end.div_ceil(64) {
            let first = rows.start.max(word * 64) % 64;
            let count = rows.end.min(word * 64 + 64) - word * 64 - first;
            let added = (u64::MAX >> (64 - count) << first) & !self.words[word];
            self.len += added.count_ones() as usize;
            self.words[word] |= added;
        }
    }

    /// Removes the rows of another set of the same matrix.
    pub(super) fn remove(&mut self, other: &RowSet) {
        self.len = 0;
        for (word, removed) in self.words.iter_mut().zip(&other.words) {
            *word &= !removed;
            self.len += word.count_ones() as usize;
        }
    }
}

impl Selection for RowSet {
    #[inline]
    fn within(&self, rows: Range<usize>) -> impl Iterator<Item = usize> {
        let words = rows.start / 64..rows.end.div_ceil(64);
        words.flat_map(move |at| {
            let mut word = self.words[at];
            if at * 64 < rows.start {
                word &= u64::MAX << (rows.start % 64);
            }
            if at * 64 + 64 > rows.end {
                word &= u64::MAX >> (64 - rows.end % 64);
            }
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_added_removed_and_listed() {
        for (first, end) in [
            (0, 0),
            (70, 70),
            (0, 1),
            (3, 64),
            (63, 65),
            (64, 128),
            (5, 200),
            (130, 200),
        ] {
            let mut set = RowSet::none(200);
            set.insert(first..end);
            set.insert(first..end);
            assert_eq!(set.len(), end - first);
            assert!((0..200).all(|row| set.contains(row) == (first..end).contains(&row)));
            for (from, to) in [(0, 200), (1, 64), (64, 64), (63, 66), (70, 70), (70, 190)] {
                let expected: Vec<_> = (first.max(from)..end.min(to)).collect();
                assert_eq!(set.within(from..to).collect::<Vec<_>>(), expected);
            }
            let mut rest = RowSet::all(200);
            rest.remove(&set);
            assert_eq!(rest.len(), 200 - set.len());
            assert!((0..200).all(|row| rest.contains(row) != set.contains(row)));
        }
    }
}
