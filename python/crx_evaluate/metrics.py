"""Metrics of a ranking against gold spans."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crx_evaluate.datasets import Gold, GoldSpan


def gold_ranks(chunks: Sequence[GoldSpan], gold: Sequence[Gold]) -> list[int | None]:
    """Return, for each gold item, the smallest k at which it is found, from 1, or None.

    An item is found at k if the union of the top k chunks covers at least half of the characters
    of one of its spans.
    """
    return [
        min((rank for span in item.any if (rank := _rank(chunks, span)) is not None), default=None)
        for item in gold
    ]


def recall_at_k(ranks: Sequence[int | None], k: int) -> float:
    """Return the share of a query's gold items found at k."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """Return the reciprocal of the rank at which the first gold item is found, or 0."""
    return max((1 / rank for rank in ranks if rank is not None), default=0.0)


def ndcg_at_k(ranks: Sequence[int | None], k: int) -> float:
    """Return the normalized discounted cumulative gain at k (Järvelin, Kekäläinen 2002).

    The gain is the sum of 1 / log2(1 + rank) over the gold items found by rank k, the ideal gain
    that of a ranking which finds one item at each rank. If one chunk finds several items, they
    count at the following ranks, so that the result is at most 1.
    """
    found = sorted(rank for rank in ranks if rank is not None)
    effective = (max(rank, at) for at, rank in enumerate(found, start=1))
    gain = sum(1 / math.log2(1 + rank) for rank in effective if rank <= k)
    return gain / sum(1 / math.log2(1 + rank) for rank in range(1, min(len(ranks), k) + 1))


def coverage(passages: Sequence[GoldSpan], gold: Sequence[Gold]) -> float:
    """Return the share of a query's gold characters that passages contain, from 0 to 1.

    Of the spans of a gold item, the one with the largest share counts.
    """
    found = [max((_found_chars(passages, span) for span in item.any), key=_share) for item in gold]
    return sum(chars for chars, _ in found) / sum(size for _, size in found)


def whole_items(passages: Sequence[GoldSpan], gold: Sequence[Gold]) -> float:
    """Return the share of a query's gold items of which a span stands whole in passages."""
    found = [
        any(chars == size for chars, size in (_found_chars(passages, span) for span in item.any))
        for item in gold
    ]
    return sum(found) / len(found)


def _found_chars(passages: Sequence[GoldSpan], gold: GoldSpan) -> tuple[int, int]:
    """Return how many characters of a gold span passages contain, and how many it has."""
    spans = [
        (max(passage.start, gold.start), min(passage.end, gold.end))
        for passage in passages
        if passage.doc_id == gold.doc_id
    ]
    return _union([span for span in spans if span[0] < span[1]]), gold.end - gold.start


def _share(found: tuple[int, int]) -> float:
    chars, size = found
    return chars / size


def _rank(chunks: Sequence[GoldSpan], gold: GoldSpan) -> int | None:
    covered: list[tuple[int, int]] = []
    for rank, chunk in enumerate(chunks, start=1):
        start, end = max(chunk.start, gold.start), min(chunk.end, gold.end)
        if chunk.doc_id != gold.doc_id or start >= end:
            continue
        covered.append((start, end))
        if 2 * _union(covered) >= gold.end - gold.start:
            return rank
    return None


def _union(spans: Sequence[tuple[int, int]]) -> int:
    total, reached = 0, -1
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
