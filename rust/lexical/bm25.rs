//! The BM25F formula in its simple form (Robertson, Zaragoza, Taylor 2004): the fields of a chunk are
//! weighted and summed before saturation. With `tf' = sum_f w_f tf_f` and `len' = sum_f w_f len_f`,
//!
//! ```text
//! score = sum over distinct terms of  q * idf * (k1 + 1) * tf' / (tf' + k1 (1 - b + b len' / mean len'))
//! idf   = ln(1 + (N - df + 0.5) / (df + 0.5))
//! ```
//!
//! where q is the term's weight in the query ([`crate::analyze::QueryAnalyzer`]). N, df and the mean
//! count live chunks only; df counts the chunks with the term in a field of positive weight. The
//! factor k1 + 1 does not change the order; with it, one occurrence in a chunk of mean length scores
//! the term's idf. A term that the query has n times weighs 1 + ln n.

use crate::error::{Error, Result};

/// The number of fields of a chunk: text, outline and context.
pub const FIELDS: usize = 3;

/// The parameters of the formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// The saturation of term frequency; with 0 a term is only present or absent.
    pub k1: f64,
    /// The strength of length normalization, from 0 to 1.
    pub b: f64,
    /// The field weights; a field of weight 0 is ignored.
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
    /// Checks that all parameters are in range.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the parameter that is not.
    pub fn check(&self) -> Result<()> {
        let bad =
            |name, value: f64, want| Err(Error::Invalid(format!("{name}: {value} is not {want}")));
        if !(self.k1 >= 0.0 && self.k1.is_finite()) {
            return bad("k1", self.k1, "0 or more");
        }
        if !(0.0..=1.0).contains(&self.b) {
            return bad("b", self.b, "between 0 and 1");
        }
        for weight in self.weights {
            if !(weight >= 0.0 && weight.is_finite()) {
                return bad("weights", weight, "0 or more");
            }
        }
        Ok(())
    }

    /// Returns `idf * (k1 + 1)`: the limit of a term's score as its frequency grows.
    pub fn ceiling(&self, chunks: u64, doc_freq: u64) -> f64 {
        idf(chunks, doc_freq) * (self.k1 + 1.0)
    }

    /// Returns `len'` of a chunk.
    pub fn length(&self, lengths: [u64; FIELDS]) -> f64 {
        self.weights
            .iter()
            .zip(lengths)
            .map(|(weight, length)| weight * length as f64)
            .sum()
    }

    /// Returns `k1 (1 - b + b len' / mean len')`: the weighted frequency at which a term scores half its
    /// ceiling.
    pub fn norm(&self, length: f64, mean: f64) -> f32 {
        let relative = if mean > 0.0 { length / mean } else { 1.0 };
        (self.k1 * (1.0 - self.b + self.b * relative)) as f32
    }
}

/// Returns `tf' / (tf' + norm)`: the share of its ceiling that a term scores. `tf` is not 0.
#[inline(always)]
pub fn saturation(tf: f32, norm: f32) -> f32 {
    tf / (tf + norm)
}

/// Returns the inverse document frequency `ln(1 + (N - df + 0.5) / (df + 0.5))`, never negative
/// (Lucene's form of Robertson and Spärck Jones 1976).
pub fn idf(chunks: u64, doc_freq: u64) -> f64 {
    let (n, df) = (chunks as f64, doc_freq as f64);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_occurrence_in_a_chunk_of_mean_length_scores_its_idf() {
        let bm25 = Bm25::default();
        let norm = f64::from(bm25.norm(100.0, 100.0));
        let score = bm25.ceiling(1000, 10) * 1.0 / (1.0 + norm);
        assert!((score - idf(1000, 10)).abs() < 1e-6);
    }

    #[test]
    fn parameters_out_of_range_are_errors() {
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
