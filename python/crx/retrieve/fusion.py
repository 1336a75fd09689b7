"""Stage of fusion: the rankings of the legs by relative scores and reciprocal ranks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.ingest.source_code import is_source_code
from crx.retrieve.dense_languages import weigh_by_language
from crx.retrieve.document_name import BEST_CHUNKS
from crx.retrieve.recency import RECENCY_DEPTH
from crx.retrieve.search_state import EMPTY, Search
from crx.types import LEGS, Ranking

# How much more the dense leg weighs in the fusion if most of the best chunks are source code with
# outlines: their vectors hold the names of what they define. From 1.25 to 2.3, three sets of
# questions about source files gained 0 to 4 points at 20. Without outlines 1.5 gained nothing.
CODE_DENSE_FACTOR = 1.5


class WeightedRanking(NamedTuple):
    """A ranking, the weight of each of its keys, and the score of a chunk that it does not hold.

    That score, `lowest`, matters to rankings of less than 50 keys alone.
    """

    ranking: Ranking
    weights: NDArray[np.float64]
    lowest: float


def fuse_legs(search: Search) -> Search:
    """Return the search with the best candidates of its legs; a single leg keeps its ranking.

    The dense leg weighs more if most of the best chunks of BM25 are source code with outlines.
    """
    parameters = search.parameters
    k = max(search.candidates, RECENCY_DEPTH) if parameters.recency else search.candidates
    found = [search.rankings[leg] for leg in LEGS if leg in search.rankings]
    if len(found) < 2:
        (only,) = found or [EMPTY]
        return search._replace(ranking=Ranking(only.keys[:k], only.scores[:k]))
    assert parameters.embedder is not None, "a dense ranking, and no embedder"
    bm25, dense = search.rankings["bm25"], search.rankings["dense"]
    by_language, note = weigh_by_language(
        parameters.embedder,
        search.query,
        dense.keys,
        langs=search.searcher.langs,
        langs_of=partial(_langs_of, search),
    )
    weights = parameters.weights
    dense_weight = weights.dense_weight * by_language
    if _are_outlined_code(search, bm25.keys[:BEST_CHUNKS]):
        dense_weight = CODE_DENSE_FACTOR * dense_weight
    weighted = [
        WeightedRanking(bm25, np.full(len(bm25.keys), weights.bm25_weight), 0.0),
        # A cosine has no natural zero: that of the last hit is taken.
        WeightedRanking(dense, dense_weight, float(dense.scores.min(initial=1.0))),
    ]
    fused = fuse(weighted, score_share=weights.score_share, rrf_k=weights.rrf_k, k=k)
    return search._replace(ranking=fused).noting(note)


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


def _are_outlined_code(search: Search, keys: NDArray[np.int64]) -> bool:
    """Return whether most of some chunks are source code with an outline."""
    rows = search.rows.read(keys.tolist()).values()
    return 2 * sum(bool(row.outline) and is_source_code(row.text) for row in rows) > len(rows)


def _langs_of(search: Search, keys: NDArray[np.int64]) -> list[str]:
    """Return the language of each chunk, "" for one that was removed from the store since."""
    rows = search.rows.read(keys.tolist())
    return [rows[key].lang if key in rows else "" for key in keys.tolist()]
