"""Messages between processes: framing, and the limit on silence."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx.errors import SystemFailure
from crx.workers import child as child_module
from crx.workers.child import Child
from crx.workers.messages import (
    ChildLost,
    ChildSilent,
    Message,
    decode_message,
    encode_message,
)

VALUES = st.text() | st.integers() | st.booleans() | st.lists(st.text())

ECHO = """
from crx.workers.parent import Parent
parent = Parent()
print("a library's output", flush=True)
while (message := parent.receive()) is not None:
    parent.send(message)
"""


@given(st.lists(st.dictionaries(st.text(), VALUES), max_size=5), st.integers(1, 9))
def test_messages_arrive_whole_however_they_are_cut(
    messages: list[dict[str, object]], size: int
) -> None:
    data = b"".join(map(encode_message, messages))
    buffer, arrived = bytearray(), []
    for at in range(0, len(data), size):
        buffer += data[at : at + size]
        while (message := decode_message(buffer)) is not None:
            arrived.append(message)
    assert arrived == messages
    assert not buffer


@pytest.mark.parametrize(
    "data", [b"\xff\xff\xff\xff", b"\0\0\0\2\xff\xfe", b"\0\0\0\2[]", b"\0\0\0\1{"]
)
def test_a_malformed_message_ends_the_conversation(data: bytes) -> None:
    with pytest.raises(ChildLost):
        decode_message(bytearray(data))


def test_a_message_larger_than_the_pipe_comes_back() -> None:
    child = Child((sys.executable, "-c", ECHO))
    message = {"text": "heron \ud800 " * 100_000}
    child.send(message, timeout_s=60)
    child.send(message, timeout_s=60)
    assert [child.receive(timeout_s=60) for _ in range(2)] == [message, message]
    child.end()


def test_the_death_of_a_child_is_reported_with_its_last_line_of_output() -> None:
    child = Child((sys.executable, "-c", "raise SystemExit('no luck')"))
    with pytest.raises(ChildLost, match="ended with 1: no luck"):
        child.receive(timeout_s=60)
    child.end()


def test_the_backtrace_of_a_child_is_not_its_last_line() -> None:
    printed = "memory allocation of 9 bytes failed\nstack backtrace:\n   0: a\nnote: run with A=1"
    child = Child((sys.executable, "-c", f"raise SystemExit({printed!r})"))
    with pytest.raises(ChildLost, match="ended with 1: memory allocation of 9 bytes failed"):
        child.receive(timeout_s=60)
    child.end()


def test_a_missing_program_is_named() -> None:
    with pytest.raises(SystemFailure, match="/no/such/program: cannot be started"):
        Child(("/no/such/program",))


def test_a_long_wait_is_cut_so_that_an_interrupt_before_it_is_handled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    class Waiting:
        def register(self, handle: int, events: int) -> None: ...

        def poll(self, wait_ms: float) -> list[tuple[int, int]]:
            waits.append(wait_ms / 1000)
            return []

    child = Child((sys.executable, "-c", "input()"))
    with monkeypatch.context() as clock:
        clock.setattr(child_module, "_SIGNAL_S", 0.05)
        # Of this module alone: a server in another thread waits by the clock of all.
        polled = SimpleNamespace(poll=Waiting, POLLIN=select.POLLIN, POLLOUT=select.POLLOUT)
        clock.setattr(child_module, "select", polled)
        clock.setattr(child_module, "time", SimpleNamespace(monotonic=lambda: sum(waits)))
        with pytest.raises(ChildSilent, match=r"silent for 0\.3 s"):
            child.receive(timeout_s=0.3)
    child.end()
    assert len(waits) >= 6
    assert max(waits) == pytest.approx(0.05)
    assert sum(waits) == pytest.approx(0.3)


def arrivals(child: Child) -> Iterator[Message]:
    while True:
        select.select([child], [], [], 60)
        yield from child.arrived()


def test_what_a_child_sent_before_its_death_arrives_first() -> None:
    child = Child((sys.executable, "-c", ECHO.replace("while", "if") + "raise SystemExit('done')"))
    child.send({"text": "heron"}, timeout_s=60)
    messages = arrivals(child)
    assert next(messages) == {"text": "heron"}
    with pytest.raises(ChildLost, match="ended with 1: done"):
        next(messages)
    child.end()
