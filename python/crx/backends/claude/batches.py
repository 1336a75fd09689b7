"""Contexts in message batches: half the price, within a day.

Requests of one batch run side by side in no order, so a document's first chunk goes in one batch
and warms the cache, and the others go in the next, when it can be read. The cache then keeps for
an hour, which most batches do not reach.

A batch goes on when the process that sent it dies. So its name is noted before anything is waited
for, and its requests are named by what they ask: the next run finds the answers it would pay for.
That a batch is about to go is noted too. Where its name was never heard, the service's list is
searched for batches of as many requests, made within a day of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any, TypeVar

from crx.backends.claude.requests import Job, Terms
from crx.context.chunk_requests import validate_completion
from crx.errors import BudgetSpent, ModelError
from crx.remote.errors import RequestFailed, TransientError, is_too_long
from crx.remote.metering import Meter, Reservation
from crx.remote.pending_jobs import PendingJobs
from crx.remote.retry import RetryPolicy
from crx.types import Chunk, Context, Document

T = TypeVar("T")

# The service takes 100,000 requests or 256 MB in a batch.
_MOST_REQUESTS, _MOST_BYTES = 100_000, 200_000_000
_TRIES = 2
_AGAIN = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
# A batch whose name was never heard is searched for so long before and after: clocks differ.
_CLOCKS_DIFFER = timedelta(days=1)
_UNHEARD = re.compile(r"a batch of (\d+) sent (\S+), its name not heard")
_ENDS_RUN = frozenset(
    {"authentication_error", "permission_error", "billing_error", "not_found_error"}
)


@dataclass(frozen=True, slots=True)
class BatchQueue:
    """Where batches are handed in and fetched.

    `ledger` keeps their names, so that the next run adopts what a run that ended early has paid
    for; without one it is lost. `unknown` is what the SDK raises for a batch that is not there.
    """

    batches: Any
    retry_policy: RetryPolicy
    translate_errors: Callable[[], AbstractContextManager[None]]
    poll_s: float
    unknown: type[Exception]
    ledger: PendingJobs | None = None

    async def adopt(self) -> dict[str, list[Any]]:
        """Return the answers of batches that an earlier run left, by what was asked."""
        found: dict[str, list[Any]] = {}
        for name in await self._left():
            for line in await self._results(name):
                if line.result.type == "succeeded":
                    found.setdefault(line.custom_id.partition("-")[0], []).append(line.result)
        return found

    async def send(self, bodies: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Send requests as one batch and return their results, in order, when it has ended.

        A request is (what it asks, its body).
        """
        ids = _ids([asked for asked, _ in bodies])
        requests = [{"custom_id": i, "params": b} for i, (_, b) in zip(ids, bodies, strict=True)]
        name = await self._create(requests)
        results = {line.custom_id: line.result for line in await self._results(name, after=True)}
        return [results.get(i) for i in ids]

    async def _results(self, name: str, *, after: bool = False) -> list[Any]:
        """Wait until a batch has ended and return its lines; `after`: it was sent just now.

        Those of a batch that the service no longer knows, or no longer has, are none.
        """
        try:
            if after:
                await self.retry_policy.sleep(self.poll_s)
            while (state := await self._state(name)) and state.processing_status != "ended":
                await self.retry_policy.sleep(self.poll_s)
            if state is None or state.results_url is None:
                return []
            return await self._call(lambda: self._lines(name))
        except asyncio.CancelledError:
            if after:  # one that was found by its size may be somebody else's
                await self.batches.cancel(name)
            raise
        except (RequestFailed, ModelError) as error:
            hint = "; the same command takes up what it makes" if self.ledger else ""
            raise ModelError(f"{error}; the batch {name} may still be running{hint}") from None

    async def _state(self, name: str) -> Any:
        async def once() -> Any:
            try:
                return await self.batches.retrieve(name)
            except self.unknown:
                return None

        return await self._call(once)

    async def _create(self, requests: Sequence[dict[str, Any]]) -> str:
        """Hand in a batch and return its name, which is in the ledger then."""
        unheard = f"a batch of {len(requests)} sent {_now()}, its name not heard"
        hint = "look for it in the console before the next run"
        if self.ledger:
            self.ledger.add(unheard)
            hint = "the same command looks for it before it sends anything"

        async def once() -> Any:
            try:
                with self.translate_errors():
                    return await self.batches.create(requests=requests)
            except TransientError as error:
                # Sent twice, it would be paid twice.
                if error.lost:
                    why = f"{error} while a batch was sent; it may be running and charged: {hint}"
                    raise _Unheard(why) from None
                raise

        try:
            name = str((await self.retry_policy.run(once)).id)
        except (RequestFailed, ModelError) as error:
            if self.ledger and not isinstance(error, _Unheard):
                self.ledger.remove(unheard)
            if isinstance(error, RequestFailed):
                raise ModelError(f"the batch was not taken: {error}") from None
            raise
        if self.ledger:
            self.ledger.rename(unheard, name)
        return name

    async def _left(self) -> list[str]:
        """Return the names of batches that an earlier run left, found out where not heard."""
        noted = self.ledger.names if self.ledger else ()
        names = []
        for name in noted:
            if unheard := _UNHEARD.fullmatch(name):
                size, sent = int(unheard[1]), datetime.fromisoformat(unheard[2])
                try:
                    taken = await self._call(partial(self._of_size, size, sent))
                except RequestFailed as failed:
                    raise ModelError(f"cannot look for {name}: {failed}") from None
                names += [each for each in taken if each not in noted]
            else:
                names.append(name)
        return names

    async def _of_size(self, size: int, sent: datetime) -> list[str]:
        """Return the names of the service's batches of so many requests, made about then."""
        found = []
        async for batch in self.batches.list(limit=100):  # newest first
            if batch.created_at < sent - _CLOCKS_DIFFER:
                break
            about_then = batch.created_at <= sent + _CLOCKS_DIFFER
            if about_then and sum(batch.request_counts.to_dict().values()) == size:
                found.append(batch.id)
        return found

    async def _lines(self, name: str) -> list[Any]:
        return [line async for line in await self.batches.results(name)]

    async def _call(self, call: Callable[[], Awaitable[T]]) -> T:
        async def once() -> T:
            with self.translate_errors():
                return await call()

        return await self.retry_policy.run(once)


class _Unheard(ModelError):
    """A batch may have been taken; its name was not heard."""


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _ids(asked: Sequence[str]) -> list[str]:
    """Name requests by what they ask, so that another run knows an answer when it sees it."""
    seen: Counter[str] = Counter()
    ids = []
    for each in asked:
        ids.append(f"{each}-{seen[each]}")
        seen[each] += 1
    return ids


@dataclass(slots=True)
class _Wish:
    """A chunk that wants a context: how often it was asked for, and what came of it so far.

    `place` is (document's position, chunk's position); `chunk` is its position in the job.
    """

    place: tuple[int, int]
    chunk: int
    job: Job
    tries: int = 0
    context: Context | None = None
    too_long: bool = False

    def body(self, terms: Terms) -> dict[str, Any]:
        """Return the request that it makes next."""
        chunk = self.job.chunks[self.chunk]
        return terms.params(self.job, chunk, firmer=self.context is not None)

    def asked(self, terms: Terms) -> str:
        """Return 40 hex digits of what that asks.

        Not of its words: a part of a long document depends on which chunks are still missing.
        """
        chunk, rest = self.job.chunks[self.chunk], terms.body(())
        where = [self.job.digest, chunk.start, chunk.end]
        asked = [*where, self.context is not None, terms.prompt.hash, rest]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:40]

    def take(self, result: Any, terms: Terms, hold: Reservation) -> None:
        """Note what a batch says of it; `ModelError` where no other would fare better."""
        self.tries += 1
        kind = "lost" if result is None else result.type
        if kind == "succeeded":
            try:
                answer, used = terms.read(result.message)
            except TransientError as transient:
                hold.count_as_lost()
                return self._fail(str(transient), last=self.tries >= _TRIES)
            hold.settle(used)
            self.job.learn(used)
            context = validate_completion(
                answer, validator=self.job.validator, chunk=self.job.chunks[self.chunk].text
            )
            was_asked = self.context is not None and context.status == "ok"
            self.context = replace(context, status="retried") if was_asked else context
            return None
        hold.release()
        if kind != "errored":
            return self._fail(f"the batch's request was {kind}", last=self.tries >= _TRIES)
        error = result.error.error
        why = f"{error.type}: {error.message}"
        self.too_long = error.type == "request_too_large" or is_too_long(error.message)
        if error.type in _ENDS_RUN:
            raise ModelError(f"claude: {why}; check the key, the account and the model's name")
        return self._fail(why, last=self.tries >= _TRIES or error.type not in _AGAIN)

    @property
    def done(self) -> bool:
        if self.context is None:
            return False
        return self.context.status != "rejected" or self.tries >= _TRIES

    def _fail(self, why: str, *, last: bool) -> None:
        if last and self.context is None:
            self.context = Context.failed(why)


async def in_waves(
    documents: Sequence[tuple[Document, Sequence[Chunk]]],
    tell: Callable[[tuple[int, int, Context]], None],
    *,
    found: dict[str, list[Any]],
    desk: BatchQueue,
    terms: Terms,
    meter: Meter,
) -> None:
    """Tell (document, chunk, context) of every chunk; `BudgetSpent` and `ModelError` come after.

    What is used of the answers `found` by `BatchQueue.adopt` is taken out of them.
    """
    waiting = [
        _Wish((at, first + i), i, job)
        for at, (document, chunks) in enumerate(documents)
        for first, job in terms.jobs(document, chunks)
        for i in range(len(job.chunks))
    ]
    _adopt(waiting, found, terms=terms, meter=meter)
    while waiting := _told(waiting, tell):
        try:
            wave = _wave(waiting, terms=terms, meter=meter)
        except BudgetSpent:
            _tell([wish for wish in waiting if wish.context], tell)
            raise
        try:
            results = await desk.send([(wish.asked(terms), body) for wish, body, _ in wave])
            _take(wave, results, terms=terms)
            _shorten([wish for wish in waiting if wish.too_long], terms)
        except BaseException:
            _told(waiting, tell)
            raise
        finally:
            for _, _, hold in wave:
                hold.release()


def _adopt(
    wishes: Sequence[_Wish], found: dict[str, list[Any]], *, terms: Terms, meter: Meter
) -> None:
    """Take what an earlier run has asked for and paid; its cache may be cold by now."""
    for wish in wishes if found else ():
        while not wish.done and (results := found.get(wish.asked(terms))):
            wish.take(results.pop(), terms, meter.prepaid())


def _shorten(wishes: Sequence[_Wish], terms: Terms) -> None:
    """Put chunks whose prompts were too long into shorter parts of their documents."""
    by_job: dict[int, list[_Wish]] = {}
    for wish in wishes:
        wish.too_long = False
        by_job.setdefault(id(wish.job), []).append(wish)
    for group in by_job.values():
        job = group[0].job
        chunks = [job.chunks[wish.chunk] for wish in group]
        if not terms.refuse(job, chunks):
            continue
        for first, part in terms.jobs(job.document, chunks):
            for i in range(len(part.chunks)):
                wish = group[first + i]
                wish.job, wish.chunk = part, i
                wish.context, wish.tries = None, 0


def _take(
    wave: Sequence[tuple[_Wish, dict[str, Any], Reservation]],
    results: Sequence[Any],
    *,
    terms: Terms,
) -> None:
    """Note all results; what ends the run is raised after the last."""
    stop: ModelError | None = None
    for (wish, _, hold), result in zip(wave, results, strict=True):
        try:
            wish.take(result, terms, hold)
        except ModelError as error:
            stop = error
        if result is not None and result.type == "succeeded":
            wish.job.warm = True
    if stop is not None:
        raise stop


def _told(wishes: Sequence[_Wish], tell: Callable[[tuple[int, int, Context]], None]) -> list[_Wish]:
    """Tell what is done and return the rest."""
    _tell([wish for wish in wishes if wish.done], tell)
    return [wish for wish in wishes if not wish.done]


def _tell(wishes: Sequence[_Wish], tell: Callable[[tuple[int, int, Context]], None]) -> None:
    for wish in wishes:
        if wish.context is not None:
            tell((*wish.place, wish.context))


def _wave(
    waiting: Sequence[_Wish], *, terms: Terms, meter: Meter
) -> list[tuple[_Wish, dict[str, Any], Reservation]]:
    """Choose what goes now: all chunks of warm jobs, the first of each cold one.

    Raises `BudgetSpent` when not even one fits.
    """
    wave: list[tuple[_Wish, dict[str, Any], Reservation]] = []
    warming: set[int] = set()
    size = 0
    for wish in waiting:
        if not wish.job.warm and id(wish.job) in warming:
            continue
        body = wish.body(terms)
        size += len(json.dumps(body))
        if wave and (len(wave) == _MOST_REQUESTS or size > _MOST_BYTES):
            break
        try:
            hold = meter.reserve(terms.worst_dollars(wish.job, wish.job.chunks[wish.chunk]))
        except BudgetSpent:
            if not wave:
                raise
            break
        warming.add(id(wish.job))
        wave.append((wish, body, hold))
    return wave
