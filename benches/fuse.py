"""Speed of fusing two rankings of 150, against plain Python.

Timed from numpy arrays to numpy arrays; plain Python starts from lists. The rankings share half of
their keys. Medians of one run.
Run: python benches/fuse.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from harness import commit, processor
from numpy.typing import NDArray

from crx._native import fuse

DEPTH, RRF_K = 150, 60.0


def plain_fuse(rankings: list[list[int]], weights: list[float], k: int) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        seen = set()
        for rank, key in enumerate(ranking, 1):
            if key not in seen:
                seen.add(key)
                scores[key] = scores.get(key, 0.0) + weight / (RRF_K + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]


def make_rankings() -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(7)
    popular = rng.permutation(10_000)[: DEPTH * 3 // 2]
    return [rng.permutation(popular)[:DEPTH].astype(np.int64) for _ in range(2)]


def median_us(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main() -> None:
    rankings = make_rankings()
    lists = [ranking.tolist() for ranking in rankings]
    native = partial(fuse, rankings, weights=[1.0, 1.0], rrf_k=RRF_K, k=DEPTH)
    plain = partial(plain_fuse, lists, [1.0, 1.0], DEPTH)
    assert native()[0].tolist() == [key for key, _ in plain()]
    fast, slow = median_us(native, 2000), median_us(plain, 2000)
    print(f"{processor()}, commit {commit()}\n")
    print("| | microseconds | times slower |")
    print("|---|---:|---:|")
    print(f"| crx | {fast:.1f} | 1.0 |")
    print(f"| plain Python | {slow:.1f} | {slow / fast:.1f} |")


if __name__ == "__main__":
    main()
