"""Message batches of the service: submitting, polling, and recovery after a run that was killed.

A batch outlives the process that submitted it. Its name is therefore recorded in the index before
the process waits for it, and the id of each request is a hash of what it asks, so that the next
run finds the answers that are already paid for. That a batch is about to be submitted is recorded
too: if its name was never received, the service's list is searched for a batch of as many
requests that was created within a day of it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any, TypeVar

from crx._services.pending_jobs import PendingJobs
from crx.errors import ModelError
from crx_remote.errors import RequestFailed, TransientError
from crx_remote.retry import RetryPolicy

T = TypeVar("T")

# A batch without a known name is searched for within this time of its record: clocks differ.
_MAX_CLOCK_DIFFERENCE = timedelta(days=1)
_UNNAMED = re.compile(r"a batch of (\d+) sent (\S+), its name not heard")


@dataclass(frozen=True, slots=True)
class BatchQueue:
    """The service's batches, submitted and fetched.

    `jobs` records their names, so that the next run recovers the batches of a run that ended
    early; without it they are lost. `not_found` is the SDK's exception for an unknown batch.
    """

    batches: Any
    retry_policy: RetryPolicy
    translate_errors: Callable[[], AbstractContextManager[None]]
    poll_s: float
    not_found: type[Exception]
    jobs: PendingJobs | None = None

    async def recover(self) -> dict[str, list[Any]]:
        """Wait for the batches that an earlier run left; return their answers by content hash."""
        recovered: dict[str, list[Any]] = {}
        for name in await self._recorded_names():
            for line in await self._results(name):
                if line.result.type == "succeeded":
                    content_hash = line.custom_id.partition("-")[0]
                    recovered.setdefault(content_hash, []).append(line.result)
        return recovered

    async def run(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Submit requests as one batch, wait for it, and return the results in order.

        A request is its content hash and its body; a result that is missing is None.
        """
        ids = _unique_ids([content_hash for content_hash, _ in requests])
        name = await self._submit(
            [{"custom_id": i, "params": body} for i, (_, body) in zip(ids, requests, strict=True)]
        )
        lines = await self._results(name, submitted_now=True)
        results = {line.custom_id: line.result for line in lines}
        return [results.get(i) for i in ids]

    async def _results(self, name: str, *, submitted_now: bool = False) -> list[Any]:
        """Wait until a batch has ended and return its lines.

        A batch that the service has deleted, or whose results it has deleted, has none.
        """
        try:
            if submitted_now:
                await self.retry_policy.sleep(self.poll_s)
            while (state := await self._state(name)) and state.processing_status != "ended":
                await self.retry_policy.sleep(self.poll_s)
            if state is None or state.results_url is None:
                return []
            return await self._call(lambda: self._lines(name))
        except asyncio.CancelledError:
            # A recovered batch may be another program's: it was found by its size.
            if submitted_now:
                await self.batches.cancel(name)
            raise
        except (RequestFailed, ModelError) as error:
            hint = "; the same command takes up what it makes" if self.jobs else ""
            raise ModelError(f"{error}; the batch {name} may still be running{hint}") from None

    async def _state(self, name: str) -> Any:
        async def attempt() -> Any:
            try:
                return await self.batches.retrieve(name)
            except self.not_found:
                return None

        return await self._call(attempt)

    async def _submit(self, requests: Sequence[dict[str, Any]]) -> str:
        """Submit a batch and return its name, which is recorded by then."""
        # This text is stored in indexes, and `_UNNAMED` parses it.
        unnamed = f"a batch of {len(requests)} sent {_now()}, its name not heard"
        hint = "look for it in the console before the next run"
        if self.jobs:
            self.jobs.add(unnamed)
            hint = "the same command looks for it before it sends anything"

        async def attempt() -> Any:
            try:
                with self.translate_errors():
                    return await self.batches.create(requests=requests)
            except TransientError as error:
                # A second submission would be paid for a second time.
                if error.lost:
                    raise _NameUnknown(
                        f"{error} while a batch was sent; it may be running and charged: {hint}"
                    ) from None
                raise

        try:
            name = str((await self.retry_policy.run(attempt)).id)
        except (RequestFailed, ModelError) as error:
            if self.jobs and not isinstance(error, _NameUnknown):
                self.jobs.remove(unnamed)
            if isinstance(error, RequestFailed):
                raise ModelError(f"the batch was not accepted: {error}") from None
            raise
        if self.jobs:
            self.jobs.rename(unnamed, name)
        return name

    async def _recorded_names(self) -> list[str]:
        """Return the names of the recorded batches; search for those without a name."""
        recorded = self.jobs.names if self.jobs else ()
        names = []
        for name in recorded:
            unnamed = _UNNAMED.fullmatch(name)
            if unnamed is None:
                names.append(name)
                continue
            size, sent = int(unnamed[1]), datetime.fromisoformat(unnamed[2])
            try:
                found = await self._call(partial(self._find_by_size, size, sent))
            except RequestFailed as failed:
                raise ModelError(f"cannot look for {name}: {failed}") from None
            names += [each for each in found if each not in recorded]
        return names

    async def _find_by_size(self, size: int, sent: datetime) -> list[str]:
        """Return the names of the service's batches of this size created around this time."""
        found = []
        async for batch in self.batches.list(limit=100):  # newest first
            if batch.created_at < sent - _MAX_CLOCK_DIFFERENCE:
                break
            in_time = batch.created_at <= sent + _MAX_CLOCK_DIFFERENCE
            if in_time and sum(batch.request_counts.to_dict().values()) == size:
                found.append(batch.id)
        return found

    async def _lines(self, name: str) -> list[Any]:
        return [line async for line in await self.batches.results(name)]

    async def _call(self, call: Callable[[], Awaitable[T]]) -> T:
        async def attempt() -> T:
            with self.translate_errors():
                return await call()

        return await self.retry_policy.run(attempt)


class _NameUnknown(ModelError):
    """A batch may have been accepted, but the response with its name was lost."""


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _unique_ids(content_hashes: Sequence[str]) -> list[str]:
    """Return an id for each request: its content hash and the number of equal ones before it."""
    seen: Counter[str] = Counter()
    ids = []
    for content_hash in content_hashes:
        ids.append(f"{content_hash}-{seen[content_hash]}")
        seen[content_hash] += 1
    return ids
