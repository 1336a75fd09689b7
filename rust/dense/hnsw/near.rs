//! A row and its score in one word.

use std::cmp::Ordering;

/// A row with its inner product with a query. The greater one is nearer; of equal scores it is the
/// smaller row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near(u64);

const SIGN: u32 = 1 << 31;

impl Near {
    /// NaN counts as minus infinity.
    #[inline]
    pub(super) fn new(score: f32, row: u32) -> Self {
        let score = if score.is_nan() {
            f32::NEG_INFINITY
        } else {
            // Adding 0 turns -0 into 0, so that the two compare as equal.
            score + 0.0
        };
        // Negative numbers have all bits inverted, so that the bits are in the order of the numbers.
        let bits = score.to_bits();
        let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        Near(u64::from(ordered) << 32 | u64::from(!row))
    }

    #[inline]
    pub(super) fn row(self) -> u32 {
        !(self.0 as u32)
    }

    #[inline]
    pub(super) fn score(self) -> f32 {
        let ordered = (self.0 >> 32) as u32;
        f32::from_bits(if ordered & SIGN == 0 {
            !ordered
        } else {
            ordered ^ SIGN
        })
    }
}

/// A row of which the least near one is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Far(pub(super) Near);

impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Far {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.cmp(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_scores_and_keep_them() {
        let scores = [
            f32::NAN,
            f32::MIN,
            -1.0,
            -f32::MIN_POSITIVE,
            -0.0,
            0.0,
            f32::MIN_POSITIVE,
            1.0,
            f32::MAX,
        ];
        for (at, &score) in scores.iter().enumerate() {
            let near = Near::new(score, 7);
            assert_eq!(near.row(), 7);
            let kept = if score.is_nan() {
                f32::NEG_INFINITY
            } else {
                score
            };
            assert!(near.score() == kept, "{score}");
            for &greater in &scores[at + 1..] {
                let equal = score == greater;
                assert_eq!(near < Near::new(greater, 7), !equal, "{score} {greater}");
            }
        }
        assert!(Near::new(0.5, 3) > Near::new(0.5, 4));
        assert!(Near::new(-0.0, 3) > Near::new(0.0, 4));
    }
}
