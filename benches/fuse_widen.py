"""Fusion and window expansion of two rankings of 150, against plain Python.

Measured from numpy arrays to the list of passages, everything between included. The corpus is
synthetic: documents of 60 chunks, the rankings share half of their keys, hits cluster in
documents as they do for a real query. Run: python benches/fuse_widen.py
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crx._native import fuse, widen

DEPTH, DOCS, CHUNKS, BUDGET, RRF_K = 150, 40, 60, 1600, 60.0


@dataclass
class PlainPassage:
    doc: int
    start: int
    end: int
    first: int
    last: int
    tokens: int
    score: float
    hits: list[int]


def plain_fuse(rankings: list[list[int]], weights: list[float], k: int) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        seen = set()
        for rank, key in enumerate(ranking, 1):
            if key not in seen:
                seen.add(key)
                scores[key] = scores.get(key, 0.0) + weight / (RRF_K + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]


def plain_widen(
    hits: list[tuple[int, int, float]], layouts: dict[int, list[list[int]]], budget: int
) -> list[PlainPassage]:
    runs = []
    for index, (doc, ordinal, _) in enumerate(hits):
        layout = layouts[doc]
        first = last = ordinal
        after = before = True
        while after or before:
            after = (
                after
                and last + 1 < len(layout)
                and layout[last + 1][3] - layout[first][2] <= budget
            )
            if after:
                last += 1
            before = before and first > 0 and layout[last][3] - layout[first - 1][2] <= budget
            if before:
                first -= 1
        runs.append((doc, first, last, index))
    passages: list[PlainPassage] = []
    for doc, first, last, index in sorted(runs):
        layout, score = layouts[doc], hits[index][2]
        previous = passages[-1] if passages else None
        if previous and previous.doc == doc and first <= previous.last + 1:
            previous.last = max(previous.last, last)
            previous.end = layout[previous.last][1]
            previous.tokens = layout[previous.last][3] - layout[previous.first][2]
            previous.score = max(previous.score, score)
            previous.hits.append(index)
        else:
            tokens = layout[last][3] - layout[first][2]
            passages.append(
                PlainPassage(
                    doc, layout[first][0], layout[last][1], first, last, tokens, score, [index]
                )
            )
    for passage in passages:
        passage.hits.sort(key=lambda index: (-hits[index][2], index))
    return sorted(passages, key=lambda p: (-p.score, p.doc, p.start))


def corpus() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    rng = np.random.default_rng(7)
    layouts = {}
    for doc in range(DOCS):
        tokens = rng.integers(40, 400, CHUNKS)
        ends = np.cumsum(tokens)
        starts = ends - tokens
        layout = np.stack([starts * 4, ends * 4, starts, ends, np.zeros(CHUNKS)], axis=1)
        layouts[doc] = layout.astype(np.uint32)
    popular = rng.permutation(DOCS * CHUNKS)[: DEPTH * 3 // 2]
    rankings = [rng.permutation(popular)[:DEPTH].astype(np.int64) for _ in range(2)]
    return rankings, layouts


def native(rankings: list[np.ndarray], layouts: dict[int, np.ndarray]) -> list[object]:
    keys, scores = fuse(rankings, weights=[1.0, 1.0], rrf_k=RRF_K, k=DEPTH)
    docs, ordinals = np.divmod(keys, CHUNKS)
    return widen(docs, ordinals.astype(np.uint32), scores, layouts=layouts, budget_tokens=BUDGET)  # type: ignore[return-value]


def plain(rankings: list[np.ndarray], layouts: dict[int, np.ndarray]) -> list[PlainPassage]:
    lists = [ranking.tolist() for ranking in rankings]
    fused = plain_fuse(lists, [1.0, 1.0], DEPTH)
    hits = [(*divmod(key, CHUNKS), score) for key, score in fused]
    return plain_widen(hits, {doc: layout.tolist() for doc, layout in layouts.items()}, BUDGET)


def median_us(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main() -> None:
    rankings, layouts = corpus()
    ours, theirs = native(rankings, layouts), plain(rankings, layouts)
    same = [(p.doc, p.first, p.last) for p in theirs]
    assert [(p.doc, p.first, p.last) for p in ours] == same  # type: ignore[attr-defined]
    fast = median_us(lambda: native(rankings, layouts), 2000)
    slow = median_us(lambda: plain(rankings, layouts), 200)
    print(f"{platform.machine()}, Python {platform.python_version()}, {len(same)} passages")
    print(f"crx    {fast:8.1f} us\nPython {slow:8.1f} us\nratio  {slow / fast:8.1f}")


if __name__ == "__main__":
    main()
