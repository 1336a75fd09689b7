"""Searches for patterns beside other searches."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import crx
from crx import _native
from crx.errors import Busy, Interrupted
from crx.retrieve.operators import compile_pattern, parse_pattern
from crx_serve.pattern_threads import PatternThreads
from crx_serve.requests import SearchQuery
from crx_serve.service import SearchService

# It is compiled to less than the limit, and looks at 30 kB a second.
SLOW = "re:(?s).{1,400}q.{1,400}zz"


class Blocked:
    """A search that goes on when it is let."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.go_on.wait(30)
        return threading.current_thread().name


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """The threads of callers."""
    with ThreadPoolExecutor(4) as made:
        yield made


def test_as_many_wait_as_run_and_others_are_told_to_try_again(pool: ThreadPoolExecutor) -> None:
    threads = PatternThreads(count=1)
    first, second = Blocked(), Blocked()
    answers = [pool.submit(threads.run, each) for each in (first, second)]
    assert first.begun.wait(30)
    while threads._free._value:
        pass  # the second is let in
    with pytest.raises(Busy, match="too many searches for patterns at a time"):
        threads.run(Blocked())
    assert not second.begun.is_set()
    first.go_on.set()
    second.go_on.set()
    assert {each.result() for each in answers} == {"crx-pattern_0"}
    assert threads.run(lambda: 1) == 1
    threads.close()


def test_words_are_searched_for_while_patterns_hold_their_threads(
    service: SearchService, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = Blocked()
    found = service._search_index

    def search_index(served, request):  # type: ignore[no-untyped-def]
        if request.query.startswith("re:"):
            blocked()
        return found(served, request)

    monkeypatch.setattr(service, "_search_index", search_index)
    pattern = pool.submit(service.search, SearchQuery(query="re:kril+", index="sea"))
    assert blocked.begun.wait(30)
    assert service.search(SearchQuery(query="krill", index="sea")).passages
    blocked.go_on.set()
    assert pattern.result().passages


def test_a_store_is_read_while_it_is_searched_for_a_slow_pattern(
    tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}.txt").write_text("all work and no quiet play " * 3000)
    with crx.open(tmp_path / "slow.crx", settings={"embedder": "none"}) as index:
        index.add(folder)
        store = index.store
        trigrams = _native.Trigrams.open(str(index.path), seal_key=bytes(32))
        parsed = parse_pattern(SLOW, match="words")
        assert parsed is not None
        pattern = compile_pattern(parsed)
        interrupt = _native.Interrupt()

        def search() -> None:
            with interrupt:
                store.matching(pattern, trigrams=trigrams, k=10)

        searched = pool.submit(search)
        (row, *_) = store.documents()
        assert store.text(row.doc)
        # A store that is held would have been read when the search was over.
        assert not searched.done()
        interrupt.set()
        with pytest.raises(Interrupted):
            searched.result()
