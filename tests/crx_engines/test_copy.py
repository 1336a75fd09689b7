"""Copies between a folder and a database: resumed after kills, verified, refused when they must."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import crx
from crx.errors import Incompatible, NotAnIndex, UsageError
from crx_engines.engine.protocol import StoredContext, StoredDocument
from crx_engines.folder.copy import copy_documents, open_engine

# Copies, and is killed without warning once so many documents were put.
KILLED = """
import os, signal, sys
from crx_engines.folder import copy
copy._BATCH = 1
source, target, puts = sys.argv[1:]
def kill(progress):
    if progress.step == "copied" and progress.done >= int(puts):
        os.kill(os.getpid(), signal.SIGKILL)
copy.copy_documents(copy.open_engine(source), copy.open_engine(target), on_progress=kill)
"""


def digests(name: str) -> dict[str, bytes]:
    """Return the digests of the documents as they are read back."""
    engine = open_engine(name)
    with engine.snapshot() as snapshot:
        documents = [snapshot.read(uri) for uri in snapshot.digests(where=None)]
    engine.close()
    return {each.uri: each.digest() for each in documents if each is not None}


def copy(source: str, target: str, **options: object) -> int:
    one, other = open_engine(source), open_engine(target)
    try:
        return copy_documents(one, other, **options).copied  # type: ignore[arg-type]
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize("new", ["new_database", "new_lite"])
def test_a_copy_that_was_killed_twice_ends_equal_there_and_back(
    folder: Path, new: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database, back = request.getfixturevalue(new)(), str(tmp_path / "back.crx")
    for source, target in ((str(folder), database), (database, back)):
        for _ in range(2):
            killed = subprocess.run([sys.executable, "-c", KILLED, source, target, "4"], timeout=60)
            assert killed.returncode == -signal.SIGKILL
        assert 0 < copy(source, target) < len(digests(str(folder)))
        assert copy(source, target) == 0
    assert digests(back) == digests(database) == digests(str(folder))
    with crx.open(folder) as original, crx.open(back) as returned:
        one, other = (index.search("how is text split", k=20) for index in (original, returned))
        assert [(h.uri, h.ordinal) for h in other.hits] == [(h.uri, h.ordinal) for h in one.hits]
        assert returned.status().counts["pending"] == 0


@pytest.mark.parametrize("new", ["new_database", "new_lite"])
def test_contexts_and_their_outcomes_are_copied(
    folder: Path,
    new: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    accept_generic_contexts: None,
) -> None:
    contexts = tmp_path / "contexts.jsonl"
    there = tmp_path / "there.crx"
    copy(str(folder), str(there), where={"lang": "zh"})
    with crx.open(there) as index:
        index.contextualize("fake:")
        exported = index.export_contexts(contexts)
        assert exported > 0
    url = request.getfixturevalue(new)()
    copy(str(there), url)
    engine = open_engine(url)
    with engine.snapshot() as snapshot:
        found = [snapshot.read(uri) for uri in snapshot.digests(where=None)]
    engine.close()
    kept = {c.context for each in found if each for c in each.chunks if c.context}
    assert kept == _contexts(str(there))
    with crx.open(url) as remote, crx.open(there) as local:
        outcomes = [
            {name: n for name, n in index.status().counts.items() if name.startswith("outcome:")}
            for index in (remote, local)
        ]
        assert outcomes[0] == outcomes[1] != {}
        query = "地震"
        assert [h.context for h in remote.search(query).hits] == [
            h.context for h in local.search(query).hits
        ]


def _contexts(name: str) -> set[StoredContext]:
    engine = open_engine(name)
    with engine.snapshot() as snapshot:
        found: list[StoredDocument | None] = [
            snapshot.read(uri) for uri in snapshot.digests(where=None)
        ]
    engine.close()
    return {c.context for each in found if each for c in each.chunks if c.context}


def test_a_filter_brings_a_slice_home(database: str, tmp_path: Path) -> None:
    home = str(tmp_path / "slice.crx")
    copy(database, home, where={"lang": "zh"})
    assert set(digests(home)) == {"doc:zh0#part", "doc:zh1#part"}


def test_indexes_of_two_embedders_are_not_mixed(database: str, tmp_path: Path) -> None:
    other = tmp_path / "other.crx"
    with crx.open(other, settings={"embedder": "hashed:64", "chunk_chars": 400}):
        pass
    before = digests(database)
    with pytest.raises(Incompatible, match=r"built with embedder = hashed, but .* with hashed:64"):
        copy(str(other), database)
    assert digests(database) == before


def test_a_copy_of_nothing_or_onto_itself_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotAnIndex, match="holds no index"):
        copy(str(tmp_path / "none.crx"), str(tmp_path / "target.crx"))
    assert not (tmp_path / "target.crx").exists()
    with pytest.raises(UsageError, match="is source and target"):
        copy(str(folder), str(folder))
