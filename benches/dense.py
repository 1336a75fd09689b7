"""Speed of the exact scan of 100,000 x 384 unit rows, against numpy and usearch.

The rows are random; the time of an exact scan does not depend on them. numpy multiplies in float32
(twice the bytes, because it has no fast float16) and selects with argpartition. Medians of 50
queries.
Run: python benches/dense.py
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crx._native import dense_topk

ROWS, DIM, K, QUERIES = 100_000, 384, 150, 50


def unit(values: NDArray[np.float32]) -> NDArray[np.float32]:
    rows: NDArray[np.float32] = values / np.linalg.norm(values, axis=1, keepdims=True)
    return rows


def search_numpy(matrix: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.intp]:
    products = matrix @ query
    best = np.argpartition(products, -K)[-K:]
    return best[np.argsort(-products[best])]


def median_ms(
    search: Callable[[NDArray[np.float32]], object], queries: NDArray[np.float32]
) -> float:
    times = []
    for query in queries:
        start = time.perf_counter()
        search(query)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def main() -> None:
    rng = np.random.default_rng(0)
    single = unit(rng.standard_normal((ROWS, DIM), dtype=np.float32))
    half = single.astype(np.float16)
    queries = unit(rng.standard_normal((QUERIES, DIM), dtype=np.float32))
    found, _ = dense_topk(single, queries[0], k=K)
    shared = len(set(found.tolist()) & set(search_numpy(single, queries[0]).tolist()))
    print(f"{platform.machine()}, {os.cpu_count()} cores, {ROWS} x {DIM}, k={K}, shared {shared}")
    rivals: dict[str, Callable[[NDArray[np.float32]], object]] = {
        "crx f16": lambda query: dense_topk(half, query, k=K),
        "crx f32": lambda query: dense_topk(single, query, k=K),
        "numpy f32": lambda query: search_numpy(single, query),
    }
    try:
        from usearch.index import search  # type: ignore[import-not-found]
    except ImportError:
        print("usearch is not installed and is left out")
    else:
        rivals["usearch f16"] = lambda query: search(
            half, query.astype(np.float16), K, "ip", exact=True
        )
    times = {name: median_ms(run, queries) for name, run in rivals.items()}
    for name, ms in times.items():
        print(f"{name:12} {ms:8.2f} ms   x{ms / times['crx f16']:.1f}")


if __name__ == "__main__":
    main()
