"""A whole search, from the query to the passages, against LanceDB, txtai, zvec and a script.

    pip install bm25s numba faiss-cpu lancedb txtai zvec
    python benches/hybrid.py [--chunks 100000] [--queries 200] [--rounds 5] [--folder DIR]
        [--engines NAME ...] [--json FILE]

Corpus: documents of 40 chunks of 50 to 150 words (see `corpus.py`), with a heading every eight
chunks. A chunk's vector has 384 dimensions, in which the mean of its words' vectors in 30
dimensions is embedded, with noise. Queries are spans of 2 to 12 words of chunks; their vectors are
computed beforehand for all engines. crx returns passages of the best 20 chunks, within 4,000
tokens, and looks for the whole query in the best 50 of BM25; above 100,000 chunks its default is a
graph. `exact` scans all vectors. LanceDB searches its
full-text index and an IVF_HNSW_SQ index of the vectors, 150 of each, and fuses them by reciprocal
ranks, and so does zvec its full-text index and its HNSW graph; txtai is set to `hybrid` with stored
texts. All three are otherwise as they come. The script is what
one would write in an afternoon: the best 150 chunks of BM25 (bm25s with its numba backend) and of a
scan in half precision (faiss), fused by reciprocal ranks. All but crx return the texts of the best
20 chunks, without passages. Engines take turns, query by query, in one process, which keeps the
indexes of all in memory. Each query is asked several times: crx keeps rows that it has read, and
the others what they keep of an index. The times of the CPU are those of all threads.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from corpus import RandomWalks, library_words
from harness import commit, processor, write_results
from numpy.typing import NDArray

from crx._index.handle import Index
from crx._index.handle import open as open_index
from crx.config import resolve
from crx.types import Document, Mark

DIM, INTRINSIC, DEPTH, K = 384, 30, 150, 20
CHUNKS_PER_DOCUMENT, CHUNKS_PER_SECTION = 40, 8
SETTINGS = {"embedder": "hashed:d=384", "contexts": "none"}

Vectors = NDArray[np.float32]
Search = Callable[[str], Sequence[str]]


class WordVectors:
    """An embedder: the mean of vectors of words, with noise. Texts of `known` are looked up."""

    fingerprint = "word-vectors"
    max_tokens = 512

    def __init__(self, words: Sequence[str], dimensions: int = DIM) -> None:
        self.dimensions = dimensions
        rng = np.random.default_rng(0)
        self._row = {word: row for row, word in enumerate(words)}
        self._words = rng.standard_normal((len(words), INTRINSIC), dtype=np.float32)
        basis = rng.standard_normal((INTRINSIC, dimensions), dtype=np.float32)
        self._basis = basis / dimensions**0.5
        self.known: dict[str, Vectors] = {}
        self._made: dict[str, Vectors] = {}

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        is_word = np.frombuffer(text.encode("utf-32-le"), np.uint32) > ord(" ")
        return np.flatnonzero(np.diff(is_word.astype(np.int8), prepend=0) > 0).astype(np.uint32)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        return np.stack([self.known[text] if query else self.vector(text) for text in texts])

    def vector(self, text: str) -> Vectors:
        """Return the vector of a text, which is made once for all engines."""
        if text not in self._made:
            self._made[text] = self._make_vector(text)
        return self._made[text]

    def _make_vector(self, text: str) -> Vectors:
        rows = [self._row[word] for word in text.split() if word in self._row]
        inner = self._words[rows].sum(axis=0) / max(1, len(rows)) ** 0.5
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        noise = rng.standard_normal(self.dimensions).astype(np.float32) / self.dimensions**0.5
        vector = inner @ self._basis + 0.3 * noise
        unit: Vectors = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


@dataclass(frozen=True)
class Corpus:
    documents: list[Document]
    queries: list[str]
    embedder: WordVectors

    def chunks(self) -> Iterator[str]:
        for document in self.documents:
            yield from (document.text[start:end] for start, end in document.chunks or ())


def make_document(number: int, chunks: list[str]) -> Document:
    spans: list[tuple[int, int]] = []
    at = 0
    for chunk in chunks:
        spans.append((at, at + len(chunk)))
        at += len(chunk) + 2
    headings = [
        Mark("heading", spans[first][0], spans[min(first + CHUNKS_PER_SECTION, len(spans)) - 1][1],
             " ".join(chunks[first].split()[:4]), 1)
        for first in range(0, len(spans), CHUNKS_PER_SECTION)
    ]  # fmt: skip
    return Document(
        uri=f"document-{number:06}.txt",
        text="\n\n".join(chunks),
        lang="en",
        marks=tuple(headings),
        chunks=tuple(spans),
    )


def make_corpus(count: int, queries: int, dimensions: int = DIM) -> Corpus:
    rng = np.random.default_rng(1)
    words, text = library_words()
    walks = RandomWalks(text)
    documents: list[Document] = []
    asked: list[str] = []
    step = 1000 * CHUNKS_PER_DOCUMENT
    for start in range(0, count, step):
        rows = walks.draw(min(step, count - start), rng).tolist()
        lengths = rng.integers(50, 151, size=len(rows)).tolist()
        chunks = [
            " ".join(words[word] for word in row[:length])
            for row, length in zip(rows, lengths, strict=True)
        ]
        for first in range(0, len(chunks), CHUNKS_PER_DOCUMENT):
            part = chunks[first : first + CHUNKS_PER_DOCUMENT]
            documents.append(make_document(len(documents), part))
        for at in rng.integers(len(chunks), size=1 + queries * len(chunks) // count).tolist():
            size, start = int(rng.integers(2, 13)), int(rng.integers(30))
            asked.append(" ".join(chunks[at].split()[start : start + size]))
    corpus = Corpus(documents, asked[:queries], WordVectors(words, dimensions))
    corpus.embedder.known = {query: corpus.embedder.vector(query) for query in corpus.queries}
    return corpus


@dataclass(frozen=True)
class Engine:
    """A search, the seconds of CPU time of its index, and crx's handle if it is crx."""

    search: Search
    index_cpu_s: float
    index: Index | None = None


def build_once(folder: Path, build: Callable[[], None]) -> float:
    """Build an index unless an earlier run has; return the seconds of CPU time that it took."""
    taken = folder.with_suffix(".cpu_s")
    if not taken.exists():
        shutil.rmtree(folder, ignore_errors=True)
        started = time.process_time()
        build()
        taken.write_text(str(time.process_time() - started))
    return float(taken.read_text())


def open_crx(folder: Path, corpus: Corpus, **settings: int | str) -> Engine:
    resolved = resolve({**SETTINGS, **settings})

    def build() -> None:
        open_index(folder, settings=SETTINGS).close()
        with Index(folder, resolved, embedder=corpus.embedder) as index:
            index.add_documents(corpus.documents)

    built = build_once(folder, build)
    index = Index(folder, resolved, embedder=corpus.embedder)

    def search(query: str) -> Sequence[str]:
        return [passage.text for passage in index.search(query, rerank=False)]

    return Engine(search, built, index)


def open_lancedb(folder: Path, corpus: Corpus) -> Engine:
    os.environ["LANCEDB_LOG"] = "error"
    import lancedb  # type: ignore[import-not-found]
    import pyarrow as pa  # type: ignore[import-not-found]
    from lancedb.index import FTS, HnswSq  # type: ignore[import-not-found]
    from lancedb.rerankers import RRFReranker  # type: ignore[import-not-found]

    def build() -> None:
        chunks = list(corpus.chunks())
        vectors = corpus.embedder.embed(chunks)
        values = pa.array(vectors.ravel(), pa.float32())
        rows = pa.table({"text": chunks, "vector": pa.FixedSizeListArray.from_arrays(values, DIM)})
        table = lancedb.connect(str(folder)).create_table("chunk", rows)
        table.create_index("text", config=FTS())
        table.create_index("vector", config=HnswSq(distance_type="dot"))

    built = build_once(folder, build)
    table = lancedb.connect(str(folder)).open_table("chunk")
    fuse = RRFReranker()

    def search(query: str) -> Sequence[str]:
        hybrid = table.search(query_type="hybrid", vector_column_name="vector")
        hybrid = hybrid.vector(corpus.embedder.known[query]).text(query)
        found = hybrid.limit(DEPTH).rerank(fuse).select(["text"]).to_list()
        return [row["text"] for row in found[:K]]

    return Engine(search, built)


def open_zvec(folder: Path, corpus: Corpus) -> Engine:
    import zvec  # type: ignore[import-not-found]

    def build() -> None:
        metric = zvec.HnswIndexParam(metric_type=zvec.MetricType.IP)
        schema = zvec.CollectionSchema(
            "chunk",
            fields=zvec.FieldSchema("text", zvec.DataType.STRING, index_param=zvec.FtsIndexParam()),
            vectors=zvec.VectorSchema(
                "vector", zvec.DataType.VECTOR_FP32, dimension=DIM, index_param=metric
            ),
        )
        made = zvec.create_and_open(str(folder), schema)
        rows = enumerate(corpus.chunks())
        while batch := list(islice(rows, 500)):
            vectors = corpus.embedder.embed([text for _, text in batch])
            made.insert(
                [
                    zvec.Doc(id=str(key), fields={"text": text}, vectors={"vector": row.tolist()})
                    for (key, text), row in zip(batch, vectors, strict=True)
                ]
            )
        made.optimize()
        made.flush()

    built = build_once(folder, build)
    collection = zvec.open(str(folder))
    fuse = zvec.RrfReRanker()

    def search(query: str) -> Sequence[str]:
        vector = corpus.embedder.known[query].tolist()
        legs = [
            zvec.Query(field_name="vector", vector=vector),
            zvec.Query(field_name="text", fts=zvec.Fts(match_string=query)),
        ]
        # It takes as many of each leg as it returns.
        found = collection.query(legs, topk=DEPTH, output_fields=["text"], reranker=fuse)
        return [row.field("text") for row in found[:K]]

    return Engine(search, built)


def open_txtai(corpus: Corpus) -> Engine:
    from txtai import Embeddings  # type: ignore[import-not-found]

    known = corpus.embedder.known

    def transform(texts: Sequence[str]) -> Vectors:
        return np.stack([known[t] if t in known else corpus.embedder.vector(t) for t in texts])

    started = time.process_time()
    engine = Embeddings(method="external", transform=transform, hybrid=True, content=True)
    engine.index((key, text, None) for key, text in enumerate(corpus.chunks()))
    built = time.process_time() - started
    return Engine(lambda query: [row["text"] for row in engine.search(query, K)], built)


def open_script(corpus: Corpus) -> Engine:
    import bm25s  # type: ignore[import-not-found]
    import faiss  # type: ignore[import-not-found]

    started = time.process_time()
    chunks = list(corpus.chunks())
    options = {"token_pattern": r"[a-z]+", "stopwords": None, "show_progress": False}
    lexical = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
    lexical.index(bm25s.tokenize(chunks, **options), show_progress=False)
    kind = faiss.ScalarQuantizer.QT_fp16
    dense = faiss.IndexScalarQuantizer(DIM, kind, faiss.METRIC_INNER_PRODUCT)
    for start in range(0, len(chunks), 10_000):
        rows = corpus.embedder.embed(chunks[start : start + 10_000])
        dense.train(rows)
        dense.add(rows)
    built = time.process_time() - started

    def search(query: str) -> Sequence[str]:
        asked = bm25s.tokenize([query], return_ids=False, **options)
        by_words = lexical.retrieve(asked, k=DEPTH, show_progress=False, n_threads=1)[0][0]
        by_vector = dense.search(corpus.embedder.embed([query], query=True), DEPTH)[1][0]
        scores: dict[int, float] = {}
        for found in (by_words, by_vector):
            for rank, key in enumerate(found.tolist(), 1):
                scores[key] = scores.get(key, 0.0) + 1 / (60 + rank)
        return [chunks[key] for key in sorted(scores, key=lambda key: -scores[key])[:K]]

    return Engine(search, built)


def open_engines(folder: Path, corpus: Corpus, names: Sequence[str]) -> dict[str, Engine]:
    """Return the engines of these names that are installed."""
    everything = 100_000_000
    openers: dict[str, Callable[[], Engine]] = {
        "crx": lambda: open_crx(folder / "crx", corpus),
        "crx, exact": lambda: open_crx(folder / "exact", corpus, ann_above=everything),
        "script": lambda: open_script(corpus),
        "LanceDB": lambda: open_lancedb(folder / "lancedb", corpus),
        "zvec": lambda: open_zvec(folder / "zvec", corpus),
        "txtai": lambda: open_txtai(corpus),
    }
    engines = {}
    for name in names or openers:
        try:
            engines[name] = openers[name]()
        except ImportError as error:
            print(f"{name} is left out: {error}")
    return engines


def measure(
    engines: dict[str, Search], queries: Sequence[str], rounds: int
) -> dict[str, tuple[float, float, float, float]]:
    """Return p50 and p99 of the wall-clock time and of the CPU time of each engine.

    The times of a query are their medians over the rounds.
    """
    times = {name: np.zeros((rounds, len(queries), 2)) for name in engines}
    for _ in range(2):
        for query in queries:
            for search in engines.values():
                search(query)
    for turn in range(rounds):
        for at, query in enumerate(queries):
            for name, search in engines.items():
                wall, cpu = time.perf_counter(), time.process_time()
                search(query)
                times[name][turn, at] = time.perf_counter() - wall, time.process_time() - cpu
    found = {}
    for name, taken in times.items():
        wall_p50, cpu_p50 = 1e3 * np.percentile(np.median(taken, axis=0), 50, axis=0)
        wall_p99, cpu_p99 = 1e3 * np.percentile(np.median(taken, axis=0), 99, axis=0)
        found[name] = float(wall_p50), float(wall_p99), float(cpu_p50), float(cpu_p99)
    return found


def stages(index: Index, queries: Sequence[str]) -> dict[str, float]:
    """Return the median of each of the search's own timings."""
    taken = [index.search(query, rerank=False).timings_ms or {} for query in queries]
    names = dict.fromkeys(name for each in taken for name in each)
    return {name: float(np.median([each.get(name, 0.0) for each in taken])) for name in names}


def run(folder: Path, arguments: argparse.Namespace) -> None:
    corpus = make_corpus(arguments.chunks, arguments.queries)
    corpus.embedder.embed(list(corpus.chunks()))
    engines = open_engines(folder / f"hybrid-{arguments.chunks}", corpus, arguments.engines)
    searches = {name: engine.search for name, engine in engines.items()}
    found = measure(searches, corpus.queries, arguments.rounds)
    print(f"{processor()}, {os.cpu_count()} cores, {arguments.chunks} chunks, commit {commit()}")
    print("| engine | p50 ms | p99 ms | p50 ms of the CPU | p99 ms of the CPU | index s |")
    print("|---|---:|---:|---:|---:|---:|")
    figures = {}
    for name, engine in engines.items():
        values = (*found[name], engine.index_cpu_s)
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |")
        keys = ("p50", "p99", "cpu_p50", "cpu_p99", "index_cpu_s")
        figures[name] = dict(zip(keys, values, strict=True))
    for name, engine in engines.items():
        if engine.index is not None:
            parts = stages(engine.index, corpus.queries)
            print(f"{name}: " + ", ".join(f"{part} {ms:.2f}" for part, ms in parts.items()))
    if arguments.json:
        write_results(
            arguments.json,
            benchmark=f"hybrid, {arguments.chunks} chunks",
            rounds=arguments.rounds,
            figures=figures,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where indexes are kept for the next run")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--engines", nargs="*", default=[], help="names; default: all")
    arguments = parser.parse_args()
    # The threads of OpenMP wait without using the CPU.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.folder or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        run(folder, arguments)


if __name__ == "__main__":
    main()
