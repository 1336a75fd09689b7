"""Speed of fusing and widening two rankings of 150, against plain Python.

Timed from numpy arrays to the list of passages, with a budget of 1,600 tokens. The corpora are
synthetic: 40 documents of 13,000 tokens, cut into chunks of about 220 tokens or sentences of about
25; the rankings share half of their keys. Medians of one run.
Run: python benches/fuse_widen.py
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crx._native import PassageRow, fuse, widen

DEPTH, DOCS, TOKENS, BUDGET, RRF_K = 150, 40, 13_000, 1600, 60.0


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


@dataclass
class Corpus:
    """Two rankings, the layout of each document, and the document and ordinal of each key."""

    rankings: list[NDArray[np.int64]]
    layouts: dict[int, NDArray[np.uint32]]
    docs: NDArray[np.int64]
    ordinals: NDArray[np.uint32]


def make_corpus(chunk_tokens: int) -> Corpus:
    rng = np.random.default_rng(7)
    chunks = TOKENS // chunk_tokens
    layouts = {}
    for doc in range(DOCS):
        tokens = rng.integers(chunk_tokens // 4, chunk_tokens * 7 // 4, chunks)
        ends = np.cumsum(tokens)
        starts = ends - tokens
        layout = np.stack([starts * 4, ends * 4, starts, ends, starts * 0], axis=1)
        layouts[doc] = layout.astype(np.uint32)
    popular = rng.permutation(DOCS * chunks)[: DEPTH * 3 // 2]
    rankings = [rng.permutation(popular)[:DEPTH].astype(np.int64) for _ in range(2)]
    docs, ordinals = np.divmod(np.arange(DOCS * chunks), chunks)
    return Corpus(rankings, layouts, docs, ordinals.astype(np.uint32))


def native(corpus: Corpus) -> list[PassageRow]:
    keys, scores = fuse(corpus.rankings, weights=[1.0, 1.0], rrf_k=RRF_K, k=DEPTH)
    docs, ordinals = corpus.docs[keys], corpus.ordinals[keys]
    return widen(docs, ordinals, scores, layouts=corpus.layouts, budget_tokens=BUDGET)


def plain(corpus: Corpus) -> list[PlainPassage]:
    lists = [ranking.tolist() for ranking in corpus.rankings]
    fused = plain_fuse(lists, [1.0, 1.0], DEPTH)
    hits = [(int(corpus.docs[key]), int(corpus.ordinals[key]), score) for key, score in fused]
    layouts = {doc: layout.tolist() for doc, layout in corpus.layouts.items()}
    return plain_widen(hits, layouts, BUDGET)


def median_us(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}")
    for name, chunk_tokens in (("chunks", 220), ("sentences", 25)):
        case = make_corpus(chunk_tokens)
        ours, theirs = native(case), plain(case)
        places = [(p.doc, p.first, p.last, p.hits) for p in theirs]
        assert [(p.doc, p.first, p.last, p.hits) for p in ours] == places
        fast = median_us(partial(native, case), 2000)
        slow = median_us(partial(plain, case), 100)
        print(
            f"{name:10} {len(ours):4} passages   crx {fast:8.1f} us   "
            f"Python {slow:8.1f} us   x{slow / fast:.0f}"
        )


if __name__ == "__main__":
    main()
