"""Retry policy and circuit breaker for requests to model services."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from crx.errors import ModelError
from crx.remote.errors import Again, Exhausted

T = TypeVar("T")

_LONGEST_WAIT_S = 300.0
_MOST_IN_A_ROW = 8


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait before each further try, in seconds, and what to wait with."""

    waits_s: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def keep(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until there is an answer; `Exhausted` or `ModelError` when the tries are used up."""
        for wait_s in self.waits_s:
            try:
                return await ask()
            except Again as again:
                # Requests that were turned away together must not come back together.
                own_s = wait_s * random.uniform(1.0, 1.25)
                await self.sleep(min(max(own_s, again.after_s), _LONGEST_WAIT_S))
        try:
            return await ask()
        except Again as again:
            raise (ModelError if again.unreachable else Exhausted)(str(again)) from None


class CircuitBreaker:
    """Ends a run when a service has had no answer for so many chunks in a row, in all their tries.

    Those that went side by side count as one: a minute's trouble is not the end of a night's run.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._row = 0

    async def watch(self, asked: Awaitable[T]) -> T:
        """Return what was asked for; `ModelError` where the service seems to be out."""
        before = self._row
        try:
            answer = await asked
        except Exhausted as why:
            self._row += self._row == before
            if self._row < _MOST_IN_A_ROW:
                raise
            raise ModelError(
                f"{self._service}: {why} (all tries of {self._row} chunks in a row); "
                f"check the account, or go on later by the same command"
            ) from None
        self._row = 0
        return answer
