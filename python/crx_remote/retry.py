"""Retry policy and circuit breaker for requests to model services."""

from __future__ import annotations

import asyncio
import random
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
    """The delay before each retry, in seconds, and the function that sleeps."""

    waits_s: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return the first attempt that succeeds.

        After the last retry, raises `Unavailable` if the service is unreachable, else
        `RetriesExhausted`.
        """
        for wait_s in self.waits_s:
            try:
                return await attempt()
            except TransientError as error:
                # Jitter: requests that were refused together must not be retried together.
                own_s = wait_s * random.uniform(1.0, 1.25)
                await self.sleep(min(max(own_s, error.after_s), _MAX_WAIT_S))
        try:
            return await attempt()
        except TransientError as error:
            raise (Unavailable if error.unreachable else RetriesExhausted)(str(error)) from None


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
