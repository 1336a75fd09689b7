"""Searches while vectors are made in the background, against the same searches beside nothing.

    python benches/background.py [--chunks 4000] [--embedder e5@int8] [--searches 100] [--rounds 4]
        [--http]

The index is made of sentences of random words (see `serve.py`), half of whose chunks have a vector.
In turns, a client searches beside nothing and beside the embedder that `crx serve` and `crx watch`
run, which makes the vectors of the other half. Between two searches the client waits, so that each
one meets the embedder at work. Searches are by both legs, without the reranker. The times are those
of the clock: what a search waits for is what is measured. With `--http` they are asked of `crx
serve`, in turns of one that has the whole index, whose vectors are being made, and of one that has
the half with vectors, where nothing is left to do.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness import commit, processor
from serve import HttpSearch, documents, serving, vocabulary

import crx
from crx_serve.watch.background import BackgroundEmbedder

PAUSE_S = 0.1
WARM_UP = 5
# Vectors are stored after so many seconds, so that searches meet that, too.
ROUND_S = 5.0


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=4000)
    parser.add_argument("--embedder", default="e5@int8")
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--http", action="store_true", help="ask crx serve")
    options = parser.parse_args()
    rng = random.Random(1)
    words = vocabulary(rng)
    texts = list(documents(options.chunks, rng, words))
    queries = [" ".join(rng.choices(words[:2000], k=4)) for _ in range(options.searches)]
    settings = {"embedder": options.embedder, "reranker": ""}
    with tempfile.TemporaryDirectory() as folder:
        path, done = Path(folder) / "bench.crx", Path(folder) / "done.crx"
        half = len(texts) // 2
        with crx.open(path, settings=settings) as index:
            index.add_documents(texts[:half])
        shutil.copytree(path, done)
        with crx.open(path, settings=settings) as index:
            index.add_documents(texts[half:], words_only=True)
            before = share(index)
            if not options.http:
                alone, beside = measure(index, queries, rounds=options.rounds)
        if options.http:
            alone, beside = measure_http(done, path, queries, rounds=options.rounds)
        with crx.open_reader(path, settings=settings) as index:
            after = share(index)
    print(f"{processor()}, commit {commit()}, {options.embedder}, {options.chunks:,} chunks,")
    print(f"{before:.0%} of them with a vector at first and {after:.0%} at last\n")
    print("| searches | p50 ms | p95 ms |\n|---|---:|---:|")
    for name, times in (("beside nothing", alone), ("beside the embedder", beside)):
        print(f"| {name} | {statistics.median(times):.1f} | {p95(times):.1f} |")
    print(f"| ratio | {statistics.median(beside) / statistics.median(alone):.2f} |", end="")
    print(f" {p95(beside) / p95(alone):.2f} |")


def measure(
    index: crx.Index, queries: Sequence[str], *, rounds: int
) -> tuple[list[float], list[float]]:
    """Return the milliseconds of searches beside nothing and beside the embedder, in turns."""
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(rounds):
        alone += time_searches(index.search, queries)
        embedder = BackgroundEmbedder(lambda: index, on_battery=True, round_s=ROUND_S)
        embedder.start()
        try:
            beside += time_searches(index.search, queries)
        finally:
            embedder.close()
    return alone, beside


def measure_http(
    done: Path, pending: Path, queries: Sequence[str], *, rounds: int
) -> tuple[list[float], list[float]]:
    """Return the milliseconds of searches of two servers in turns, the second of which embeds."""
    times: dict[Path, list[float]] = {done: [], pending: []}
    for _ in range(rounds):
        for path, found in times.items():
            with serving(path) as (_, port):
                found += time_searches(HttpSearch(port), queries)
    return times[done], times[pending]


def time_searches(search: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """Return the milliseconds of each search, after some that warm up."""
    times = []
    for query in (*queries[:WARM_UP], *queries):
        started = time.perf_counter()
        search(query)
        times.append(1000 * (time.perf_counter() - started))
        time.sleep(PAUSE_S)
    return times[WARM_UP:]


def share(index: crx.IndexReader) -> float:
    """Return the share of the chunks that have a vector."""
    counts = index.status().counts
    return 1 - counts["pending"] / counts["chunks"]


def p95(times: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return statistics.quantiles(times, n=20)[18]


if __name__ == "__main__":
    main()
