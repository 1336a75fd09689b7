"""Fusion of rankings by relative scores and reciprocal ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.types import Ranking


class WeightedRanking(NamedTuple):
    """A ranking, the weight of each of its keys, and the score of a chunk that it does not hold.

    That score, `lowest`, matters to rankings of less than 50 keys alone.
    """

    ranking: Ranking
    weights: NDArray[np.float64]
    lowest: float


def fuse(
    rankings: Sequence[WeightedRanking], *, score_share: float, rrf_k: float, k: int
) -> Ranking:
    """Return the best k keys of several rankings, by the weighted sum of their parts.

    The part of a key in a ranking is `score_share` of its relative score, which is 1 for the best
    key and 0 from rank 50 on, and the rest of its reciprocal rank,
    `(rrf_k + 1) / (rrf_k + rank)`, which is 1 for the best key, too. With `score_share=0` the order
    is that of weighted reciprocal rank fusion (Cormack, Clarke, Büttcher 2009), with 1 that of a
    convex combination of scores (Bruch, Gai, Ingber 2023). Equal sums go to the key with the better
    rank, then to the smaller.
    """
    parts = [
        (each.ranking.keys, each.ranking.scores, each.weights, each.lowest) for each in rankings
    ]
    return Ranking(*_native.fuse_scores(parts, score_share=score_share, rrf_k=rrf_k, k=k))
