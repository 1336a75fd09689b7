"""Searches beside a writer: each answer is that of one committed state of the index."""

from __future__ import annotations

import multiprocessing
import re
import threading
import time
from collections.abc import Iterator
from multiprocessing.pool import AsyncResult
from pathlib import Path

import pytest

import crx
from crx.types import Result

DOCUMENTS = 8
SEARCHERS = 4
SEARCHES = 40


def documents(version: int) -> Iterator[crx.Document]:
    """Yield the documents of one version, in the order in which they are committed."""
    for number in range(DOCUMENTS):
        yield crx.Document(f"mem:{number}", f"Whales eat krill. Document {number} v{version}.")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[crx.Index]:
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as made:
        made.add_documents(documents(0))
        yield made


def find(index: crx.Index) -> Result:
    return index.search("whales krill", k=2 * DOCUMENTS, window=0)


def versions(result: Result) -> list[int]:
    """Return the versions of the documents found, in the order in which they are committed."""
    found = [re.search(r"Document (\d+) v(\d+)", passage.text) for passage in result]
    return [
        version for _, version in sorted((int(each[1]), int(each[2])) for each in found if each)
    ]


def require_committed(found: list[int]) -> None:
    """Raise unless the first documents are one version ahead of the others, or none is."""
    assert found == sorted(found, reverse=True), found
    assert max(found) - min(found) <= 1, found


def search_until(index: crx.Index, done: threading.Event, faults: list[BaseException]) -> int:
    """Search until `done` is set; returns how often, and notes the exception that ends it."""
    searches = 0
    newest = 0
    try:
        while not done.is_set() or searches == 0:
            result = find(index)
            found = versions(result)
            assert len(found) == DOCUMENTS, result
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
    assert versions(find(index)) == [version] * DOCUMENTS


def test_four_forked_children_search(index: crx.Index) -> None:
    find(index)  # the parent has threads, and files that the children inherit
    with ForkedSearchers(index) as answers:
        assert [versions(result) for result in answers.get(60)] == [[0] * DOCUMENTS] * SEARCHES


def test_four_forked_children_search_while_the_parent_adds(index: crx.Index) -> None:
    """A child cannot commit what its parent adds: it says what it lacks."""
    find(index)  # the parent has threads, and files that the children inherit
    with ForkedSearchers(index) as answers:
        version = 0
        while not answers.ready():
            version += 1
            index.add_documents(documents(version))
        for result in answers.get(60):
            found = versions(result)
            assert len(found) == DOCUMENTS or result.notes, result
            if found:
                require_committed(found)


_inherited: crx.Index


def _search_inherited(_: int) -> Result:
    return find(_inherited)


class ForkedSearchers:
    """Child processes that search the index of their parent; gives their answers."""

    def __init__(self, index: crx.Index) -> None:
        global _inherited
        _inherited = index
        self._pool = multiprocessing.get_context("fork").Pool(SEARCHERS)

    def __enter__(self) -> AsyncResult[list[Result]]:
        return self._pool.map_async(_search_inherited, range(SEARCHES), chunksize=5)

    def __exit__(self, *_: object) -> None:
        self._pool.terminate()
        self._pool.join()
