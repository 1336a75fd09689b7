"""One document's chunks, asked for one request at a time from a model that charges."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from crx.context.validate import ContextValidator
from crx.errors import BudgetSpent
from crx.remote.completion import Completion
from crx.remote.errors import RequestFailed, TransientError
from crx.remote.metering import Meter, Reservation, ServiceUsage
from crx.remote.pool import OrderedPool
from crx.remote.retry import CircuitBreaker, RetryPolicy
from crx.types import Chunk, Context


def validate_completion(
    completion: Completion, *, validator: ContextValidator, chunk: str
) -> Context:
    """Return the context of a completion, or why it was rejected."""
    if completion.refused:
        return Context.rejected("refusal")
    return validator.validate(completion.text, chunk=chunk, finished=completion.finished)


async def ask_twice(
    ask: Callable[[int], Awaitable[Completion]], *, validator: ContextValidator, chunk: str
) -> Context:
    """Ask for a context, and a second time where the validator turns the first answer away."""
    context = Context.failed("the budget is spent")
    try:
        context = validate_completion(await ask(1), validator=validator, chunk=chunk)
        if context.status == "ok":
            return context
        context = validate_completion(await ask(2), validator=validator, chunk=chunk)
        return replace(context, status="retried") if context.status == "ok" else context
    except BudgetSpent:
        return context  # the budget leaves no second try
    except RequestFailed as failed:
        return Context.failed(failed)


@dataclass(slots=True)
class ChunkRequests:
    """How a document's chunks are asked for.

    `send` makes one request for a chunk (firmer, if so) and returns what came and what it used;
    `worst_dollars` bounds what that can cost. With `warm_first`, the first chunk goes alone.
    `too_long` are the chunks, by position, whose prompts the service found too long; once it has,
    no other is sent.
    """

    chunks: Sequence[Chunk]
    validator: ContextValidator
    send: Callable[[Chunk, bool], Awaitable[tuple[Completion, ServiceUsage]]]
    worst_dollars: Callable[[Chunk], float]
    meter: Meter
    retry_policy: RetryPolicy
    circuit_breaker: CircuitBreaker
    width: int
    warm_first: bool
    too_long: set[int] = field(default_factory=set)
    _holds: dict[int, Reservation] = field(default_factory=dict)
    _hopeless: RequestFailed | None = None

    async def run(self, tell: Callable[[Context], None]) -> None:
        """Tell one context a chunk, in order; what ends the run comes after."""
        spread = OrderedPool(
            self._situate, admit=self._admit, width=self.width, warm_first=self.warm_first
        )
        await spread.run(range(len(self.chunks)), tell)

    def _admit(self, at: int) -> None:
        self._holds[at] = self.meter.reserve(self.worst_dollars(self.chunks[at]))

    async def _situate(self, at: int) -> Context:
        chunk, hold = self.chunks[at], self._holds.pop(at)

        async def ask(attempt: int) -> Completion:
            tries = self.retry_policy.run(lambda: self._ask(at, attempt > 1, hold))
            return await self.circuit_breaker.guard(tries)

        try:
            return await ask_twice(ask, validator=self.validator, chunk=chunk.text)
        finally:
            hold.release()

    def _refused(self, at: int, failed: RequestFailed) -> RequestFailed:
        """Note a chunk's trouble where it is that of every chunk after the same text."""
        if failed.document:
            self._hopeless = failed
            self.too_long.add(at)
        return failed

    async def _ask(self, at: int, firmer: bool, hold: Reservation) -> Completion:  # noqa: FBT001
        if self._hopeless:
            raise self._refused(at, self._hopeless)
        hold.renew()
        try:
            answer, used = await self.send(self.chunks[at], firmer)
        except asyncio.CancelledError:
            hold.count_as_lost()
            raise
        except TransientError as error:
            if error.lost:
                hold.count_as_lost()
            raise
        except RequestFailed as failed:
            raise self._refused(at, failed) from None
        hold.settle(used)
        return answer
