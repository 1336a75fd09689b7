//! Weighted reciprocal rank fusion.

/// A ranking: keys, best first, and a weight.
#[derive(Debug, Clone, Copy)]
pub struct Ranking<'a> {
    /// Chunk keys, best first.
    pub keys: &'a [i64],
    /// The weight of its reciprocal ranks.
    pub weight: f64,
}

/// Fuses rankings by weighted reciprocal ranks (Cormack, Clarke, Buettcher 2009); returns the best `k`
/// keys with their scores, equal scores in ascending order of key.
///
/// The score of a key is the sum over rankings of `weight / (rrf_k + rank)`, ranks from 1; only the
/// best rank counts if a ranking repeats a key.
pub fn fuse(rankings: &[Ranking<'_>], rrf_k: f64, k: usize) -> Vec<(i64, f32)> {
    let mut places: Vec<(i64, u32, u32)> =
        Vec::with_capacity(rankings.iter().map(|ranking| ranking.keys.len()).sum());
    for (list, ranking) in (0u32..).zip(rankings) {
        places.extend(
            (1u32..)
                .zip(ranking.keys)
                .map(|(rank, &key)| (key, list, rank)),
        );
    }
    // A stable sort groups the places of a key in the order of the rankings, so that its sum does
    // not depend on a hash order.
    places.sort_by_key(|place| place.0);
    places.dedup_by_key(|place| (place.0, place.1));
    let mut fused: Vec<(i64, f32)> = places
        .chunk_by(|a, b| a.0 == b.0)
        .map(|places| {
            let score: f64 = places
                .iter()
                .map(|&(_, list, rank)| rankings[list as usize].weight / (rrf_k + f64::from(rank)))
                .sum();
            (places[0].0, score as f32)
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
    fn a_key_in_both_rankings_beats_the_best_key_of_either() {
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
    fn weights_scale_scores_and_k_limits_keys() {
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
