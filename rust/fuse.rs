//! Fusion of rankings by relative scores and reciprocal ranks.

use rustc_hash::FxHashMap;

/// The rank from which scores count as 0. The scores of few hits are spread alike in small and large
/// corpora, those of all hits are not.
pub const FLOOR_RANK: usize = 50;

/// A ranking with scores, and the weight of each key.
#[derive(Debug, Clone, Copy)]
pub struct ScoredRanking<'a> {
    /// Chunk keys, best first.
    pub keys: &'a [i64],
    /// The score of each.
    pub scores: &'a [f32],
    /// The weight of each.
    pub weights: &'a [f64],
    /// The score of a chunk that it does not hold; it matters to rankings of less than 50 keys alone.
    pub lowest: f64,
}

/// A key's rank in one ranking, and what that adds to its score.
struct Part {
    key: i64,
    rank: usize,
    score: f64,
}

/// Returns the best `k` keys of several rankings with their scores: weighted sums of their parts.
///
/// The part of a key in a ranking is `score_share` of its relative score, which is 1 for the best key
/// and 0 from rank 50 on, and the rest of its reciprocal rank, `(rrf_k + 1) / (rrf_k + rank)`. With a
/// share of 0 the order is that of weighted reciprocal ranks (Cormack, Clarke, Buettcher 2009), with 1
/// that of a convex combination of scores (Bruch, Gai, Ingber 2023). Equal sums go to the key with the better rank, then to the smaller.
///
/// # Panics
/// If a ranking has not one score and one weight a key.
pub fn fuse_scores(
    rankings: &[ScoredRanking<'_>],
    score_share: f64,
    rrf_k: f64,
    k: usize,
) -> Vec<(i64, f32)> {
    let mut parts: Vec<Part> = Vec::new();
    for ranking in rankings {
        parts.extend(parts_of(ranking, score_share, rrf_k));
    }
    // A stable sort: the parts of a key are added in the order of the rankings.
    parts.sort_by_key(|part| part.key);
    let mut fused: Vec<(i64, f32, usize)> = parts
        .chunk_by(|a, b| a.key == b.key)
        .map(|parts| {
            let sum: f64 = parts.iter().map(|part| part.score).sum();
            let best = parts.iter().map(|part| part.rank).min().unwrap_or(0);
            // In single precision, as it is shown: what looks equal is equal. Adding 0 turns -0
            // into 0.
            (parts[0].key, sum as f32 + 0.0, best)
        })
        .collect();
    fused.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.2.cmp(&b.2)).then(a.0.cmp(&b.0)));
    fused.truncate(k);
    fused.into_iter().map(|(key, sum, _)| (key, sum)).collect()
}

/// Returns the rank of each key in a ranking, from 1, and 0 for one that it does not hold.
pub fn ranks(ranking: &[i64], keys: &[i64]) -> Vec<usize> {
    let asked: FxHashMap<i64, usize> = keys.iter().copied().zip(0..).collect();
    let mut ranks = vec![0; keys.len()];
    for (key, rank) in ranking.iter().zip(1..) {
        if let Some(&at) = asked.get(key) {
            ranks[at] = rank;
        }
    }
    ranks
}

fn parts_of(
    ranking: &ScoredRanking<'_>,
    score_share: f64,
    rrf_k: f64,
) -> impl Iterator<Item = Part> {
    let &ScoredRanking {
        keys,
        scores,
        weights,
        lowest,
    } = ranking;
    assert!(
        keys.len() == scores.len() && keys.len() == weights.len(),
        "a ranking has one score and one weight a key"
    );
    let floor = scores
        .get(FLOOR_RANK - 1)
        .map_or(lowest, |&score| f64::from(score));
    let above = move |score: f32| (f64::from(score) - floor).max(0.0);
    let highest = scores.iter().copied().map(above).fold(0.0, f64::max);
    let each = keys.iter().zip(scores.iter().zip(weights));
    each.zip(1usize..)
        .map(move |((&key, (&score, &weight)), rank)| {
            let relative = match highest > 0.0 {
                true => above(score) / highest,
                false => 0.0,
            };
            let reciprocal = (1.0 - score_share) * (rrf_k + 1.0) / (rrf_k + rank as f64);
            Part {
                key,
                rank,
                score: weight * (score_share * relative + reciprocal),
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_ranks_of_a_ranking() {
        assert_eq!(ranks(&[7, 3, 9], &[9, 1, 7]), [3, 0, 1]);
    }

    #[test]
    fn a_part_is_half_the_relative_score_and_half_the_reciprocal_rank() {
        let rankings = [
            ScoredRanking {
                keys: &[1, 2],
                scores: &[8.0, 6.0],
                weights: &[0.75, 0.75],
                lowest: 0.0,
            },
            ScoredRanking {
                keys: &[2, 1],
                scores: &[0.75, 0.5],
                weights: &[0.25, 0.25],
                lowest: 0.5,
            },
        ];
        let first = 0.75 + 0.25 * (0.5 * 0.0 + 0.5 * 5.0 / 6.0);
        let second = 0.75 * (0.5 * 0.75 + 0.5 * 5.0 / 6.0) + 0.25;
        assert_eq!(
            fuse_scores(&rankings, 0.5, 4.0, 9),
            [(1, first as f32), (2, second as f32)]
        );
    }
}
