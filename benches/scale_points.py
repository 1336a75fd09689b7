"""What the legs take at several sizes: what `scale_sim.py` is fitted to and compared with.

    python benches/scale_points.py bm25 1000000
    python benches/scale_points.py scan 1000000
    python benches/scale_points.py graph 100000
    python benches/scale_points.py --json benches/results/scale/points.json < LINES

Each of the first three measures one size and prints one line of JSON, with times of the CPU; the
last joins such lines, by medians where a size has several. The chunks are those of `bm25.py`, the
vectors those of `dense.py` (scan) and `ann.py` (graph). A scan runs on one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

# Read when the libraries are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}

import ann
import bm25
import dense
import numpy as np
from harness import time_call, write_results

from crx._native import Dense, Store, dense_topk

Point = dict[str, float]
SCANS, SEARCHES = 25, 200


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def cpu_ms(seconds: list[tuple[float, float]], *, name: str) -> Point:
    """Return percentiles and the mean of the CPU time, in milliseconds."""
    cpu = 1e3 * np.array([cpu for _, cpu in seconds])
    p50, p99 = np.percentile(cpu, [50, 99]).tolist()
    return {f"{name}_cpu_p50_ms": p50, f"{name}_cpu_p99_ms": p99, f"{name}_cpu_ms": cpu.mean()}


def measure_bm25(chunks: int, folder: Path) -> Point:
    """Index the chunks and search for the best 150 of 1,000 queries."""
    bm25.write_corpus(folder, chunks)
    built = {}

    def build() -> None:
        built["search"] = bm25.crx(folder, "none")[1]

    _, index_cpu = time_call(build)
    queries = json.loads((folder / "queries.json").read_text())
    search = built["search"]
    for query in queries[1000:]:
        search(query)
    times = [time_call(lambda query=query: search(query)) for query in queries[:1000]]
    size = {"bytes": folder_bytes(folder / "crx-none"), "index_cpu_s": index_cpu}
    return {**size, **cpu_ms(times, name="search")}


def measure_scan(rows: int, _: Path) -> Point:
    """Scan half-precision rows for the best 150."""
    rng = np.random.default_rng(0)
    half = np.empty((rows, dense.DIM), np.float16)
    for at in range(0, rows, 100_000):
        part = rng.standard_normal((min(100_000, rows - at), dense.DIM), dtype=np.float32)
        half[at : at + len(part)] = dense.unit(part)
    queries = dense.unit(rng.standard_normal((SCANS, dense.DIM), dtype=np.float32))
    times = [time_call(lambda query=query: dense_topk(half, query, k=dense.K)) for query in queries]
    return {"bytes": half.nbytes, **cpu_ms(times, name="search")}


def measure_graph(rows: int, folder: Path) -> Point:
    """Build the graph of rows and search it for the best 150."""
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((ann.INTRINSIC, ann.DIM), dtype=np.float32) / ann.DIM**0.5
    centres = rng.standard_normal((max(rows // 200, 1), ann.INTRINSIC), dtype=np.float32)
    vectors = ann.make_rows(rows, rng, basis=basis, centres=centres)
    queries = ann.make_rows(SEARCHES, rng, basis=basis, centres=centres)
    store = Store.open(str(folder / "ann.crx"), write=True, create=True)
    ann.fill(store, vectors)
    derived = folder / "ann.crx" / "derived"
    writer = Dense.open(str(derived), seal_key=ann.KEY, write=True, ann_above=rows // 2)
    _, index_cpu = time_call(lambda: writer.publish(store))
    graph = ann.open_leg(store, write=False, ann_above=rows // 2)
    times = [time_call(lambda query=query: graph.search(query, k=ann.K)) for query in queries]
    found = {
        "recall_at_20": recall_at_20(graph, vectors.astype(np.float16), queries),
        # The rows are in the file of the matrix.
        "bytes": vectors.size * 2 + sum(path.stat().st_size for path in derived.rglob("*.hnsw")),
        "index_cpu_s": index_cpu,
    }
    store.close()
    return {**found, **cpu_ms(times, name="search")}


def recall_at_20(graph: Dense, half: np.ndarray, queries: ann.Vectors) -> float:
    """Return the share of the exact 20 nearest rows that the graph finds among 150.

    A row's key is its number from 1.
    """
    found = 0
    for query in queries[:50]:
        nearest = {int(row) + 1 for row in dense_topk(half, query, k=20)[0]}
        found += len(nearest & set(graph.search(query, k=ann.K)[0].tolist()))
    return found / (20 * len(queries[:50]))


MEASURES = {"bm25": measure_bm25, "scan": measure_scan, "graph": measure_graph}


def join(lines: Iterable[str]) -> dict[str, dict[str, Point]]:
    """Return the points by leg and size: medians where a size was measured several times."""
    runs: dict[tuple[str, int], list[Point]] = defaultdict(list)
    for point in map(json.loads, lines):
        runs[point.pop("what"), point.pop("size")].append(point)
    figures: dict[str, dict[str, Point]] = defaultdict(dict)
    for (what, size), points in sorted(runs.items()):
        medians = {name: float(np.median([each[name] for each in points])) for name in points[0]}
        figures[what][str(size)] = {"runs": len(points), **medians}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=MEASURES)
    parser.add_argument("size", nargs="?", type=int)
    parser.add_argument("--json", help="join lines of the input in this file")
    arguments = parser.parse_args()
    if arguments.json:
        figures = join(sys.stdin)
        write_results(arguments.json, benchmark="legs by size", rounds=1, figures=figures)
        return
    with tempfile.TemporaryDirectory() as folder:
        point = MEASURES[arguments.what](arguments.size, Path(folder))
    load = os.getloadavg()[0]
    print(json.dumps({"what": arguments.what, "size": arguments.size, **point, "load": load}))


if __name__ == "__main__":
    main()
