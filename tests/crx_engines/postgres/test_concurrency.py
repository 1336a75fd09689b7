"""Several writers and readers: every answer is that of a committed state."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from document_versions import two_versions
from postgres_server import PostgresServer

import crx
from crx.errors import SystemFailure
from crx_engines.engine.protocol import Saturation
from crx_engines.folder.copy import copy_documents, open_engine
from crx_engines.postgres.sharded_engine import open_database

WRITERS = 3
ROUNDS = 6


def test_readers_beside_writers_see_whole_documents_and_exact_sums(
    folder: Path, new_database: Callable[[], str]
) -> None:
    url = new_database()
    versions = two_versions(folder)
    sizes = {(v.uri, v.title): len(v.chunks) for pair in versions for v in pair}
    source, engine = open_engine(str(folder)), open_engine(url)
    engine.create(source.settings())
    engine.upsert([whole for whole, _ in versions])
    done = threading.Event()
    failures: list[str] = []

    def write(number: int) -> None:
        # The writers put the same documents, in other orders.
        writer = open_engine(url)
        for turn in range(ROUNDS):
            order = versions if (turn + number) % 2 else versions[::-1]
            writer.upsert([pair[(turn + at) % 2] for at, pair in enumerate(order)])
            if turn % 3 == number:
                writer.publish()
        writer.close()

    def read() -> None:
        reader = open_engine(url)
        while not done.is_set():
            with reader.snapshot() as snapshot:
                keys = snapshot.sparse_topk(
                    [("the", 1.0)], k=10_000, saturation=Saturation(), where=None
                ).keys
                rows = snapshot.rows(keys.tolist())
                stats = snapshot.stats()
                (freq,) = snapshot.doc_freqs(["the"], saturation=Saturation())
                documents = [snapshot.read(uri) for uri in snapshot.digests(where=None)]
            held = {(each.uri, each.title): len(each.chunks) for each in documents if each}
            if any(sizes[name] != count for name, count in held.items()):
                failures.append(f"half a document: {held}")
            if (stats.chunks, freq) != (sum(held.values()), len(rows)):
                failures.append(f"{stats.chunks} chunks, {freq} with a term; {held}, {len(rows)}")
        reader.close()

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert failures == []
    source.close()
    engine.close()


def test_searches_of_several_threads_have_connections_of_their_own(database: str) -> None:
    answers: list[list[str]] = []
    with crx.open(database) as index:
        expected = [hit.uri for hit in index.search("how is a folder indexed").hits]

        def search() -> None:
            answers.append([hit.uri for hit in index.search("how is a folder indexed").hits])

        threads = [threading.Thread(target=search) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [expected] * 6


def test_a_killed_server_is_said_and_searched_again_when_it_is_back(
    database: str, server: PostgresServer
) -> None:
    with crx.open(database) as index:
        before = index.search("what is an index")
        server.stop("immediate")
        try:
            with pytest.raises(SystemFailure, match=r"no connection|try again"):
                index.search("what is an index")
        finally:
            server.start()
        after = index.search("what is an index")
    assert [hit.key for hit in after.hits] == [hit.key for hit in before.hits]


def test_a_graph_finds_what_the_scan_finds(folder: Path, new_database: Callable[[], str]) -> None:
    url = new_database()
    source, target = open_engine(str(folder)), open_database(url)
    copy_documents(source, target)
    vector = np.ones(source_dimensions(folder), np.float32)
    with target.snapshot() as exact:
        assert exact.exact
        expected = exact.dense_topk(vector, k=20, where={"lang": "en"})
    target.build_graph()
    with target.snapshot() as graph:
        assert not graph.exact
        found = graph.dense_topk(vector, k=20, where={"lang": "en"})
    shared = set(found.keys.tolist()) & set(expected.keys.tolist())
    assert len(shared) >= 0.98 * len(expected.keys)
    source.close()
    target.close()


def source_dimensions(folder: Path) -> int:
    with crx.open(folder) as index:
        return index.embedder.dimensions
