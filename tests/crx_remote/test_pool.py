"""Bounded concurrency with ordered results."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from crx.errors import BudgetSpent, ModelError
from crx.types import Context
from crx_remote.pool import OrderedPool


@dataclass(frozen=True)
class Run:
    """What a pool emitted, how many items ran at once at most, and the error that ended it."""

    emitted: list[Context]
    most_running: int
    error: str


def run_pool(
    results: list[str], turns: list[int], *, width: int, warm_first: bool, affordable: int = 10**9
) -> Run:
    """Process one item for each result, each after so many turns of the event loop."""
    emitted: list[Context] = []
    running = most_running = admitted = 0

    def admit(at: int) -> None:
        nonlocal admitted
        if admitted == affordable:
            raise BudgetSpent("spent")
        admitted += 1

    async def work(at: int) -> Context:
        nonlocal running, most_running
        running += 1
        most_running = max(most_running, running)
        for _ in range(turns[at]):
            await asyncio.sleep(0)
        running -= 1
        if results[at] == "ends the run":
            raise ModelError("the key")
        return Context.failed("x") if results[at] == "failed" else Context(str(at))

    async def main() -> str:
        pool = OrderedPool(work, admit=admit, width=width, warm_first=warm_first)
        try:
            await pool.run(range(len(results)), emitted.append)
        except (BudgetSpent, ModelError) as error:
            return str(error)
        return ""

    error = asyncio.run(main())
    return Run(emitted, most_running, error)


RESULTS = st.lists(st.sampled_from(["ok", "failed"]), max_size=12)
TURNS = st.lists(st.integers(0, 9), min_size=12, max_size=12)


@given(RESULTS, TURNS, st.integers(1, 5), st.booleans())
def test_every_item_is_emitted_once_in_order_however_long_each_takes(
    results: list[str],
    turns: list[int],
    width: int,
    warm_first: bool,  # noqa: FBT001
) -> None:
    run = run_pool(results, turns, width=width, warm_first=warm_first)
    assert run.emitted == [
        Context(str(at)) if result == "ok" else Context.failed("x")
        for at, result in enumerate(results)
    ]
    assert run.most_running <= width
    assert run.error == ""


@given(RESULTS, TURNS, st.integers(0, 12))
def test_the_items_that_the_budget_admits_are_emitted_and_no_other(
    results: list[str], turns: list[int], affordable: int
) -> None:
    run = run_pool(results, turns, width=3, warm_first=False, affordable=affordable)
    assert len(run.emitted) == min(affordable, len(results))
    assert run.error == ("spent" if affordable < len(results) else "")


@given(st.lists(st.sampled_from(["ok", "ends the run"]), max_size=12), TURNS, st.integers(1, 5))
def test_finished_items_are_emitted_before_an_error_ends_the_run(
    results: list[str], turns: list[int], width: int
) -> None:
    run = run_pool(results, turns, width=width, warm_first=False)
    assert run.error == ("the key" if "ends the run" in results else "")
    for at, context in enumerate(run.emitted):
        expected = Context(str(at)) if results[at] == "ok" else Context.failed("the key")
        assert context == expected
    assert not run.emitted or run.emitted[-1].status == "ok"


def test_an_item_that_does_not_fit_the_budget_waits_for_a_running_one_to_end() -> None:
    emitted: list[Context] = []
    room = 2

    def admit(at: int) -> None:
        nonlocal room
        if room == 0:
            raise BudgetSpent("spent")
        room -= 1

    async def work(at: int) -> Context:
        nonlocal room
        await asyncio.sleep(0)
        room += 1
        return Context(str(at))

    pool = OrderedPool(work, admit=admit, width=9, warm_first=False)
    asyncio.run(pool.run(range(5), emitted.append))
    assert emitted == [Context(str(at)) for at in range(5)]


def test_at_most_four_widths_of_items_start_before_a_slow_one_ends() -> None:
    started: list[int] = []
    started_meanwhile = 0

    async def work(at: int) -> Context:
        nonlocal started_meanwhile
        for _ in range(100 if at == 0 else 1):
            await asyncio.sleep(0)
        if at == 0:
            started_meanwhile = len(started)
        return Context(str(at))

    emitted: list[Context] = []
    pool = OrderedPool(work, admit=started.append, width=2, warm_first=False)
    asyncio.run(pool.run(range(30), emitted.append))
    assert started_meanwhile == 8
    assert emitted == [Context(str(at)) for at in range(30)]


def test_with_a_warm_up_items_run_alone_until_the_first_success() -> None:
    turns = [3] * 5
    failing = run_pool(["failed"] * 5, turns, width=4, warm_first=True)
    assert failing.most_running == 1
    warmed = run_pool(["failed", "ok", "ok", "ok", "ok"], turns, width=4, warm_first=True)
    assert warmed.most_running == 3
