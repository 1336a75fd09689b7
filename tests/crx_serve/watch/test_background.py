"""Embedding in the time that is left over."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import crx
from crx._backends.hashed import HashedEmbedder
from crx.errors import Locked, ModelError
from crx_serve.watch import BackgroundEmbedder, background
from crx_serve.watch.battery import is_on_battery

PATIENCE_S = 60.0


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[crx.Index]:
    """Return an index of twenty chunks without vectors."""
    monkeypatch.setattr(background, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(background, "BATTERY_EVERY_S", 0.02)
    monkeypatch.setattr(background, "RETRY_AFTER_S", 0.02)
    documents = [crx.Document(f"{n}", f"Whale number {n}.") for n in range(20)]
    with crx.open(tmp_path / "i.crx", settings={"embedder": "hashed"}) as opened:
        opened.add_documents(documents, words_only=True)
        yield opened


def pending(index: crx.Index) -> int:
    return len(index.store.pending())


def wait_until(is_so: Callable[[], bool]) -> None:
    latest = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < latest
        time.sleep(0.01)


def added(index: crx.Index) -> bool:
    """Add a document, unless the embedder stores vectors at this moment."""
    try:
        index.add_documents([crx.Document("new", "Herring.")], words_only=True)
    except Locked:
        return False
    return True


def fail_at_first(monkeypatch: pytest.MonkeyPatch, error: Exception, *, times: int) -> None:
    """Let the first calls of the embedder raise an error."""
    failures = iter([error] * times)
    embed = HashedEmbedder.embed

    def fail_or_embed(
        self: HashedEmbedder, texts: Sequence[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        failure = next(failures, None)
        if failure is not None:
            raise failure
        return embed(self, texts, query=query)

    monkeypatch.setattr(HashedEmbedder, "embed", fail_or_embed)


def embedding(index: crx.Index, **options: object) -> BackgroundEmbedder:
    options = {"has_battery_power": lambda: False, **options}
    return BackgroundEmbedder(lambda: index, **options)  # type: ignore[arg-type]


def test_pending_chunks_are_embedded_and_what_is_put_later_too(index: crx.Index) -> None:
    embedder = embedding(index)
    embedder.start()
    wait_until(lambda: pending(index) == 0)
    wait_until(lambda: added(index))
    wait_until(lambda: pending(index) == 0)
    embedder.close()
    assert index.verify().faults == ()
    assert "dense" in index.search("whale number 7").hits[0].stages


def test_while_a_search_runs_no_text_is_embedded(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded = threading.Event()
    embed = HashedEmbedder.embed

    def note(self: HashedEmbedder, texts: Sequence[str], *, query: bool = False) -> object:
        embedded.set()
        return embed(self, texts, query=query)

    monkeypatch.setattr(HashedEmbedder, "embed", note)
    embedder = embedding(index)
    with index.searcher():
        assert index.is_searching
        embedder.start()
        assert not embedded.wait(0.3)
    assert not index.is_searching
    wait_until(lambda: pending(index) == 0)
    embedder.close()


def test_on_a_battery_nothing_is_embedded_unless_asked(index: crx.Index) -> None:
    is_low = threading.Event()
    is_low.set()
    asked: list[bool] = []

    def has_battery_power() -> bool:
        asked.append(is_low.is_set())
        return is_low.is_set()

    embedder = embedding(index, has_battery_power=has_battery_power)
    embedder.start()
    wait_until(lambda: len(asked) > 3)
    assert pending(index) == 20
    is_low.clear()
    wait_until(lambda: pending(index) == 0)
    embedder.close()


def test_a_battery_is_no_hindrance_if_it_was_asked_for(index: crx.Index) -> None:
    embedder = embedding(index, has_battery_power=lambda: True, on_battery=True)
    embedder.start()
    wait_until(lambda: pending(index) == 0)
    embedder.close()


def test_beside_another_writer_the_vectors_wait(index: crx.Index) -> None:
    embedder = embedding(index)
    with index._writing():
        embedder.start()
        time.sleep(0.3)
        assert pending(index) == 20
    wait_until(lambda: pending(index) == 0)
    embedder.close()


def test_a_model_that_fails_is_reported_once_and_tried_again(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at_first(monkeypatch, ModelError("hashed: not here"), times=3)
    problems: list[str] = []
    embedder = embedding(index, on_problem=problems.append)
    embedder.start()
    wait_until(lambda: pending(index) == 0)
    embedder.close()
    assert problems == ["vectors are not made: hashed: not here"]


def test_a_model_that_raises_anything_does_not_end_the_thread(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at_first(monkeypatch, RuntimeError("no memory"), times=1)
    problems: list[str] = []
    embedder = embedding(index, on_problem=problems.append)
    embedder.start()
    wait_until(lambda: pending(index) == 0)
    embedder.close()
    assert problems == ["vectors are not made: RuntimeError: no memory"]


def test_a_search_of_another_index_goes_first_too(index: crx.Index) -> None:
    searching = threading.Event()
    searching.set()
    embedder = embedding(index, is_searching=searching.is_set)
    embedder.start()
    time.sleep(0.3)
    assert pending(index) == 20
    searching.clear()
    wait_until(lambda: pending(index) == 0)
    embedder.close()


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a priority of its own on Linux")
def test_texts_are_embedded_at_the_lowest_priority_of_their_thread_alone(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    seen: list[int] = []
    embed = HashedEmbedder.embed

    def note(
        self: HashedEmbedder, texts: Sequence[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return embed(self, texts, query=query)

    monkeypatch.setattr(HashedEmbedder, "embed", note)
    embedder = embedding(index)
    embedder.start()
    wait_until(lambda: pending(index) == 0)
    embedder.close()
    assert set(seen) == {19}
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells")
@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ({}, False),
        ({"BAT0": {"type": "Battery", "status": "Discharging"}}, True),
        ({"BAT0": {"type": "Battery", "status": "Charging"}}, False),
        (
            {
                "AC": {"type": "Mains", "online": "1"},
                "BAT0": {"type": "Battery", "status": "Discharging"},
            },
            False,
        ),
        (
            {
                "AC": {"type": "Mains", "online": "0"},
                "BAT0": {"type": "Battery", "status": "Discharging"},
            },
            True,
        ),
        ({"mouse": {"type": "Battery", "scope": "Device", "status": "Discharging"}}, False),
    ],
)
def test_the_battery_is_told_by_the_system(
    tmp_path: Path,
    supplies: dict[str, dict[str, str]],
    expected: bool,  # noqa: FBT001
) -> None:
    for name, fields in supplies.items():
        (tmp_path / name).mkdir()
        for field, value in fields.items():
            (tmp_path / name / field).write_text(f"{value}\n")
    assert is_on_battery(tmp_path) is expected
