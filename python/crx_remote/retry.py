"""Retry policy and circuit breaker for requests to model services."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from crx.errors import ModelError, Unavailable
from crx_remote.errors import RetriesExhausted, TransientError

T = TypeVar("T")

_MAX_WAIT_S = 300.0
_MAX_FAILURES_IN_A_ROW = 8


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The delay before each retry, in seconds, and the function that sleeps.

    No retry begins later than `deadline_s` after the first attempt, even if the service asks for a
    longer wait.
    """

    waits_s: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    deadline_s: float = math.inf
    clock: Callable[[], float] = time.monotonic

    async def run(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        on_retry: Callable[[TransientError], None] = lambda error: None,
    ) -> T:
        """Return the first attempt that succeeds; `on_retry` gets the error before each retry.

        After the last retry, raises `Unavailable` if the service is unreachable, else
        `RetriesExhausted`.
        """
        end = self.clock() + self.deadline_s
        for wait_s in (*self.waits_s, math.inf):
            try:
                return await attempt()
            except TransientError as error:
                # Jitter: requests that were refused together must not be retried together.
                own_s = wait_s * random.uniform(1.0, 1.25)
                delay_s = min(max(own_s, error.after_s), _MAX_WAIT_S)
                if wait_s == math.inf or self.clock() + delay_s > end:
                    kind = Unavailable if error.unreachable else RetriesExhausted
                    raise kind(str(error)) from None
                on_retry(error)
                await self.sleep(delay_s)
        raise AssertionError("unreachable")


# Somebody waits for the answer.
INTERACTIVE_RETRIES = RetryPolicy(waits_s=(0.5, 1.0, 2.0), deadline_s=5.0)


class CircuitBreaker:
    """Ends a run after 8 consecutive chunks whose retries were all used up.

    Chunks that failed concurrently count as one: an outage of a minute does not end a long run.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._failures = 0

    async def guard(self, request: Awaitable[T]) -> T:
        """Return the request's result; raise `ModelError` when the breaker opens."""
        before = self._failures
        try:
            answer = await request
        except RetriesExhausted as why:
            self._failures += self._failures == before
            if self._failures < _MAX_FAILURES_IN_A_ROW:
                raise
            raise ModelError(
                f"{self._service}: {why} (all tries of {self._failures} chunks in a row); "
                f"check the account, or go on later by the same command"
            ) from None
        self._failures = 0
        return answer
