"""How good a ranking is, against gold places."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crx.evaluate.sets import Gold, Place


def ranks_found(chunks: Sequence[Place], gold: Sequence[Gold]) -> list[int | None]:
    """Return for each gold item the smallest k whose top k chunks find it, from 1, or None.

    An item is found at k when the union of the top k chunks covers at least half of the
    characters of one of its places.
    """
    return [min(_ranks(chunks, item), default=None) for item in gold]


def recall_at_k(ranks: Sequence[int | None], k: int) -> float:
    """Return the share of a query's gold items found at k."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """Return 1 / the rank at which the first gold item is found, or 0."""
    return max((1 / rank for rank in ranks if rank is not None), default=0.0)


def ndcg_at_k(ranks: Sequence[int | None], k: int) -> float:
    """Return the normalized discounted cumulative gain at k (Järvelin, Kekäläinen 2002).

    The sum of 1 / log2(1 + rank) over the gold items found by rank k, over that of a ranking which
    finds one item at each rank from 1. An item counts once; where one chunk finds several, they
    count at the ranks that follow, so that nothing exceeds 1.
    """
    found = sorted(rank for rank in ranks if rank is not None)
    places = (max(rank, at) for at, rank in enumerate(found, start=1))
    gain = sum(1 / math.log2(1 + rank) for rank in places if rank <= k)
    return gain / sum(1 / math.log2(1 + rank) for rank in range(1, min(len(ranks), k) + 1))


def covered(passages: Sequence[Place], gold: Sequence[Gold]) -> float:
    """Return the share of the gold items' characters that the passages hold.

    Of each item the place that is covered best counts; the share is the mean over items.
    """
    return sum(max(_share(passages, place) for place in item.any) for item in gold) / len(gold)


def _share(passages: Sequence[Place], place: Place) -> float:
    spans = [
        (max(p.start, place.start), min(p.end, place.end))
        for p in passages
        if p.doc_id == place.doc_id and p.start < place.end and p.end > place.start
    ]
    return _union(spans) / (place.end - place.start)


def _ranks(chunks: Sequence[Place], item: Gold) -> list[int]:
    ranks = (_rank(chunks, place) for place in item.any)
    return [rank for rank in ranks if rank is not None]


def _rank(chunks: Sequence[Place], place: Place) -> int | None:
    covered: list[tuple[int, int]] = []
    for rank, chunk in enumerate(chunks, start=1):
        start, end = max(chunk.start, place.start), min(chunk.end, place.end)
        if chunk.doc_id != place.doc_id or start >= end:
            continue
        covered.append((start, end))
        if 2 * _union(covered) >= place.end - place.start:
            return rank
    return None


def _union(spans: Sequence[tuple[int, int]]) -> int:
    total, reached = 0, -1
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
