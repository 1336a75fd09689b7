"""Results of a coroutine as an iterator."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from crx.deadline import deadline
from crx.errors import BudgetSpent, ModelError
from crx_remote.stream import stream


def test_a_stream_yields_what_is_emitted_and_then_raises_what_ended_it() -> None:
    async def produce(emit: Callable[[int], None]) -> None:
        emit(1)
        emit(2)
        raise ModelError("over")

    received: list[int] = []
    with pytest.raises(ModelError, match="over"):
        received.extend(stream(produce))
    assert received == [1, 2]


def test_closing_a_stream_cancels_its_coroutine() -> None:
    ended = threading.Event()

    async def produce(emit: Callable[[int], None]) -> None:
        emit(1)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    numbers = stream(produce)
    assert next(numbers) == 1
    numbers.close()
    assert ended.is_set()


def test_a_stream_runs_inside_another_event_loop() -> None:
    async def produce(emit: Callable[[str], None]) -> None:
        emit("here")

    async def notebook() -> list[str]:
        return list(stream(produce))

    assert asyncio.run(notebook()) == ["here"]


def test_a_stream_that_begins_late_is_told_once_and_keeps_its_order() -> None:
    told = threading.Event()

    async def produce(emit: Callable[[int], None]) -> None:
        while not told.is_set():
            await asyncio.sleep(0)
        emit(1)
        emit(2)

    assert list(stream(produce, slow_s=0, on_slow=lambda seconds: told.set())) == [1, 2]


def test_a_stream_that_stops_in_the_middle_is_told_once() -> None:
    told = threading.Event()
    waited: list[float] = []

    async def produce(emit: Callable[[int], None]) -> None:
        emit(1)
        while not told.is_set():
            await asyncio.sleep(0)
        emit(2)

    def tell(seconds: float) -> None:
        waited.append(seconds)
        told.set()

    assert list(stream(produce, slow_s=0.05, on_slow=tell)) == [1, 2]
    assert len(waited) == 1
    assert waited[0] >= 0.05


def test_a_stream_that_begins_in_time_is_not_told_slow() -> None:
    async def produce(emit: Callable[[int], None]) -> None:
        emit(1)

    slow: list[float] = []
    assert list(stream(produce, slow_s=60, on_slow=slow.append)) == [1]
    assert not slow


def test_a_stream_that_ends_at_the_deadline_before_it_is_slow_is_not_told_slow() -> None:
    async def produce(emit: Callable[[int], None]) -> None:
        await asyncio.Event().wait()

    slow: list[float] = []
    with deadline(0.05), pytest.raises(BudgetSpent):
        list(stream(produce, slow_s=60, on_slow=slow.append))
    assert not slow


def test_a_stream_that_waits_ends_at_the_deadline_and_cancels_its_coroutine() -> None:
    ended = threading.Event()

    async def produce(emit: Callable[[int], None]) -> None:
        emit(1)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    received: list[int] = []
    with deadline(0.05), pytest.raises(BudgetSpent, match=r"the budget of 0\.05 s is spent"):
        received.extend(stream(produce))
    assert received == [1]
    assert ended.is_set()
