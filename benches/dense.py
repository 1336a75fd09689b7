"""Speed of the exact scan of 100,000 x 384 unit rows, against numpy, faiss, usearch and the memory.

    pip install faiss-cpu usearch
    python benches/dense.py [--rows 100000] [--rounds 25] [--json FILE]

The rows are random; the time of an exact scan does not depend on them. "read" is the sum of the
same bytes by numpy, in 64-bit words: no scan is faster than the memory. numpy multiplies in
float32 (twice the bytes, because it has no fast float16) and selects with argpartition. Every
contestant has one thread; they take turns, and the medians of the CPU time are compared.
"""

from __future__ import annotations

import argparse
import os

# Read when the libraries are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}

from collections.abc import Callable

import numpy as np
from harness import Seconds, commit, medians, processor, time_call, write_results
from numpy.typing import NDArray

from crx._native import dense_topk

DIM, K = 384, 150

Search = Callable[[NDArray[np.float32]], object]


def unit(values: NDArray[np.float32]) -> NDArray[np.float32]:
    rows: NDArray[np.float32] = values / np.linalg.norm(values, axis=1, keepdims=True)
    return rows


def search_numpy(matrix: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.intp]:
    products = matrix @ query
    best = np.argpartition(products, -K)[-K:]
    return best[np.argsort(-products[best])]


def contestants(single: NDArray[np.float32], half: NDArray[np.float16]) -> dict[str, Search]:
    words = half.view(np.uint64)
    searches: dict[str, Search] = {
        "read": lambda _: np.bitwise_or.reduce(words, axis=None),
        "crx f16": lambda query: dense_topk(half, query, k=K),
        "crx f32": lambda query: dense_topk(single, query, k=K),
        "numpy f32": lambda query: search_numpy(single, query),
    }
    try:
        import faiss  # type: ignore[import-not-found]
    except ImportError:
        print("faiss is not installed and is left out")
    else:
        kind = faiss.ScalarQuantizer.QT_fp16
        index = faiss.IndexScalarQuantizer(DIM, kind, faiss.METRIC_INNER_PRODUCT)
        index.train(single[:10])
        index.add(single)
        searches["faiss fp16"] = lambda query: index.search(query[None], K)
    try:
        from usearch.index import search  # type: ignore[import-not-found]
    except ImportError:
        print("usearch is not installed and is left out")
    else:
        searches["usearch f16"] = lambda query: search(
            half, query.astype(np.float16), K, "ip", exact=True, threads=1
        )
    return searches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    single = unit(rng.standard_normal((arguments.rows, DIM), dtype=np.float32))
    queries = unit(rng.standard_normal((arguments.rounds, DIM), dtype=np.float32))
    searches = contestants(single, single.astype(np.float16))
    times: dict[str, list[Seconds]] = {name: [] for name in searches}
    for query in queries:
        for name, search in searches.items():
            times[name].append(time_call(lambda query=query, search=search: search(query)))
    print(f"{processor()}, {arguments.rows} x {DIM}, k={K}, one thread, commit {commit()}\n")
    print("| | ms | ms of the CPU | times crx f16 |\n|---|---:|---:|---:|")
    found = {name: medians(taken) for name, taken in times.items()}
    for name, (wall, cpu) in found.items():
        ratio = cpu / found["crx f16"][1]
        print(f"| {name} | {1e3 * wall:.2f} | {1e3 * cpu:.2f} | {ratio:.2f} |")
    if arguments.json:
        write_results(
            arguments.json,
            benchmark=f"exact scan of {arguments.rows} x {DIM}, k={K}, one thread",
            rounds=arguments.rounds,
            figures={
                name: {"ms": 1e3 * wall, "cpu_ms": 1e3 * cpu} for name, (wall, cpu) in found.items()
            },
        )


if __name__ == "__main__":
    main()
