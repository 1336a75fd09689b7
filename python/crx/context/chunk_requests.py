"""Requests for some contexts to a metered service, at most two each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from crx.context.validate import ContextValidator
from crx.errors import BudgetSpent
from crx.remote.completion import Completion
from crx.remote.errors import RequestFailed, TransientError
from crx.remote.metering import Meter, Reservation, ServiceUsage
from crx.remote.pool import OrderedPool
from crx.remote.retry import CircuitBreaker, RetryPolicy
from crx.types import Chunk, Context

Asked = TypeVar("Asked")


def validate_completion(
    validator: ContextValidator, chunk: Chunk, completion: Completion
) -> Context:
    """Return the context of a completion, or a rejected one with the reason."""
    if completion.refused:
        return Context.rejected("refusal")
    return validator.validate(completion.text, chunk=chunk, finished=completion.finished)


async def ask_twice(
    ask: Callable[[int], Awaitable[Completion]], *, validate: Callable[[Completion], Context]
) -> Context:
    """Ask for a context, and a second time if the first answer is rejected."""
    context = Context.failed("the budget is spent")
    try:
        context = validate(await ask(1))
        if context.status == "ok":
            return context
        context = validate(await ask(2))
        return replace(context, status="retried") if context.status == "ok" else context
    except BudgetSpent:
        return context  # the budget does not allow a second try
    except RequestFailed as failed:
        return Context.failed(failed)


@dataclass(slots=True)
class ChunkRequests(Generic[Asked]):
    """Requests for chunks, or for groups of them, that follow the same text.

    `send` makes one request for a chunk, with the firmer instruction or not, and returns the
    completion and its usage; `worst_dollars` is an upper bound of its cost; `validate` returns the
    context of a completion. With `warm_first`, the first chunk is asked for alone. `too_long` are
    the positions of the chunks whose prompt the service rejected as too long; after the first of
    them no other request is sent.
    """

    chunks: Sequence[Asked]
    validate: Callable[[Asked, Completion], Context]
    send: Callable[[Asked, bool], Awaitable[tuple[Completion, ServiceUsage]]]
    worst_dollars: Callable[[Asked], float]
    meter: Meter
    retry_policy: RetryPolicy
    circuit_breaker: CircuitBreaker
    width: int
    warm_first: bool
    too_long: set[int] = field(default_factory=set)
    _reservations: dict[int, Reservation] = field(default_factory=dict)
    _rejection: RequestFailed | None = None

    async def run(self, emit: Callable[[Context], None]) -> None:
        """Emit one context a chunk, in order; an error that ends the run is raised after them."""
        pool = OrderedPool(
            self._situate, admit=self._admit, width=self.width, warm_first=self.warm_first
        )
        await pool.run(range(len(self.chunks)), emit)

    def _admit(self, at: int) -> None:
        self._reservations[at] = self.meter.reserve(self.worst_dollars(self.chunks[at]))

    async def _situate(self, at: int) -> Context:
        chunk, reservation = self.chunks[at], self._reservations.pop(at)

        async def ask(attempt: int) -> Completion:
            tries = self.retry_policy.run(lambda: self._ask(at, attempt > 1, reservation))
            return await self.circuit_breaker.guard(tries)

        try:
            return await ask_twice(ask, validate=lambda answer: self.validate(chunk, answer))
        finally:
            reservation.release()

    def _note_rejection(self, at: int, failed: RequestFailed) -> RequestFailed:
        """Record a rejection that every chunk after the same text would meet."""
        if failed.document:
            self._rejection = failed
            self.too_long.add(at)
        return failed

    async def _ask(self, at: int, firmer: bool, reservation: Reservation) -> Completion:  # noqa: FBT001
        if self._rejection:
            raise self._note_rejection(at, self._rejection)
        reservation.renew()
        try:
            answer, used = await self.send(self.chunks[at], firmer)
        except asyncio.CancelledError:
            reservation.count_as_lost()
            raise
        except TransientError as error:
            if error.lost:
                reservation.count_as_lost()
            raise
        except RequestFailed as failed:
            raise self._note_rejection(at, failed) from None
        reservation.settle(used)
        return answer
