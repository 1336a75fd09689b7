"""How good a ranking is, against gold places."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crx.evaluate.datasets import Gold, GoldSpan


def ranks_found(chunks: Sequence[GoldSpan], gold: Sequence[Gold]) -> list[int | None]:
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


def covered(passages: Sequence[GoldSpan], gold: Sequence[Gold]) -> float:
    """Return the share of a query's gold characters that passages hold, from 0 to 1.

    A gold item counts with the place of which they hold the largest share.
    """
    held = [max((_held(passages, place) for place in item.any), key=_share) for item in gold]
    return sum(chars for chars, _ in held) / sum(size for _, size in held)


def _held(passages: Sequence[GoldSpan], place: GoldSpan) -> tuple[int, int]:
    """Return how many characters of a place passages hold, and how many it has."""
    spans = [
        (max(each.start, place.start), min(each.end, place.end))
        for each in passages
        if each.doc_id == place.doc_id
    ]
    return _union([span for span in spans if span[0] < span[1]]), place.end - place.start


def _share(held: tuple[int, int]) -> float:
    chars, size = held
    return chars / size


def _ranks(chunks: Sequence[GoldSpan], item: Gold) -> list[int]:
    ranks = (_rank(chunks, place) for place in item.any)
    return [rank for rank in ranks if rank is not None]


def _rank(chunks: Sequence[GoldSpan], place: GoldSpan) -> int | None:
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
