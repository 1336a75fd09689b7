"""Readers see committed states alone, whatever writers do or leave undone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from document_versions import two_versions
from milvus_lite_server import MilvusProcess

import crx
from crx.errors import Locked, SystemFailure
from crx_engines.engine.protocol import Engine, EngineSnapshot, Saturation, StoredDocument
from crx_engines.folder.copy import open_engine
from crx_engines.milvus import milvus_snapshot, milvus_writer, writer_flag
from crx_engines.milvus.milvus_address import parse_milvus_address
from crx_engines.milvus.milvus_collections import (
    CHUNK,
    DOCUMENT,
    FREQ,
    HNSW,
    NUMBERED,
    STATE,
    VECTOR,
)
from crx_engines.milvus.milvus_connection import MilvusConnection
from crx_engines.milvus.milvus_engine import open_milvus

# Puts four documents in their short versions, and is killed before request number N.
KILLED = """
import os, signal, sys
from dataclasses import replace
from crx_engines.folder.copy import open_engine
from crx_engines.milvus.milvus_connection import MilvusConnection
source, target, most = open_engine(sys.argv[1]), open_engine(sys.argv[2]), int(sys.argv[3])
with source.snapshot() as snapshot:
    found = [snapshot.read(uri) for uri in list(snapshot.digests(where=None))[:4]]
insert, done = MilvusConnection.insert, 0
def counted(self, kind, rows, **options):
    global done
    if rows:
        done += 1
        if done > most:
            os.kill(os.getpid(), signal.SIGKILL)
    insert(self, kind, rows, **options)
MilvusConnection.insert = counted
target.upsert([replace(each, title="part", chunks=each.chunks[:2]) for each in found])
"""


def create(engine: Engine, folder: Path) -> None:
    source = open_engine(str(folder))
    engine.create(source.settings())
    source.close()


def seen(snapshot: EngineSnapshot) -> dict[str, int]:
    """Return how many chunks each document has in each way of reading; they must agree."""
    keys = snapshot.sparse_topk([("the", 1.0)], k=10_000, saturation=Saturation(), where=None).keys
    rows = snapshot.rows(keys.tolist())
    stats = snapshot.stats()
    (freq,) = snapshot.doc_freqs(["the"], saturation=Saturation())
    documents = [snapshot.read(uri) for uri in snapshot.digests(where=None)]
    dense = snapshot.dense_topk(np.ones(256, np.float32), k=10_000, where=None)
    held = {f"{each.title} {each.uri}": len(each.chunks) for each in documents if each}
    assert stats.chunks == len(dense.keys) == sum(held.values())
    assert freq == len(rows)
    assert stats.documents == len(held)
    return held


def sizes(versions: list[tuple[StoredDocument, StoredDocument]], at: int) -> dict[str, int]:
    return {f"{pair[at].title} {pair[at].uri}": len(pair[at].chunks) for pair in versions}


@pytest.fixture
def flags_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_flag, "EXPIRY_S", 0.2)


@pytest.mark.parametrize("requests", [2, 5, 8])
def test_what_a_killed_writer_left_is_not_seen_and_is_removed_by_the_next(
    folder: Path, milvus: MilvusProcess, requests: int, flags_expire: None
) -> None:
    url = milvus.url(f"killed_{requests}")
    versions = two_versions(folder)
    engine = open_engine(url)
    create(engine, folder)
    engine.upsert([whole for whole, _ in versions])
    command = [sys.executable, "-c", KILLED, str(folder), url, str(requests)]
    killed = subprocess.run(command, timeout=300, env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    with engine.snapshot() as snapshot:
        assert seen(snapshot) == sizes(versions, 0)
    # Another document than the first that was killed in the middle: other rows have its keys.
    assert engine.upsert([versions[3][1]]) == 1
    with engine.snapshot() as snapshot:
        assert seen(snapshot) == {**sizes(versions[:3], 0), **sizes(versions[3:], 1)}
    engine.close()
    with MilvusRows(url) as rows:
        last = max(row["number"] for row in rows.of(STATE, 'kind == "commit"'))
        assert all(rows.of(kind, f"born > {last}") == [] for kind in NUMBERED)


def test_readers_beside_writers_see_whole_documents_and_exact_sums(
    folder: Path, new_lite: Callable[[], str]
) -> None:
    url = new_lite()
    versions = two_versions(folder)
    allowed = {**sizes(versions, 0), **sizes(versions, 1)}
    engine = open_engine(url)
    create(engine, folder)
    engine.upsert([whole for whole, _ in versions])
    done = threading.Event()
    failures: list[object] = []

    def write(number: int) -> None:
        writer = open_engine(url)
        for turn in range(3):
            order = versions if (turn + number) % 2 else versions[::-1]
            writer.upsert([pair[(turn + at) % 2] for at, pair in enumerate(order)])
            writer.publish()
        writer.close()

    def read() -> None:
        reader = open_engine(url)
        try:
            while not done.is_set():
                with reader.snapshot() as snapshot:
                    held = seen(snapshot)
                if len(held) != 4 or any(allowed[name] != n for name, n in held.items()):
                    failures.append(held)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)
        reader.close()

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    engine.close()
    assert failures == []


class MilvusRows:
    """The rows of an index, whoever sees them."""

    def __init__(self, url: str) -> None:
        self._connection = MilvusConnection(parse_milvus_address(url))

    def __enter__(self) -> MilvusRows:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def of(self, kind: str, where: str) -> list[dict[str, int]]:
        fields = ["number"] if kind == STATE else ["born"]
        return self._connection.query(kind, where, fields=fields)


def test_replaced_documents_stay_for_earlier_readers_and_are_removed_later(
    folder: Path, new_lite: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_lite()
    versions = two_versions(folder)
    engine = open_engine(url)
    create(engine, folder)
    engine.upsert([whole for whole, _ in versions])
    with engine.snapshot() as earlier:
        engine.upsert([part for _, part in versions])
        engine.publish()
        assert seen(earlier) == sizes(versions, 0)
        with engine.snapshot() as later:
            assert seen(later) == sizes(versions, 1)
        monkeypatch.setattr(milvus_writer, "GRACE_S", -2)
        monkeypatch.setattr(milvus_snapshot, "GRACE_S", 0)
        engine.publish()
        with pytest.raises(SystemFailure, match=r"has been replaced .* run the command again"):
            seen(earlier)
    with engine.snapshot() as snapshot, MilvusRows(url) as rows:
        assert seen(snapshot) == sizes(versions, 1)
        assert len(rows.of(DOCUMENT, "born >= 0")) == 4
        assert len(rows.of(CHUNK, "born >= 0")) == sum(sizes(versions, 1).values())
        assert rows.of(STATE, 'kind == "gone"') == []
    engine.close()


def test_document_frequencies_are_folded_and_stay_exact(
    folder: Path, new_lite: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_lite()
    versions = two_versions(folder)
    engine = open_engine(url)
    create(engine, folder)
    monkeypatch.setattr(milvus_writer, "GRACE_S", -2)
    for pair in versions:
        engine.upsert([pair[0]])
        engine.upsert([pair[1]])
    engine.publish()
    engine.publish()
    with engine.snapshot() as snapshot, MilvusRows(url) as rows:
        assert seen(snapshot) == sizes(versions, 1)
        assert len({row["born"] for row in rows.of(FREQ, "born >= 0")}) == 1
    engine.close()


def test_a_writer_waits_for_another_and_takes_over_from_one_that_ended(
    folder: Path, milvus: MilvusProcess, flags_expire: None
) -> None:
    url = milvus.url("flags")
    create(open_engine(url), folder)
    connection = MilvusConnection(parse_milvus_address(url))
    left = writer_flag.WriterFlag(connection)
    left.raise_alone()
    with writer_flag.writing(connection) as flag:
        assert flag is not None
        with pytest.raises(Locked, match="another writer went on"):
            left.check()
        flag.check()
    connection.close()


def test_a_writer_that_never_gets_its_turn_gives_up(
    folder: Path, milvus: MilvusProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = milvus.url("busy")
    create(open_engine(url), folder)
    connection = MilvusConnection(parse_milvus_address(url))
    other = writer_flag.WriterFlag(connection)
    clock = iter(range(0, 10_000, 30))
    monkeypatch.setattr(writer_flag, "monotonic", lambda: float(next(clock)))
    other.raise_alone()
    monkeypatch.setattr(writer_flag, "sleep", lambda _: other.renew())
    with pytest.raises(Locked, match="others are writing; try again later"):
        writer_flag.WriterFlag(connection).raise_alone()
    connection.close()


def test_a_graph_finds_what_the_scan_finds(folder: Path, new_lite: Callable[[], str]) -> None:
    target = open_milvus(new_lite())
    versions = two_versions(folder)
    create(target, folder)
    target.upsert([whole for whole, _ in versions])
    vector = np.ones(256, np.float32)
    with target.snapshot() as exact:
        assert exact.exact
        expected = exact.dense_topk(vector, k=20, where={"lang": "en"})
    target.build_graph()
    with target.snapshot() as graph:
        assert not graph.exact
        found = graph.dense_topk(vector, k=20, where={"lang": "en"})
    target.build_graph()
    connection = MilvusConnection(parse_milvus_address(target.name))
    assert connection.index_type(VECTOR, "dense") == HNSW
    connection.close()
    shared = set(found.keys.tolist()) & set(expected.keys.tolist())
    assert len(shared) >= 0.98 * len(expected.keys)
    target.close()


def test_an_index_of_a_server_is_searched_when_the_server_is_back(
    folder: Path, milvus: MilvusProcess
) -> None:
    url = milvus.url("back")
    engine = open_engine(url)
    create(engine, folder)
    engine.upsert([whole for whole, _ in two_versions(folder)])
    engine.close()
    with crx.open(url) as index:
        before = index.search("what is an index")
    milvus.kill()
    milvus.start()
    with crx.open(url) as index:
        after = index.search("what is an index")
    assert [hit.key for hit in after.hits] == [hit.key for hit in before.hits] != []
