"""Requests side by side, tried again, told in order."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crx.errors import BudgetSpent, ModelError, Offline
from crx.remote.errors import Again, Failed, refuse_offline
from crx.remote.pool import OrderedPool
from crx.remote.retry import RetryPolicy
from crx.remote.stream import stream
from crx.types import Context


def spread(
    outcomes: list[str], turns: list[int], *, width: int, warm_first: bool, afford: int = 10**9
) -> tuple[list[Context], int, str]:
    """Do one item an outcome, each after so many turns of the loop; tell what came."""
    told: list[Context] = []
    state = SimpleNamespace(running=0, most=0, admitted=0)

    def admit(at: int) -> None:
        if state.admitted == afford:
            raise BudgetSpent("spent")
        state.admitted += 1

    async def do(at: int) -> Context:
        state.running += 1
        state.most = max(state.most, state.running)
        for _ in range(turns[at]):
            await asyncio.sleep(0)
        state.running -= 1
        if outcomes[at] == "ends":
            raise ModelError("the key")
        return Context.failed("x") if outcomes[at] == "failed" else Context(str(at))

    async def main() -> str:
        try:
            await OrderedPool(do, admit=admit, width=width, warm_first=warm_first).run(
                range(len(outcomes)), told.append
            )
        except (BudgetSpent, ModelError) as error:
            return str(error)
        return ""

    end = asyncio.run(main())
    return told, state.most, end


OUTCOMES = st.lists(st.sampled_from(["ok", "failed"]), max_size=12)
TURNS = st.lists(st.integers(0, 9), min_size=12, max_size=12)


@settings(deadline=None)
@given(OUTCOMES, TURNS, st.integers(1, 5), st.booleans())
def test_every_item_is_told_once_in_order_however_long_each_takes(
    outcomes, turns, width, warm_first
) -> None:
    told, most, end = spread(outcomes, turns, width=width, warm_first=warm_first)
    assert told == [
        Context(str(at)) if outcome == "ok" else Context.failed("x")
        for at, outcome in enumerate(outcomes)
    ]
    assert most <= width
    assert end == ""


@settings(deadline=None)
@given(OUTCOMES, TURNS, st.integers(0, 12))
def test_what_a_budget_allows_is_told_and_nothing_else(outcomes, turns, afford) -> None:
    told, _, end = spread(outcomes, turns, width=3, warm_first=False, afford=afford)
    assert len(told) == min(afford, len(outcomes))
    assert end == ("spent" if afford < len(outcomes) else "")


@settings(deadline=None)
@given(st.lists(st.sampled_from(["ok", "ends"]), max_size=12), TURNS, st.integers(1, 5))
def test_what_was_answered_is_told_before_the_run_ends(outcomes, turns, width) -> None:
    told, _, end = spread(outcomes, turns, width=width, warm_first=False)
    assert end == ("the key" if "ends" in outcomes else "")
    for at, context in enumerate(told):
        expected = Context(str(at)) if outcomes[at] == "ok" else Context.failed("the key")
        assert context == expected
    assert not told or told[-1].outcome == "ok"


def test_an_item_that_does_not_fit_waits_for_one_under_way_to_give_room() -> None:
    told: list[Context] = []
    room = 2

    def admit(at: int) -> None:
        nonlocal room
        if room == 0:
            raise BudgetSpent("spent")
        room -= 1

    async def do(at: int) -> Context:
        nonlocal room
        await asyncio.sleep(0)
        room += 1
        return Context(str(at))

    async def main() -> None:
        await OrderedPool(do, admit=admit, width=9, warm_first=False).run(range(5), told.append)

    asyncio.run(main())
    assert told == [Context(str(at)) for at in range(5)]


def test_only_so_many_run_ahead_of_one_that_takes_long() -> None:
    begun: list[int] = []
    ahead = 0

    async def do(at: int) -> Context:
        nonlocal ahead
        for _ in range(100 if at == 0 else 1):
            await asyncio.sleep(0)
        ahead = ahead or (at == 0) * len(begun)
        return Context(str(at))

    told: list[Context] = []
    run = OrderedPool(do, admit=begun.append, width=2, warm_first=False).run(range(30), told.append)
    asyncio.run(run)
    assert ahead == 8
    assert told == [Context(str(at)) for at in range(30)]


def test_items_go_alone_until_one_is_answered() -> None:
    turns = [3, 3, 3, 3, 3]
    _, most, _ = spread(["failed"] * 5, turns, width=4, warm_first=True)
    assert most == 1
    _, most, _ = spread(["failed", "ok", "ok", "ok", "ok"], turns, width=4, warm_first=True)
    assert most == 3


def test_a_stream_yields_what_is_told_and_raises_what_ends_it() -> None:
    async def produce(tell) -> None:
        tell(1)
        tell(2)
        raise ModelError("over")

    got: list[int] = []
    with pytest.raises(ModelError, match="over"):
        got.extend(stream(produce))
    assert got == [1, 2]


def test_closing_a_stream_cancels_its_work() -> None:
    ended = threading.Event()

    async def produce(tell) -> None:
        tell(1)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    numbers = stream(produce)
    assert next(numbers) == 1
    numbers.close()
    assert ended.is_set()


def test_a_stream_runs_inside_another_event_loop() -> None:
    async def produce(tell) -> None:
        tell("here")

    async def notebook() -> list[str]:
        return list(stream(produce))

    assert asyncio.run(notebook()) == ["here"]


def patience(troubles: list[Exception]) -> tuple[list[float], object]:
    """Ask something that has these troubles and then answers 7; return waits and the result."""
    waits: list[float] = []

    async def sleep(wait_s: float) -> None:
        waits.append(wait_s)

    async def ask() -> int:
        if troubles:
            raise troubles.pop(0)
        return 7

    async def main() -> object:
        try:
            return await RetryPolicy(waits_s=(1, 2, 4), sleep=sleep).keep(ask)
        except (Failed, ModelError) as error:
            return error

    return waits, asyncio.run(main())


def test_a_moments_trouble_is_waited_out_longer_each_time() -> None:
    waits, result = patience([Again("x"), Again("x"), Again("x")])
    assert result == 7
    assert all(wait <= is_s <= wait * 1.25 for wait, is_s in zip((1, 2, 4), waits, strict=True))


def test_a_wait_that_is_asked_for_is_kept_within_reason() -> None:
    assert patience([Again("x", after_s=30), Again("x", after_s=10**9)])[0] == [30, 300]


def test_trouble_that_lasts_fails_and_no_connection_ends_the_run() -> None:
    assert isinstance(patience([Again("x")] * 4)[1], Failed)
    assert isinstance(patience([Again("x", unreachable=True)] * 4)[1], ModelError)


def test_the_chunks_trouble_is_not_tried_again() -> None:
    assert patience([Failed("x")])[0] == []


@pytest.mark.parametrize(
    ("value", "refused"), [("1", True), ("yes", True), ("0", False), ("", False)]
)
def test_offline_is_what_the_environment_says(monkeypatch, value: str, *, refused: bool) -> None:
    monkeypatch.setenv("CRX_OFFLINE", value)
    if not refused:
        return refuse_offline("claude:x")
    with pytest.raises(Offline, match="claude:x: needs the network, and CRX_OFFLINE is set"):
        refuse_offline("claude:x")
    return None
