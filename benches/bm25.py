"""Speed and exactness of BM25: the best 150 of many chunks, against tantivy-py and bm25s.

    pip install tantivy bm25s numba
    python benches/bm25.py --chunks 1000000 [--json FILE]

Corpus: chunks of 50 to 150 words (mean 100), random walks over the bigrams of Python's standard
library, so that words and word pairs are as frequent as in the sources; all chunks differ. Queries:
1,000 spans of 2 to 12 words of these chunks. All engines index the lower-case words and score by
BM25 with k1 = 1.2 and b = 0.75; `crx, English` is crx as it is used, with stems and a lower weight
for function words. bm25s runs with both of its backends. SQLite's FTS5 has k1 = 1.2 and b = 0.75
built in, and its queries are disjunctions of the words. Each engine runs in a process of its own,
after 200 other queries; times of the CPU are those of all its threads. Overlap is the
share of the exact best 150 (float64, every posting) that was returned, over 50 queries; scores that
tie with the last one count as correct.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from corpus import RandomWalks, library_words
from harness import commit, processor, time_call, write_results
from numpy.typing import NDArray

K = 150
K1, B = 1.2, 0.75
CHECKED = 50
ENGINES = ("crx", "crx, English", "tantivy-py", "bm25s, numba", "bm25s, numpy", "SQLite FTS5")

Search = Callable[[str], Sequence[int]]


def write_corpus(folder: Path, chunks: int) -> None:
    """Write `chunks.txt`, one chunk per line, and `queries.json`."""
    rng = np.random.default_rng(1)
    words, text = library_words()
    walks = RandomWalks(text)
    queries: list[str] = []
    with (folder / "chunks.txt").open("w") as lines:
        for at in range(0, chunks, 100_000):
            rows = walks.draw(min(100_000, chunks - at), rng)
            lengths = rng.integers(50, 151, size=len(rows))
            for row, length in zip(rows.tolist(), lengths.tolist(), strict=True):
                lines.write(" ".join([words[w] for w in row[:length]]) + "\n")
            for i in rng.integers(len(rows), size=math.ceil(1200 * len(rows) / chunks)).tolist():
                size, first = int(rng.integers(2, 13)), int(rng.integers(30))
                queries.append(" ".join(words[w] for w in rows[i][first : first + size]))
    rng.shuffle(queries)
    (folder / "queries.json").write_text(json.dumps(queries[:1200]))


def read_chunks(folder: Path) -> Iterator[str]:
    with (folder / "chunks.txt").open() as file:
        for line in file:
            yield line.rstrip("\n")


def crx(folder: Path, lang: str) -> tuple[float, Search]:
    from crx._native import Lexical

    started = time.perf_counter()
    lexical = Lexical.open(str(folder / f"crx-{lang}"), write=True)
    batch: list[str] = []
    key = 0
    for line in read_chunks(folder):
        batch.append(line)
        if len(batch) == 50:
            none = [""] * 50
            lexical.put(key // 50, np.arange(key, key + 50), lang, batch, none, none)
            key += 50
            batch = []
    if batch:
        none = [""] * len(batch)
        lexical.put(key // 50, np.arange(key, key + len(batch)), lang, batch, none, none)
    lexical.commit(1)
    lexical.close()
    seconds = time.perf_counter() - started
    reader = Lexical.open(str(folder / f"crx-{lang}"))

    def search(query: str) -> Sequence[int]:
        keys: list[int] = reader.search(query, k=K, langs=[lang])[0].tolist()
        return keys

    return seconds, search


def tantivy_py(folder: Path) -> tuple[float, Search]:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", stored=False, tokenizer_name="default", index_option="freq")
    builder.add_integer_field("key", stored=True)
    (folder / "tantivy").mkdir()
    started = time.perf_counter()
    index = tantivy.Index(builder.build(), path=str(folder / "tantivy"))
    writer = index.writer()
    for key, line in enumerate(read_chunks(folder)):
        writer.add_document(tantivy.Document(body=line, key=key))
    writer.commit()
    writer.wait_merging_threads()
    seconds = time.perf_counter() - started
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> Sequence[int]:
        hits = searcher.search(index.parse_query(query, ["body"]), K).hits
        return LazyKeys(lambda: [searcher.doc(address)["key"][0] for _, address in hits])

    return seconds, search


class LazyKeys(Sequence[int]):
    """Keys that are loaded when they are read, which is not timed."""

    def __init__(self, keys: Callable[[], list[int]]) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys())

    def __getitem__(self, i):  # type: ignore[no-untyped-def]
        return self._keys()[i]


def bm25s(folder: Path, backend: str) -> tuple[float, Search]:
    import bm25s as library

    started = time.perf_counter()
    texts = list(read_chunks(folder))
    options = {"token_pattern": r"[a-z]+", "stopwords": None, "show_progress": False}
    tokens = library.tokenize(texts, **options)
    retriever = library.BM25(method="lucene", k1=K1, b=B, backend=backend)
    retriever.index(tokens, show_progress=False)
    seconds = time.perf_counter() - started

    def search(query: str) -> Sequence[int]:
        asked = [list(dict.fromkeys(query.split()))]
        found, _ = retriever.retrieve(asked, k=K, show_progress=False, n_threads=1)
        return [int(key) for key in found[0]]

    return seconds, search


def fts5(folder: Path) -> tuple[float, Search]:
    import sqlite3

    started = time.perf_counter()
    db = sqlite3.connect(folder / "fts5.db")
    db.execute("CREATE VIRTUAL TABLE chunk USING fts5(body, content='', tokenize='ascii')")
    rows = ((key, line) for key, line in enumerate(read_chunks(folder)))
    db.executemany("INSERT INTO chunk (rowid, body) VALUES (?, ?)", rows)
    db.commit()
    seconds = time.perf_counter() - started
    best = f"SELECT rowid FROM chunk WHERE chunk MATCH ? ORDER BY rank LIMIT {K}"

    def search(query: str) -> Sequence[int]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(query.split()))
        return [key for (key,) in db.execute(best, (words,))]

    return seconds, search


def measure(folder: Path, engine: str) -> dict[str, object]:
    """Index and search with one engine; return the times and what was found."""
    open_engine = {
        "crx": lambda: crx(folder, "none"),
        "crx, English": lambda: crx(folder, "en"),
        "tantivy-py": lambda: tantivy_py(folder),
        "bm25s, numba": lambda: bm25s(folder, "numba"),
        "bm25s, numpy": lambda: bm25s(folder, "numpy"),
        "SQLite FTS5": lambda: fts5(folder),
    }
    started = time.process_time()
    index_s, search = open_engine[engine]()
    index_cpu_s = time.process_time() - started
    queries = json.loads((folder / "queries.json").read_text())
    for query in queries[1000:]:
        search(query)
    times = np.array([time_call(lambda query=query: search(query)) for query in queries[:1000]])
    p50, p99 = (1e3 * np.percentile(times, [50, 99], axis=0)).tolist()
    return {
        "index_s": index_s,
        "index_cpu_s": index_cpu_s,
        "p50": p50[0],
        "p99": p99[0],
        "cpu_p50": p50[1],
        "cpu_p99": p99[1],
        "rss_mb": peak_mb(),
        "found": [list(search(query)) for query in queries[:CHECKED]],
    }


def peak_mb() -> float:
    """Return the peak memory of this process.

    `ru_maxrss` is the fallback: on Linux a child starts with that of its parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def exact_scores(folder: Path, queries: list[str]) -> NDArray[np.float64]:
    """Return the exact (queries, chunks) scores."""
    number: dict[str, int] = {}
    for query in queries:
        for word in query.split():
            number.setdefault(word, len(number))
    hits: list[list[tuple[int, int]]] = [[] for _ in number]
    lengths: list[int] = []
    for key, line in enumerate(read_chunks(folder)):
        words = line.split(" ")
        lengths.append(len(words))
        counts: dict[int, int] = {}
        for word in words:
            if word in number:
                counts[number[word]] = counts.get(number[word], 0) + 1
        for term, count in counts.items():
            hits[term].append((key, count))
    length = np.array(lengths, dtype=np.float64)
    norm = K1 * (1 - B + B * length / length.mean())
    scores = np.zeros((len(queries), len(length)))
    for row, query in enumerate(queries):
        for word in set(query.split()):
            keys, counts = np.array(hits[number[word]]).T
            idf = math.log(1 + (len(length) - len(keys) + 0.5) / (len(keys) + 0.5))
            scores[row, keys] += idf * (K1 + 1) * counts / (counts + norm[keys])
    return scores


def overlap(scores: NDArray[np.float64], found: list[list[int]]) -> float:
    shares = []
    for row, keys in zip(scores, found, strict=True):
        k = min(K, int((row > 0).sum()))
        last = np.partition(row, -k)[-k] * (1 - 1e-6)
        shares.append(sum(row[key] >= last for key in keys[:k]) / k)
    return float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--folder", type=Path, help="keep the corpus and the indexes here")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.engine:
        json.dump(measure(args.folder, args.engine), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as scratch:
        report(Path(args.folder or scratch), args.chunks, args.engines, args.json)


def report(folder: Path, chunks: int, engines: Sequence[str], file: str | None) -> None:
    folder.mkdir(exist_ok=True)
    write_corpus(folder, chunks)
    queries = json.loads((folder / "queries.json").read_text())
    scores = exact_scores(folder, queries[:CHECKED])
    machine = f"{processor()}, {os.cpu_count()} cores"
    print(f"{chunks:,} chunks, best {K}, 1,000 queries; {machine}; {commit()}\n")
    print(
        "| engine | p50 ms | p99 ms | p50, CPU | p99, CPU | index s | index, CPU | MB | overlap |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    figures = {}
    for engine in engines:
        command = [sys.executable, __file__, "--engine", engine, "--folder", str(folder)]
        environment = {**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        out = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout
        got = json.loads(out.splitlines()[-1])
        found = got.pop("found")
        share = "" if "English" in engine else f"{overlap(scores, found):.4f}"
        figures[engine] = {**got, "overlap": share}
        print(
            f"| {engine} | {got['p50']:.2f} | {got['p99']:.2f} | {got['cpu_p50']:.2f} "
            f"| {got['cpu_p99']:.2f} | {got['index_s']:.1f} | {got['index_cpu_s']:.1f} "
            f"| {got['rss_mb']:,.0f} | {share} |",
            flush=True,
        )
    if file:
        write_results(file, benchmark=f"bm25, {chunks} chunks, best {K}", rounds=1, figures=figures)


if __name__ == "__main__":
    main()
