"""The dense leg above 100,000 rows: a graph's build, its search, filters, threads and edits.

The rows have the intrinsic dimension of embeddings of text: a mixture of subjects in 30 dimensions,
embedded in 384, with noise. Search times are milliseconds of the CPU, of all threads together.
"exact" is the scan of the same rows. To compare two builds of the extension, run it with each.

    pip install hnswlib usearch faiss-cpu
    RAYON_NUM_THREADS=1 python benches/ann.py [--rows 100000] [--rivals [NAME ...]] [--json FILE]
        [--filters-json FILE]

With `--rivals`, hnswlib (single precision), usearch (half precision, int8 and the signs alone) and
faiss (half precision), or those that are named, build graphs of the same rows, with 16 links a
node, 128 candidates when a row is added and 256 in a search for 150 rows, on one thread. crx builds
with as many threads as RAYON_NUM_THREADS says, by default one a core; times of the CPU are those of
all threads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from harness import commit, medians, processor, time_call, write_results
from numpy.typing import NDArray

from crx._native import Dense, Filter, Store

DIM, INTRINSIC, K, QUERIES, ROUNDS = 384, 30, 150, 200, 5
CHUNKS_PER_DOCUMENT = 100
SHARES = (0.01, 0.06, 0.1, 0.2, 0.3, 0.5, 0.8)
KEY = bytes(range(32))

# The settings of crx's graph.
LINKS, ADDED, SEARCHED = 16, 128, 256

Vectors = NDArray[np.float32]
Find = Callable[[Vectors], Sequence[int]]
Figures = dict[str, dict[str, float]]


def make_rows(count: int, rng: np.random.Generator, *, basis: Vectors, centres: Vectors) -> Vectors:
    """Return unit vectors around random subjects."""
    inner = centres[rng.integers(len(centres), size=count)]
    inner = inner + 0.7 * rng.standard_normal(inner.shape, dtype=np.float32)
    rows = inner @ basis + 0.3 * rng.standard_normal((count, DIM), dtype=np.float32) / DIM**0.5
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def put(store: Store, name: str, rows: Vectors, *, lang: str) -> None:
    """Put a document with one chunk a row."""
    at = np.arange(len(rows), dtype=np.uint32)
    keys = [f"{name}-{row}".encode() for row in range(len(rows))]
    store.put_document(
        uri=name,
        title="",
        lang=lang,
        metadata="{}",
        source_hash=b"h",
        source_size=1,
        source_mtime_ns=1,
        text="x" * len(rows),
        marks="[]",
        layout=np.stack([at, at + 1, at, at + 1, at * 0], axis=1),
        outlines=[""] * len(rows),
        context_keys=[b""] * len(rows),
        vector_keys=keys,
    )
    store.put_vectors(keys, rows)


def open_leg(store: Store, *, write: bool, ann_above: int) -> Dense:
    dense = Dense.open(f"{store.path}/derived", seal_key=KEY, write=write, ann_above=ann_above)
    dense.sync(store)
    return dense


def median_ms(search: Callable[[Vectors], object], queries: Vectors) -> float:
    """Return the median of the CPU time of a search."""
    times = [time_call(lambda query=query: search(query)) for query in queries]
    return medians(times)[1] * 1e3


def recall_at_20(
    graph: Dense, exact: Dense, queries: Vectors, *, only: Filter | None = None
) -> float:
    """Return the share of the exact 20 nearest rows that the graph finds among K."""
    found = 0
    for query in queries:
        nearest = exact.search(query, k=20, only=only)[0].tolist()
        found += len(set(nearest) & set(graph.search(query, k=K, only=only)[0].tolist()))
    return found / (20 * len(queries))


def queries_per_second(graph: Dense, queries: Vectors, *, threads: int) -> float:
    """Return the searches a second of so many threads, each with all queries."""

    def search_all(_: int) -> None:
        for query in queries:
            graph.search(query, k=K)

    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        list(pool.map(search_all, range(threads)))
    return threads * len(queries) / (time.perf_counter() - start)


def select(store: Store, share: float) -> Filter:
    """Return a filter on that share of the documents, which have the languages "0" to "99"."""
    languages = [str(number) for number in range(round(share * 100))]
    return store.select(json.dumps({"lang": languages}))


def fill(store: Store, rows: Vectors) -> None:
    starts = range(0, len(rows), CHUNKS_PER_DOCUMENT)
    for document, start in enumerate(starts):
        put(
            store,
            f"document-{document}",
            rows[start : start + CHUNKS_PER_DOCUMENT],
            lang=str(document * 37 % 100),
        )


def build_hnswlib(rows: Vectors) -> Find:
    import hnswlib  # type: ignore[import-not-found]

    index = hnswlib.Index(space="ip", dim=DIM)
    index.init_index(max_elements=len(rows), M=LINKS, ef_construction=ADDED)
    index.add_items(rows, num_threads=1)
    index.set_ef(SEARCHED)
    return lambda query: index.knn_query(query, k=K, num_threads=1)[0][0].tolist()  # type: ignore[no-any-return]


def build_usearch(rows: Vectors) -> Find:
    return make_usearch(rows, dtype="f16", metric="ip")


def build_usearch_int8(rows: Vectors) -> Find:
    return make_usearch(rows, dtype="i8", metric="ip")


def build_usearch_binary(rows: Vectors) -> Find:
    find = make_usearch(np.packbits(rows > 0, axis=1), dtype="b1", metric="hamming")
    return lambda query: find(np.packbits(query > 0))


def make_usearch(rows: NDArray[np.generic], *, dtype: str, metric: str) -> Find:
    from usearch.index import Index

    index = Index(
        ndim=DIM,
        metric=metric,
        dtype=dtype,
        connectivity=LINKS,
        expansion_add=ADDED,
        expansion_search=SEARCHED,
    )
    index.add(np.arange(len(rows)), rows, threads=1)
    return lambda query: index.search(query, K, threads=1).keys.tolist()  # type: ignore[no-any-return]


def build_faiss(rows: Vectors) -> Find:
    import faiss  # type: ignore[import-not-found]

    faiss.omp_set_num_threads(1)
    kind = faiss.ScalarQuantizer.QT_fp16
    index = faiss.IndexHNSWSQ(DIM, kind, LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = ADDED, SEARCHED
    index.train(rows)
    index.add(rows)
    return lambda query: index.search(query[None], K)[1][0].tolist()  # type: ignore[no-any-return]


RIVALS = {
    "hnswlib": build_hnswlib,
    "usearch": build_usearch,
    "usearch, int8": build_usearch_int8,
    "usearch, binary": build_usearch_binary,
    "faiss": build_faiss,
}


def compare(
    rows: Vectors, queries: Vectors, crx: Mapping[str, float], rivals: Collection[str]
) -> Figures:
    """Return the figures of crx and of the rivals that are installed."""
    nearest = [np.argpartition(rows @ query, -20)[-20:].tolist() for query in queries]
    figures = {"crx": dict(crx)}
    for name in rivals:
        build = RIVALS[name]
        started = time.process_time()
        try:
            find = build(rows)
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        cpu = time.process_time() - started
        ms = median_ms(find, queries)
        shared = sum(
            len(set(near) & set(find(query))) for near, query in zip(nearest, queries, strict=True)
        )
        figures[name] = {
            "build_cpu_s": cpu,
            "search_cpu_ms": ms,
            "recall": shared / (20 * len(queries)),
        }
        print(f"{name}: build {cpu:.1f} s of the CPU, search {ms:.2f} ms,", end=" ")
        print(f"recall@20 {figures[name]['recall']:.4f}")
    return figures


def measure(folder: Path, count: int, *, rivals: Collection[str]) -> tuple[Figures, Figures]:
    """Return the figures of each library, and those of crx with each filter."""
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((INTRINSIC, DIM), dtype=np.float32) / DIM**0.5
    centres = rng.standard_normal((max(count // 200, 1), INTRINSIC), dtype=np.float32)
    rows = make_rows(count, rng, basis=basis, centres=centres)
    queries = make_rows(QUERIES, rng, basis=basis, centres=centres)
    store = Store.open(str(folder / "ann.crx"), write=True, create=True)
    fill(store, rows)
    writer = Dense.open(f"{store.path}/derived", seal_key=KEY, write=True, ann_above=count // 2)
    wall, build_cpu = time_call(lambda: writer.publish(store))
    print(f"build {wall:.1f} s, {build_cpu:.1f} s of the CPU")
    graph = open_leg(store, write=False, ann_above=count // 2)
    exact = open_exact(folder, rows)
    searches = measure_searches(store, graph, exact, queries)
    put(store, "document-0", make_rows(5, rng, basis=basis, centres=centres), lang="0")
    wall, cpu = time_call(lambda: writer.publish(store))
    print(f"edit of one document: {wall:.2f} s, {cpu:.2f} s of the CPU")
    store.close()
    unfiltered = searches["no filter"]
    crx = {key: unfiltered[key] for key in ("search_cpu_ms", "recall")}
    crx = {"build_cpu_s": build_cpu, **crx}
    return compare(rows, queries, crx, rivals), searches


def open_exact(folder: Path, rows: Vectors) -> Dense:
    """Return the leg of a second index of the same rows, which has no graph."""
    store = Store.open(str(folder / "exact.crx"), write=True, create=True)
    fill(store, rows)
    dense = open_leg(store, write=True, ann_above=10 * len(rows))
    dense.publish(store)
    store.close()
    return dense


def measure_searches(store: Store, graph: Dense, exact: Dense, queries: Vectors) -> Figures:
    """Print the times of searches, and return them with and without filters."""
    figures = {"no filter": measure_filter(graph, exact, queries)}
    one, two = (queries_per_second(graph, queries, threads=threads) for threads in (1, 2))
    print(f"{one:.0f} queries/s on 1 thread, {two:.0f} on 2: x{two / one:.2f}")
    for share in SHARES:
        only = select(store, share)
        figures[f"{share:.0%}"] = measure_filter(graph, exact, queries, only=only)
    for name, row in figures.items():
        print(
            f"{name:9}: {row['search_cpu_ms']:6.2f} ms, exact {row['scan_cpu_ms']:.2f} ms,", end=""
        )
        print(f" recall@20 {row['recall']:.4f}")
    return figures


def measure_filter(
    graph: Dense, exact: Dense, queries: Vectors, *, only: Filter | None = None
) -> dict[str, float]:
    recall = recall_at_20(graph, exact, queries, only=only)
    rounds = [
        median_ms(lambda query: graph.search(query, k=K, only=only), queries) for _ in range(ROUNDS)
    ]
    return {
        "search_cpu_ms": statistics.median(rounds),
        "scan_cpu_ms": median_ms(lambda query: exact.search(query, k=K, only=only), queries[:50]),
        "recall": recall,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument(
        "--rivals", nargs="*", choices=RIVALS, help="build graphs by all or these libraries too"
    )
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--filters-json", help="a file for the figures of crx with filters")
    arguments = parser.parse_args()
    print(f"{processor()}, {arguments.rows} x {DIM}, k={K}, commit {commit()}")
    rivals = () if arguments.rivals is None else arguments.rivals or tuple(RIVALS)
    with tempfile.TemporaryDirectory() as folder:
        figures, searches = measure(Path(folder), arguments.rows, rivals=rivals)
    benchmark = f"graph of {arguments.rows} x {DIM}, k={K}, one thread"
    if arguments.json:
        write_results(arguments.json, benchmark=benchmark, rounds=1, figures=figures)
    if arguments.filters_json:
        write_results(
            arguments.filters_json,
            benchmark=f"{benchmark}, filters",
            rounds=ROUNDS,
            figures=searches,
        )


if __name__ == "__main__":
    main()
