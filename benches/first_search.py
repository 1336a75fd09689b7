"""Opening an index and its first search in a new process, and the memory of a hundred searches.

    python benches/hybrid.py --chunks 1000000 --engines crx --folder DIR
    python benches/first_search.py DIR/hybrid-1000000/crx [--runs 9] [--json FILE]

Indexes are those of `hybrid.py`, whose vectors are looked up, so that no model is loaded. Each run
is a new process, which is timed after its imports; the first run, which fills the page cache, is
not counted. "own" is resident memory that is not of mapped files, as Linux reports it (`RssAnon`),
beyond that of the process after its imports; "mapped" is the resident part of files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from harness import commit, processor, time_call, write_results
from numpy.typing import NDArray

from crx._index.handle import Index
from crx.config import resolve

QUERIES = 100
FIGURES = ("open_ms", "first_ms", "first_cpu_ms", "own_mb", "own_after_mb", "mapped_after_mb")


class KnownVectors:
    """The embedder of the indexes of `hybrid.py`, for queries whose vectors are given."""

    fingerprint = "word-vectors"
    max_tokens = 512

    def __init__(self, queries: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self.dimensions = vectors.shape[1]
        self._vectors = dict(zip(queries, vectors, strict=True))

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        return np.fromiter((match.start() for match in re.finditer(r"\S+", text)), np.uint32)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        del query
        return np.stack([self._vectors[text] for text in texts])


def resident_mb() -> tuple[float, float]:
    """Return the resident memory of this process, in MB: its own and that of mapped files."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = dict(re.findall(r"^(Rss\w+):\s+(\d+) kB", status, re.MULTILINE))
    return int(found["RssAnon"]) / 1e3, int(found["RssFile"]) / 1e3


def measure(folder: Path, asked: Path) -> list[float]:
    with np.load(asked) as known:
        queries, vectors = known["queries"].tolist(), known["vectors"]
    embedder = KnownVectors(queries, vectors)
    before, _ = resident_mb()
    opened: list[Index] = []

    def start() -> None:
        settings = resolve({"embedder": f"hashed:d={vectors.shape[1]}", "contexts": "none"})
        opened.append(Index(folder, settings, embedder=embedder))

    open_s, open_cpu = time_call(start)
    with opened[0] as index:
        first_s, first_cpu = time_call(lambda: index.search(queries[0], rerank=False))
        own, _ = resident_mb()
        for query in queries:
            index.search(query, rerank=False)
        own_after, mapped_after = resident_mb()
    return [
        1e3 * open_s,
        1e3 * (open_s + first_s),
        1e3 * (open_cpu + first_cpu),
        own - before,
        own_after - before,
        mapped_after,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--asked", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.asked:
        print(json.dumps(measure(arguments.folder, arguments.asked)))
        return
    from hybrid import make_corpus

    corpus = make_corpus(2000, QUERIES)
    with tempfile.TemporaryDirectory() as scratch:
        asked = Path(scratch) / "asked.npz"
        vectors = corpus.embedder.embed(corpus.queries, query=True)
        np.savez(asked, queries=np.array(corpus.queries), vectors=vectors)
        command = [sys.executable, __file__, str(arguments.folder), "--asked", str(asked)]
        runs = [
            json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            for _ in range(arguments.runs + 1)
        ][1:]
    values = dict(zip(FIGURES, map(statistics.median, zip(*runs, strict=True)), strict=True))
    print(f"{processor()}, {os.cpu_count()} cores, commit {commit()}")
    print("\n".join(f"{name}: {value:.1f}" for name, value in values.items()))
    if arguments.json:
        write_results(
            arguments.json,
            benchmark=f"first search, {arguments.folder.parent.name.partition('-')[2]} chunks",
            rounds=arguments.runs,
            figures={"crx": values},
        )


if __name__ == "__main__":
    main()
