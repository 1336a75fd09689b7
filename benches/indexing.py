"""Indexing of a folder of Markdown files, against LlamaIndex and a script with the same embedder.

    pip install tantivy llama-index-core
    python benches/indexing.py [--chunks 6000] [--rounds 3] [--json FILE]

Corpus: files of 15 sections with four paragraphs of sentences, which are random walks over the
bigrams of Python's standard library (see `corpus.py`). All engines embed with `hashed`. crx indexes
with outlines, as it does by default, and without. The script is what one would write in an
afternoon: it reads each file, cuts it at blank lines into chunks of at most 190 tokens, embeds them
64 at a time, adds them to tantivy with stems, writes texts and vectors to SQLite in one
transaction, and keeps nothing if it is killed. LlamaIndex reads the folder, splits it into
chunks of at most 190 tokens, embeds them and writes its stores; it has no index of words. Engines
take turns, each in a process of its own; times are from after the imports to the end. "outside the
embedder" is the CPU time that is not in the embedder's calls, which count tokens, too.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson
from corpus import RandomWalks, library_words
from harness import commit, processor, time_call, write_results
from numpy.typing import NDArray

from crx._index.handle import Index
from crx._index.handle import open as open_index
from crx.config import resolve
from crx.protocols import Embedder
from crx.registry import load_embedder
from crx.retrieve.delegating_embedder import DelegatingEmbedder

T = TypeVar("T")

PARAGRAPHS_PER_FILE, PARAGRAPHS_PER_SECTION = 60, 4
MAX_TOKENS, BATCH = 190, 64


def write_corpus(folder: Path, chunks: int) -> None:
    rng = np.random.default_rng(1)
    words, text = library_words()
    walks = RandomWalks(text)
    for number in range(-(-chunks // PARAGRAPHS_PER_FILE)):
        rows = walks.draw(PARAGRAPHS_PER_FILE, rng).tolist()
        lines = [f"# {title([words[word] for word in rows[0]])}"]
        for at, row in enumerate(rows):
            if at % PARAGRAPHS_PER_SECTION == 0:
                lines.append(f"## {title([words[word] for word in row[5:]])}")
            lines.append(paragraph([words[word] for word in row[: int(rng.integers(50, 131))]]))
        (folder / f"{number:05}.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def title(words: Sequence[str]) -> str:
    return " ".join(words[:4]).capitalize()


def paragraph(words: Sequence[str]) -> str:
    sentences = (words[at : at + 16] for at in range(0, len(words), 16))
    return " ".join(" ".join(sentence).capitalize() + "." for sentence in sentences)


class TimedEmbedder(DelegatingEmbedder):
    """An embedder whose CPU time is added up."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self.cpu_s = 0.0

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        return self._timed(lambda: self._embedder.token_starts(text))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        return self._timed(lambda: self._embedder.embed(texts, query=query))

    def _timed(self, call: Callable[[], T]) -> T:
        started = time.process_time()
        found = call()
        self.cpu_s += time.process_time() - started
        return found


def crx(source: Path, target: Path, embedder: TimedEmbedder, *, contexts: str) -> None:
    settings = {"embedder": "hashed", "contexts": contexts}
    open_index(target / "crx", settings=settings).close()
    with Index(target / "crx", resolve(settings), embedder=embedder) as index:
        index.add(source)


def script(source: Path, target: Path, embedder: TimedEmbedder) -> None:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", stored=False, tokenizer_name="en_stem", index_option="freq")
    builder.add_integer_field("key", stored=True)
    (target / "tantivy").mkdir()
    writer = tantivy.Index(builder.build(), path=str(target / "tantivy")).writer()
    db = sqlite3.connect(target / "chunks.db")
    db.execute("CREATE TABLE chunk (key INTEGER PRIMARY KEY, path TEXT, text TEXT, vector BLOB)")
    chunks = (
        (str(path), text)
        for path in sorted(source.glob("**/*.md"))
        for text in cut(path.read_text(encoding="utf-8"), embedder)
    )
    key = 0
    while batch := list(islice(chunks, BATCH)):
        vectors = embedder.embed([text for _, text in batch]).astype(np.float16)
        for (path, text), vector in zip(batch, vectors, strict=True):
            db.execute("INSERT INTO chunk VALUES (?, ?, ?, ?)", (key, path, text, vector.tobytes()))
            writer.add_document(tantivy.Document(body=text, key=key))
            key += 1
    db.commit()
    writer.commit()
    writer.wait_merging_threads()


def llama_index(source: Path, target: Path, embedder: TimedEmbedder) -> None:
    from llama_index.core import (  # type: ignore[import-not-found]
        Settings,
        SimpleDirectoryReader,
        VectorStoreIndex,
    )
    from llama_index.core.node_parser import SentenceSplitter  # type: ignore[import-not-found]

    def tokenize(text: str) -> list[int]:
        return list(embedder.token_starts(text))

    Settings.tokenizer = tokenize
    splitter = SentenceSplitter(chunk_size=MAX_TOKENS, chunk_overlap=0, tokenizer=tokenize)
    documents = SimpleDirectoryReader(str(source), recursive=True).load_data()
    index = VectorStoreIndex.from_documents(
        documents, transformations=[splitter], embed_model=llama_embedding(embedder)
    )
    index.storage_context.persist(str(target / "llama"))


def llama_embedding(embedder: Embedder) -> Any:
    """Return an embedder of crx as LlamaIndex takes one."""
    from llama_index.core.embeddings import BaseEmbedding  # type: ignore[import-not-found]

    class Embedding(BaseEmbedding):  # type: ignore[misc]
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            rows: list[list[float]] = embedder.embed(texts).tolist()
            return rows

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            row: list[float] = embedder.embed([query], query=True)[0].tolist()
            return row

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return Embedding(embed_batch_size=BATCH)


def cut(text: str, embedder: Embedder) -> Iterator[str]:
    """Yield runs of paragraphs of at most `MAX_TOKENS` together, or one longer paragraph."""
    run: list[str] = []
    size = 0
    for each in text.split("\n\n"):
        tokens = len(embedder.token_starts(each))
        if run and size + tokens > MAX_TOKENS:
            yield "\n\n".join(run)
            run, size = [], 0
        run.append(each)
        size += tokens
    yield "\n\n".join(run)


ENGINES: dict[str, Callable[[Path, Path, TimedEmbedder], None]] = {
    "crx": lambda *paths: crx(*paths, contexts="outline"),
    "crx, no outlines": lambda *paths: crx(*paths, contexts="none"),
    "script": script,
    "LlamaIndex": llama_index,
}


def measure(engine: str, source: Path) -> list[float]:
    """Return the seconds of one build: wall-clock, CPU, CPU outside the embedder."""
    embedder = TimedEmbedder(load_embedder("hashed"))
    with tempfile.TemporaryDirectory(dir=source.parent) as target:
        wall, cpu = time_call(lambda: ENGINES[engine](source, Path(target), embedder))
    return [wall, cpu, cpu - embedder.cpu_s]


def run(source: Path, rounds: int) -> dict[str, list[float]]:
    """Return the medians of `measure` of each engine, which take turns."""
    taken: dict[str, list[list[float]]] = {engine: [] for engine in ENGINES}
    for _ in range(rounds):
        for engine, runs in taken.items():
            command = [sys.executable, __file__, "--engine", engine, "--source", str(source)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            runs.append(orjson.loads(done.stdout))
    return {
        engine: [statistics.median(each) for each in zip(*runs, strict=True)]
        for engine, runs in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=6000, help="paragraphs of the corpus")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        print(orjson.dumps(measure(arguments.engine, arguments.source)).decode())
        return
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "corpus"
        source.mkdir()
        write_corpus(source, arguments.chunks)
        found = run(source, arguments.rounds)
    print(f"{processor()}, {os.cpu_count()} cores, {arguments.chunks} paragraphs, {commit()}")
    print("| engine | s | s of the CPU | outside the embedder |\n|---|---:|---:|---:|")
    for engine, values in found.items():
        print(f"| {engine} | " + " | ".join(f"{value:.2f}" for value in values) + " |")
    if arguments.json:
        names = ("index_s", "index_cpu_s", "outside_embedder_cpu_s")
        write_results(
            arguments.json,
            benchmark=f"indexing, {arguments.chunks} paragraphs",
            rounds=arguments.rounds,
            figures={engine: dict(zip(names, v, strict=True)) for engine, v in found.items()},
        )


if __name__ == "__main__":
    main()
