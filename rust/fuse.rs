//! Here are several rankings: which one do they make together?

/// One ranking's keys, best first, and how much it counts.
#[derive(Debug, Clone, Copy)]
pub struct Ranking<'a> {
    /// Chunk keys, best first.
    pub keys: &'a [i64],
    /// The weight of its reciprocal ranks.
    pub weight: f64,
}

/// Fuses rankings by weighted reciprocal ranks (Cormack, Clarke, Buettcher 2009).
///
/// A key scores the sum over rankings of `weight / (rrf_k + rank)`, ranks from 1; a key that a
/// ranking repeats counts at its best rank. Returns the best `k`, equal scores by smaller key.
pub fn fuse(rankings: &[Ranking<'_>], rrf_k: f64, k: usize) -> Vec<(i64, f32)> {
    let mut votes: Vec<(i64, u32, u32)> =
        Vec::with_capacity(rankings.iter().map(|ranking| ranking.keys.len()).sum());
    for (list, ranking) in (0u32..).zip(rankings) {
        votes.extend(
            (1u32..)
                .zip(ranking.keys)
                .map(|(rank, &key)| (key, list, rank)),
        );
    }
    // Sorted, a key's votes lie together, in the order of the lists (the sort is stable): the
    // sums, and so the scores, come out the same whatever a hash would have done.
    votes.sort_by_key(|vote| vote.0);
    votes.dedup_by_key(|vote| (vote.0, vote.1));
    let mut fused: Vec<(i64, f32)> = votes
        .chunk_by(|a, b| a.0 == b.0)
        .map(|votes| {
            let score: f64 = votes
                .iter()
                .map(|&(_, list, rank)| rankings[list as usize].weight / (rrf_k + f64::from(rank)))
                .sum();
            (votes[0].0, score as f32)
        })
        .collect();
    fused.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused.truncate(k);
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(keys: &[i64]) -> Ranking<'_> {
        Ranking { keys, weight: 1.0 }
    }

    #[test]
    fn a_key_in_both_lists_beats_the_heads_of_either() {
        let fused = fuse(&[ranking(&[1, 3]), ranking(&[2, 3])], 60.0, 10);
        assert_eq!(
            fused,
            [
                (3, (2.0f64 / 62.0) as f32),
                (1, (1.0f64 / 61.0) as f32),
                (2, (1.0f64 / 61.0) as f32),
            ]
        );
    }

    #[test]
    fn a_repeated_key_counts_once_at_its_best_rank() {
        assert_eq!(
            fuse(&[ranking(&[7, 8, 7, 7])], 60.0, 10),
            [(7, (1.0f64 / 61.0) as f32), (8, (1.0f64 / 62.0) as f32)]
        );
    }

    #[test]
    fn weights_scale_and_k_cuts() {
        let (a, b) = ([1], [2]);
        let lists = [
            Ranking {
                keys: &a,
                weight: 1.0,
            },
            Ranking {
                keys: &b,
                weight: 3.0,
            },
        ];
        assert_eq!(fuse(&lists, 0.0, 1), [(2, 3.0)]);
        assert_eq!(fuse(&[], 60.0, 5), []);
    }
}
