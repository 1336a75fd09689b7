"""Batches of queries by the exact scan, beside single queries.

    pip install faiss-cpu
    python benches/batch.py [--rows 100000] [--index DIR] [--rounds 15] [--json FILE]

The rows are those of `ann.py`, which have the intrinsic dimension of embeddings of text, or those
of an index that was made with an embedder (its `derived/vectors-*.f16`). Queries are rows with
noise, at a cosine of 0.96 from the row. The best 150 of 64 queries are searched by one thread,
and the time is divided by 64. crx and faiss scan vectors of half precision, faiss one query after
the other; numpy multiplies the 64 queries in float32. `crx, one by one` is 64 single searches.
Contestants take turns, and the medians of the CPU time are compared.
"""

from __future__ import annotations

import argparse
import os

# Read when the libraries are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ann import DIM, INTRINSIC, KEY, make_rows, put
from harness import Seconds, commit, medians, processor, time_call, write_results
from numpy.typing import NDArray

from crx._native import Dense, Store

K, BATCH, CHUNKS_PER_DOCUMENT = 150, 64, 1000

Vectors = NDArray[np.float32]
Figures = dict[str, dict[str, float]]
# The keys of the best rows of a query, or of a batch of them.
Search = Callable[[Vectors], NDArray[np.int64]]


def rows_of_index(folder: Path) -> Vectors:
    """Return the vectors of an index; the format is that of `rust/dense/matrix.rs`."""
    path = max((folder / "derived").glob("vectors-*.f16"), key=lambda file: file.stat().st_mtime)
    raw = path.read_bytes()
    dim = int(np.frombuffer(raw, np.uint32, 1, 12)[0])
    count = int(np.frombuffer(raw, np.uint64, 1, 16)[0])
    start = -(-(64 + 16 * count) // 64) * 64
    halves = np.frombuffer(raw, np.float16, count * dim, start).reshape(count, dim)
    return halves.astype(np.float32)


def make_queries(rows: Vectors, count: int) -> Vectors:
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((count, rows.shape[1]), dtype=np.float32)
    noise *= 0.3 / np.linalg.norm(noise, axis=1, keepdims=True)
    queries = rows[rng.choice(len(rows), count, replace=False)] + noise
    unit: Vectors = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return unit


def open_leg(folder: Path, rows: Vectors) -> Dense:
    store = Store.open(str(folder / "vectors.crx"), write=True, create=True)
    for start in range(0, len(rows), CHUNKS_PER_DOCUMENT):
        put(store, f"document-{start:07}", rows[start : start + CHUNKS_PER_DOCUMENT], lang="en")
    leg = Dense.open(f"{store.path}/derived", seal_key=KEY, write=True, ann_above=10**9)
    leg.publish(store)
    return leg


def search_alone(leg: Dense) -> Search:
    return lambda queries: np.stack([leg.search(query, k=K)[0] for query in queries])


def search_batch(leg: Dense) -> Search:
    return lambda queries: np.stack([keys for keys, _ in leg.search_batch(queries, k=K)])


def search_numpy(rows: Vectors, keys: NDArray[np.int64]) -> Search:
    def search(queries: Vectors) -> NDArray[np.int64]:
        products = queries @ rows.T
        best = np.argpartition(products, -K, axis=1)[:, -K:]
        order = np.argsort(-np.take_along_axis(products, best, axis=1), axis=1)
        return keys[np.take_along_axis(best, order, axis=1)]

    return search


def search_faiss(index: Any, keys: NDArray[np.int64]) -> Search:
    return lambda queries: keys[index.search(queries, K)[1]]


def contestants(folder: Path, rows: Vectors) -> dict[str, Search]:
    leg = open_leg(folder, rows)
    # The chunks of the rows, in their order: keys ascend as chunks are put.
    keys = np.sort(leg.search(rows[0], k=len(rows))[0])
    found: dict[str, Search] = {
        "crx f16": search_batch(leg),
        "crx, one by one": search_alone(leg),
        "numpy f32": search_numpy(rows, keys),
    }
    try:
        import faiss  # type: ignore[import-not-found]
    except ImportError:
        print("faiss is not installed and is left out")
        return found
    kind = faiss.ScalarQuantizer.QT_fp16
    index = faiss.IndexScalarQuantizer(rows.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    index.train(rows)
    index.add(rows)
    return found | {"faiss fp16": search_faiss(index, keys)}


def measure(rows: Vectors, rounds: int) -> Figures:
    """Return the figures of a query of a batch."""
    queries = make_queries(rows, BATCH)
    with tempfile.TemporaryDirectory() as folder:
        searches = contestants(Path(folder), rows)
        times: dict[str, list[Seconds]] = {name: [] for name in searches}
        for _ in range(rounds):
            for name, search in searches.items():
                wall, cpu = time_call(lambda s=search: s(queries))
                times[name].append((wall / BATCH, cpu / BATCH))
    return {name: milliseconds(taken) for name, taken in times.items()}


def milliseconds(taken: Sequence[Seconds]) -> dict[str, float]:
    wall, cpu = medians(taken)
    return {"ms": 1e3 * wall, "cpu_ms": 1e3 * cpu}


def print_figures(title: str, figures: Figures) -> None:
    names = list(next(iter(figures.values())))
    print(f"\n| {title} | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for name, values in figures.items():
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in values.values())} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--index", type=Path, help="an index whose vectors are the rows")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    if arguments.index:
        rows = rows_of_index(arguments.index)
    else:
        rng = np.random.default_rng(0)
        basis = rng.standard_normal((INTRINSIC, DIM), dtype=np.float32) / DIM**0.5
        centres = rng.standard_normal((arguments.rows // 200, INTRINSIC), dtype=np.float32)
        rows = make_rows(arguments.rows, rng, basis=basis, centres=centres)
    figures = measure(rows, arguments.rounds)
    of = "e5" if arguments.index else "a mixture"
    shape = f"{len(rows)} x {rows.shape[1]} of {of}, k={K}, one thread"
    print(f"{processor()}, {shape}, commit {commit()}")
    print_figures(f"{BATCH} queries, each", figures)
    if arguments.json:
        write_results(
            arguments.json,
            benchmark=f"{BATCH} queries at once, {shape}",
            rounds=arguments.rounds,
            figures=figures,
        )


if __name__ == "__main__":
    main()
