"""Contexts in message batches: half the price, within a day.

Requests of one batch run side by side in no order, so a document's first chunk goes in one batch
and warms the cache, and the others go in the next, when it can be read. The cache then keeps for
an hour, which most batches do not reach.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from crx.backends.claude_requests import Job, Terms
from crx.errors import BudgetSpent, ModelError
from crx.remote import Again, Failed, Patience
from crx.spend import Hold, Meter
from crx.types import Context

T = TypeVar("T")

# The service takes 100,000 requests or 256 MB in a batch.
_MOST_REQUESTS, _MOST_BYTES = 100_000, 200_000_000
_TRIES = 2
_AGAIN = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
_ENDS_RUN = frozenset(
    {"authentication_error", "permission_error", "billing_error", "not_found_error"}
)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where batches are handed in and fetched."""

    batches: Any
    patience: Patience
    translated: Callable[[], AbstractContextManager[None]]
    poll_s: float

    async def send(self, bodies: Sequence[dict[str, Any]]) -> list[Any]:
        """Send requests as one batch and return their results, in order, when it has ended."""
        requests = [{"custom_id": str(at), "params": body} for at, body in enumerate(bodies)]
        name = (await self._create(requests)).id
        try:
            while True:
                await self.patience.sleep(self.poll_s)
                state = await self._call(lambda: self.batches.retrieve(name))
                if state.processing_status == "ended":
                    break
            lines = await self._call(lambda: self._lines(name))
        except asyncio.CancelledError:
            await self.batches.cancel(name)
            raise
        except (Failed, ModelError) as error:
            raise ModelError(f"{error}; the batch {name} may still be running") from None
        results = {line.custom_id: line.result for line in lines}
        return [results.get(str(at)) for at in range(len(bodies))]

    async def _create(self, requests: Sequence[dict[str, Any]]) -> Any:
        async def once() -> Any:
            try:
                with self.translated():
                    return await self.batches.create(requests=requests)
            except Again as again:
                # Sent twice, it would be paid twice.
                if again.lost:
                    raise ModelError(
                        f"{again} while a batch was sent; it may be running and charged: "
                        "look for it in the console before the next run"
                    ) from None
                raise

        try:
            return await self.patience.keep(once)
        except Failed as failed:
            raise ModelError(f"the batch was not taken: {failed}") from None

    async def _lines(self, name: str) -> list[Any]:
        return [line async for line in await self.batches.results(name)]

    async def _call(self, call: Callable[[], Awaitable[T]]) -> T:
        async def once() -> T:
            with self.translated():
                return await call()

        return await self.patience.keep(once)


@dataclass(slots=True)
class _Wish:
    """A chunk that wants a context: how often it was asked for, and what came of it so far."""

    at: int
    chunk: int
    job: Job
    tries: int = 0
    context: Context | None = None

    def take(self, result: Any, terms: Terms, hold: Hold) -> None:
        """Note what a batch says of it; `ModelError` where no other would fare better."""
        self.tries += 1
        kind = "lost" if result is None else result.type
        if kind == "succeeded":
            try:
                answer, used = terms.read(result.message)
            except Again as again:
                hold.lose()
                return self._fail(str(again), last=self.tries >= _TRIES)
            hold.settle(used)
            self.job.learn(used)
            context = answer.judged(self.job.gate, self.job.chunks[self.chunk].text)
            was_asked = self.context is not None and context.outcome == "ok"
            self.context = replace(context, outcome="retried") if was_asked else context
            return None
        hold.release()
        if kind != "errored":
            return self._fail(f"the batch's request was {kind}", last=self.tries >= _TRIES)
        error = result.error.error
        why = f"{error.type}: {error.message}"
        if error.type in _ENDS_RUN:
            raise ModelError(f"claude: {why}; check the key, the account and the model's name")
        return self._fail(why, last=self.tries >= _TRIES or error.type not in _AGAIN)

    @property
    def done(self) -> bool:
        if self.context is None:
            return False
        return not self.context.outcome.startswith("rejected:") or self.tries >= _TRIES

    def _fail(self, why: str, *, last: bool) -> None:
        if last and self.context is None:
            self.context = Context("", f"failed:{why}")


async def in_waves(
    jobs: Sequence[Job],
    tell: Callable[[tuple[int, int, Context]], None],
    *,
    desk: Desk,
    terms: Terms,
    meter: Meter,
) -> None:
    """Tell (job, chunk, context) of every chunk; `BudgetSpent` and `ModelError` come after."""
    waiting = [_Wish(j, c, job) for j, job in enumerate(jobs) for c in range(len(job.chunks))]
    warm = {j for j, job in enumerate(jobs) if not job.marked}
    while waiting:
        try:
            wave = _wave(waiting, warm=warm, terms=terms, meter=meter)
        except BudgetSpent:
            _tell([wish for wish in waiting if wish.context], tell)
            raise
        try:
            results = await desk.send([body for _, body, _ in wave])
            _take(wave, results, terms=terms, warm=warm)
        finally:
            for _, _, hold in wave:
                hold.release()
            _tell([wish for wish in waiting if wish.done], tell)
        waiting = [wish for wish in waiting if not wish.done]


def _take(
    wave: Sequence[tuple[_Wish, dict[str, Any], Hold]],
    results: Sequence[Any],
    *,
    terms: Terms,
    warm: set[int],
) -> None:
    """Note all results; what ends the run is raised after the last."""
    stop: ModelError | None = None
    for (wish, _, hold), result in zip(wave, results, strict=True):
        try:
            wish.take(result, terms, hold)
        except ModelError as error:
            stop = error
        if result is not None and result.type == "succeeded":
            warm.add(wish.at)
    if stop is not None:
        raise stop


def _tell(wishes: Sequence[_Wish], tell: Callable[[tuple[int, int, Context]], None]) -> None:
    for wish in wishes:
        if wish.context is not None:
            tell((wish.at, wish.chunk, wish.context))


def _wave(
    waiting: Sequence[_Wish], *, warm: set[int], terms: Terms, meter: Meter
) -> list[tuple[_Wish, dict[str, Any], Hold]]:
    """Choose what goes now: all chunks of warm documents, the first of each cold one.

    Raises `BudgetSpent` when not even one fits.
    """
    wave: list[tuple[_Wish, dict[str, Any], Hold]] = []
    warming: set[int] = set()
    size = 0
    for wish in waiting:
        if wish.at not in warm and wish.at in warming:
            continue
        chunk = wish.job.chunks[wish.chunk]
        body = terms.params(wish.job, chunk, firmer=wish.context is not None)
        size += len(json.dumps(body))
        if wave and (len(wave) == _MOST_REQUESTS or size > _MOST_BYTES):
            break
        try:
            hold = meter.hold(terms.worst_dollars(wish.job, chunk))
        except BudgetSpent:
            if not wave:
                raise
            break
        warming.add(wish.at)
        wave.append((wish, body, hold))
    return wave
