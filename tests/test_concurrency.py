"""Searches beside a writer: each answer is that of one committed state of the index."""

from __future__ import annotations

import multiprocessing
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import crx

DOCUMENTS = 8
SEARCHERS = 4


def documents(version: int) -> Iterator[crx.Document]:
    """Yield the documents of one version, in the order in which they are committed."""
    for number in range(DOCUMENTS):
        yield crx.Document(f"mem:{number}", f"Whales eat krill. Document {number} v{version}.")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[crx.Index]:
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as made:
        made.add_documents(documents(0))
        yield made


def versions(index: crx.Index) -> list[int]:
    """Return the version of each document that a search finds, in the order of their commits."""
    result = index.search("whales krill", k=2 * DOCUMENTS, window=0)
    found = [re.search(r"Document (\d+) v(\d+)", passage.text) for passage in result]
    of = sorted((int(each[1]), int(each[2])) for each in found if each)
    assert [number for number, _ in of] == list(range(DOCUMENTS)), result
    return [version for _, version in of]


def require_committed(found: list[int]) -> None:
    """Raise unless a prefix of the documents is one version ahead of the rest, or none is."""
    assert found == sorted(found, reverse=True), found
    assert found[0] - found[-1] <= 1, found


def search_until(index: crx.Index, done: threading.Event, faults: list[BaseException]) -> int:
    """Search until `done` is set; returns how often, and notes the exception that ends it."""
    searches = 0
    newest = 0
    try:
        while not done.is_set() or searches == 0:
            found = versions(index)
            require_committed(found)
            assert found[-1] >= newest, (found, newest)
            newest = found[-1]
            searches += 1
    except BaseException as error:  # noqa: BLE001 - the test raises it
        faults.append(error)
        done.set()
    return searches


@pytest.mark.parametrize("seconds", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_four_threads_search_while_one_adds(index: crx.Index, seconds: int) -> None:
    done = threading.Event()
    faults: list[BaseException] = []
    searches: list[int] = []
    threads = [
        threading.Thread(target=lambda: searches.append(search_until(index, done, faults)))
        for _ in range(SEARCHERS)
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    version = 0
    while time.monotonic() < end and not done.is_set():
        version += 1
        index.add_documents(documents(version))
    done.set()
    for thread in threads:
        thread.join()
    assert faults == []
    assert version > 1
    assert all(searches)
    assert versions(index) == [version] * DOCUMENTS


def test_four_forked_children_search_while_the_parent_adds(index: crx.Index) -> None:
    versions(index)  # the parent has threads, and legs that the children inherit
    with multiprocessing.get_context("fork").Pool(SEARCHERS) as pool:
        answers = pool.map_async(_ChildSearch(index), range(10 * SEARCHERS), chunksize=5)
        version = 0
        while not answers.ready():
            version += 1
            index.add_documents(documents(version))
        for found in answers.get(60):
            require_committed(found)


class _ChildSearch:
    """A search of an index that the child process has from its parent."""

    _inherited: crx.Index | None = None

    def __init__(self, index: crx.Index) -> None:
        _ChildSearch._inherited = index

    def __call__(self, _: int) -> list[int]:
        assert _ChildSearch._inherited is not None
        return versions(_ChildSearch._inherited)
