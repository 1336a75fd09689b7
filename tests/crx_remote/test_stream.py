"""Results of a coroutine as an iterator."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from crx.errors import ModelError
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
