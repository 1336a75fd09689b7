"""Retry policy and circuit breaker."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from crx.errors import ModelError
from crx_remote.errors import RequestFailed, RetriesExhausted, TransientError
from crx_remote.retry import CircuitBreaker, RetryPolicy


@dataclass(frozen=True)
class Outcome:
    """The waits between attempts, and the answer or the error that came of them."""

    waits_s: list[float]
    result: object


def request_with(failures: list[Exception]) -> Outcome:
    """Make a request that fails in these ways, in turn, and then answers 7."""
    waits_s: list[float] = []

    async def sleep(wait_s: float) -> None:
        waits_s.append(wait_s)

    async def attempt() -> int:
        if failures:
            raise failures.pop(0)
        return 7

    async def main() -> object:
        try:
            return await RetryPolicy(waits_s=(1, 2, 4), sleep=sleep).run(attempt)
        except (RequestFailed, ModelError) as error:
            return error

    result = asyncio.run(main())
    return Outcome(waits_s, result)


def test_a_transient_failure_is_retried_after_a_longer_wait_each_time() -> None:
    outcome = request_with([TransientError("x"), TransientError("x"), TransientError("x")])
    assert outcome.result == 7
    for planned_s, waited_s in zip((1, 2, 4), outcome.waits_s, strict=True):
        assert planned_s <= waited_s <= planned_s * 1.25


def test_the_wait_that_the_service_asks_for_is_kept_up_to_300_seconds() -> None:
    outcome = request_with([TransientError("x", after_s=30), TransientError("x", after_s=10**9)])
    assert outcome.waits_s == [30, 300]


def test_a_failure_that_persists_costs_the_chunk_and_an_unreachable_service_ends_the_run() -> None:
    assert isinstance(request_with([TransientError("x")] * 4).result, RetriesExhausted)
    assert isinstance(request_with([TransientError("x", unreachable=True)] * 4).result, ModelError)


def test_a_permanent_failure_is_not_retried() -> None:
    assert request_with([RequestFailed("x")]).waits_s == []


def test_a_policy_with_a_deadline_gives_up_rather_than_wait_beyond_it() -> None:
    now, told = [0.0], []

    async def sleep(wait_s: float) -> None:
        now[0] += wait_s

    async def attempt() -> None:
        now[0] += 0.1
        raise TransientError("503: overloaded", after_s=2)

    policy = RetryPolicy((0.5, 1, 2), deadline_s=5, sleep=sleep, clock=lambda: now[0])
    with pytest.raises(RetriesExhausted, match="overloaded"):
        asyncio.run(policy.run(attempt, on_retry=lambda error: told.append(str(error))))
    assert now[0] == pytest.approx(4.3)
    assert told == ["503: overloaded"] * 2


async def exhausted() -> None:
    await asyncio.sleep(0)
    raise RetriesExhausted("429: quota")


async def answered() -> int:
    return 7


def test_the_circuit_breaker_opens_at_the_eighth_failure_in_a_row() -> None:
    async def main() -> None:
        breaker = CircuitBreaker("claude:x")
        for _ in range(7):
            with pytest.raises(RetriesExhausted):
                await breaker.guard(exhausted())
        assert await breaker.guard(answered()) == 7
        for _ in range(7):
            with pytest.raises(RetriesExhausted):
                await breaker.guard(exhausted())
        with pytest.raises(ModelError, match=r"429: quota \(all tries of 8 chunks in a row\)"):
            await breaker.guard(exhausted())

    asyncio.run(main())


def test_concurrent_failures_count_as_one() -> None:
    async def main() -> list[BaseException | None]:
        breaker = CircuitBreaker("claude:x")
        requests = (breaker.guard(exhausted()) for _ in range(20))
        return await asyncio.gather(*requests, return_exceptions=True)

    assert {type(error) for error in asyncio.run(main())} == {RetriesExhausted}
