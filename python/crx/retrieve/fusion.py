"""Fusion of rankings by relative scores and reciprocal ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crx.types import Ranking

# The rank from which scores count as 0. The scores of few hits are spread alike in small and large
# corpora, those of all hits are not.
FLOOR_RANK = 50


@dataclass(frozen=True, slots=True)
class WeightedRanking:
    """A ranking, the weight of each of its keys, and the score of a chunk that it does not hold.

    That score, `lowest`, matters to rankings of less than `FLOOR_RANK` keys alone.
    """

    ranking: Ranking
    weights: NDArray[np.float64]
    lowest: float


def fuse(
    rankings: Sequence[WeightedRanking], *, score_share: float, rrf_k: float, k: int
) -> Ranking:
    """Return the best k keys of several rankings, by the weighted sum of their parts.

    The part of a key in a ranking is `score_share` of its relative score, which is 1 for the best
    key and 0 from rank `FLOOR_RANK` on, and the rest of its reciprocal rank,
    `(rrf_k + 1) / (rrf_k + rank)`, which is 1 for the best key, too. With `score_share=0` the order
    is that of weighted reciprocal rank fusion (Cormack, Clarke, Büttcher 2009), with 1 that of a
    convex combination of scores (Bruch, Gai, Ingber 2023). Equal sums go to the key with the better
    rank, then to the smaller.
    """
    if not rankings:
        return Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
    ranks = [np.arange(1, len(each.ranking.keys) + 1) for each in rankings]
    parts = [
        each.weights
        * (
            score_share * _relative_scores(each)
            + (1 - score_share) * (rrf_k + 1) / (rrf_k + ranks_of_each)
        )
        for each, ranks_of_each in zip(rankings, ranks, strict=True)
    ]
    keys, rows = np.unique(
        np.concatenate([each.ranking.keys for each in rankings]), return_inverse=True
    )
    # Sums in single precision, as they are shown: what looks equal is equal.
    sums = np.bincount(rows, np.concatenate(parts), len(keys)).astype(np.float32)
    best = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(best, rows, np.concatenate(ranks))
    order = np.lexsort((keys, best, -sums))[:k]
    return Ranking(keys[order], sums[order])


def _relative_scores(weighted: WeightedRanking) -> NDArray[np.float64]:
    """Return the scores on a scale from 0, at the floor, to 1; zeros if none is above it."""
    scores = weighted.ranking.scores.astype(np.float64)
    floor = scores[FLOOR_RANK - 1] if len(scores) >= FLOOR_RANK else weighted.lowest
    above = np.maximum(scores - floor, 0.0)
    highest = above.max(initial=0.0)
    return above / highest if highest > 0 else np.zeros_like(above)
