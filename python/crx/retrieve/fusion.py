"""Fusion: the rankings of the legs by relative scores and reciprocal ranks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.protocols import Embedder
from crx.retrieve._legs.dense_languages import UNREAD_WEIGHT, weigh_by_language
from crx.retrieve.query_language import is_foreign
from crx.retrieve.search_state import EMPTY, Search
from crx.types import LEGS, Ranking

# The dense leg weighs as the share of chunks with vectors to this power: the best of few chunks is
# seldom the best of all. Of 0.5, 0.75 and 1, 0.5 rose most with the share, and cost nothing at 10%.
SHARE_POWER = 0.5
# The name of the fused ranking among those of a search.
_FUSED = "fuse"


class WeightedRanking(NamedTuple):
    """A ranking, the weight of each of its keys, and the score of a chunk that it does not hold.

    That score, `lowest`, matters to rankings of less than 50 keys alone.
    """

    ranking: Ranking
    weights: NDArray[np.float64]
    lowest: float


def fuse_legs(search: Search) -> Search:
    """Return the search with the candidates of its legs; a single leg keeps its ranking.

    The dense leg weighs less if some of BM25's chunks have no vector yet; these are not punished
    for it. BM25 weighs less if the query is in another language than all documents: what they share
    is a name or chance.
    """
    parameters = search.parameters
    found = [search.rankings[leg] for leg in LEGS if leg in search.rankings]
    if len(found) < 2:
        (only,) = found or [EMPTY]
        return search._replace(ranking=only)
    assert parameters.embedder is not None, "a dense ranking, and no embedder"
    bm25, dense = search.rankings["bm25"], search.rankings["dense"]
    weigh = partial(_weigh_dense, search, parameters.embedder)
    dense_weight, note = weigh(dense.keys)
    read = UNREAD_WEIGHT if is_foreign(search.query, search.searcher.langs) else 1.0
    bm25_weight = np.full(len(bm25.keys), read * (1 - parameters.weights.dense_weight))
    pending = search.searcher.without_vector(bm25.keys)
    if len(pending):
        unknown = np.isin(bm25.keys, pending)
        share = float(1 - unknown.mean()) ** SHARE_POWER
        dense_weight = share * dense_weight
        # What the dense leg would give a chunk is taken to be what BM25 gives it.
        unknown_weight, _ = weigh(bm25.keys[unknown])
        bm25_weight[unknown] += share * unknown_weight
    weighted = [
        WeightedRanking(bm25, bm25_weight, 0.0),
        # A cosine has no natural zero: that of the last hit is taken.
        WeightedRanking(dense, dense_weight, min([1.0, *dense.scores[-1:].tolist()])),
    ]
    weights, k = parameters.weights, len(bm25.keys) + len(dense.keys)
    fused = fuse(weighted, score_share=weights.score_share, rrf_k=weights.rrf_k, k=k)
    rankings = {**search.rankings, _FUSED: fused}
    return search._replace(ranking=fused, rankings=rankings).noting(note)


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


def _weigh_dense(
    search: Search, embedder: Embedder, keys: NDArray[np.int64]
) -> tuple[NDArray[np.float64], str]:
    """Return the weight in the dense leg of each chunk, and a note on their languages, or ""."""
    by_language, note = weigh_by_language(
        embedder,
        search.query,
        keys,
        langs=search.searcher.langs,
        langs_of=partial(_langs_of, search),
    )
    return search.parameters.weights.dense_weight * by_language, note


def _langs_of(search: Search, keys: NDArray[np.int64]) -> list[str]:
    """Return the language of each chunk, "" for one that was removed from the store since."""
    rows = search.rows.read(keys.tolist())
    return [rows[key].lang if key in rows else "" for key in keys.tolist()]
