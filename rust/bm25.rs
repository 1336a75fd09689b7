//! How much is a posting worth?
//!
//! BM25F in its simple form (Robertson, Zaragoza, Taylor 2004): the fields of a chunk are weighted
//! into one before saturation. With `tf' = sum_f w_f tf_f` and `len' = sum_f w_f len_f`,
//!
//! ```text
//! score = sum over distinct terms of  q * idf * (k1 + 1) * tf' / (tf' + k1 (1 - b + b len' / mean len'))
//! idf   = ln(1 + (N - df + 0.5) / (df + 0.5))
//! ```
//!
//! where q is the word's weight in the query ([`crate::analyze::Asker`]), N, df and the mean count live
//! chunks only, and df those that hold the term in a field of positive weight. The factor k1 + 1 is
//! kept: it changes no order, and makes a single occurrence in a chunk of mean length worth its
//! idf. A term that the query repeats counts once: queries are short, and a question that says a
//! word twice means it no more.

use crate::error::{Error, Result};

/// How many fields a chunk has: its text, its outline and its context.
pub const FIELDS: usize = 3;

/// What a search may set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// Where a term's frequency saturates; 0 makes it present or absent.
    pub k1: f64,
    /// How much length counts, from 0 to 1.
    pub b: f64,
    /// What the fields weigh; a field of weight 0 is as if it were not there.
    pub weights: [f64; FIELDS],
}

impl Default for Bm25 {
    fn default() -> Self {
        Bm25 {
            k1: 1.2,
            b: 0.75,
            weights: [1.0; FIELDS],
        }
    }
}

impl Bm25 {
    /// Refuses what the formula has no meaning for.
    pub fn check(&self) -> Result<()> {
        let bad = |name, value: f64, want| {
            Err(Error::Invalid(format!(
                "{name} is {value}; it must be {want}"
            )))
        };
        if !(self.k1 >= 0.0 && self.k1.is_finite()) {
            return bad("k1", self.k1, "0 or more");
        }
        if !(0.0..=1.0).contains(&self.b) {
            return bad("b", self.b, "between 0 and 1");
        }
        for weight in self.weights {
            if !(weight >= 0.0 && weight.is_finite()) {
                return bad("a field's weight", weight, "0 or more");
            }
        }
        Ok(())
    }

    /// `idf * (k1 + 1)`: the score a term approaches as its frequency grows.
    pub fn ceiling(&self, chunks: u64, doc_freq: u64) -> f64 {
        idf(chunks, doc_freq) * (self.k1 + 1.0)
    }

    /// `len'` of a chunk.
    pub fn length(&self, lengths: [u64; FIELDS]) -> f64 {
        self.weights
            .iter()
            .zip(lengths)
            .map(|(weight, length)| weight * length as f64)
            .sum()
    }

    /// `k1 (1 - b + b len' / mean len')`: the weighted frequency at which a term gives half its
    /// ceiling.
    pub fn norm(&self, length: f64, mean: f64) -> f32 {
        let relative = if mean > 0.0 { length / mean } else { 1.0 };
        (self.k1 * (1.0 - self.b + self.b * relative)) as f32
    }
}

/// `tf' / (tf' + norm)`: the share of its ceiling that a term gives. A frequency is never 0.
#[inline(always)]
pub fn saturation(tf: f32, norm: f32) -> f32 {
    tf / (tf + norm)
}

/// How rare a term is: `ln(1 + (N - df + 0.5) / (df + 0.5))`, never negative (Lucene's form of
/// Robertson and Spärck Jones 1976).
pub fn idf(chunks: u64, doc_freq: u64) -> f64 {
    let (n, df) = (chunks as f64, doc_freq as f64);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_occurrence_in_a_chunk_of_mean_length_is_worth_its_idf() {
        let bm25 = Bm25::default();
        let norm = f64::from(bm25.norm(100.0, 100.0));
        let score = bm25.ceiling(1000, 10) * 1.0 / (1.0 + norm);
        assert!((score - idf(1000, 10)).abs() < 1e-6);
    }

    #[test]
    fn settings_without_meaning_are_refused() {
        let good = Bm25::default();
        for bad in [
            Bm25 { k1: -1.0, ..good },
            Bm25 {
                k1: f64::NAN,
                ..good
            },
            Bm25 { b: 1.5, ..good },
            Bm25 {
                weights: [1.0, -1.0, 1.0],
                ..good
            },
        ] {
            assert_eq!(bad.check().unwrap_err().python_name(), "ValueError");
        }
        assert_eq!(good.check(), Ok(()));
    }
}
