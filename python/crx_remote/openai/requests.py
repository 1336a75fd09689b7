"""Batches of texts as concurrent requests to one server, with retries; answers in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from crx._services.service_usage import ServiceUsage
from crx.config import refuse_offline
from crx.errors import ModelError, Unavailable
from crx_remote.errors import RequestFailed, RetriesExhausted
from crx_remote.metering import Meter, Price
from crx_remote.openai.client import OpenAIClient
from crx_remote.retry import RetryPolicy
from crx_remote.stream import stream

Batch = TypeVar("Batch")
Answer = TypeVar("Answer")

# A person waits for the answer to a query: one retry, soon.
QUERY_RETRY_WAITS_S = (0.5,)


class BatchRequests:
    """Sends batches to a server, at most `width` at a time."""

    def __init__(
        self,
        service: OpenAIClient,
        *,
        width: int,
        price: Price | None,
        retry_policy: RetryPolicy,
    ) -> None:
        self._service = service
        self._width = width
        self._price = price
        self._retry_policy = retry_policy
        self._meter = Meter()

    @property
    def usage(self) -> ServiceUsage:
        """The usage so far, as counted by the server."""
        return self._meter.usage

    def run(
        self,
        batches: Sequence[Batch],
        send: Callable[[Any, Batch], Awaitable[tuple[Answer, int | None]]],
        *,
        waits_s: tuple[float, ...] | None = None,
    ) -> list[Answer]:
        """Return the answer to each batch, in order.

        `send` gets the SDK's client and a batch, and returns the answer and the tokens that the
        server counted, None if it does not count. `waits_s` replaces the delays before retries.
        Raises `ModelError` if a request fails, and `Unavailable` if it fails after all retries.
        """
        refuse_offline(self._service.name)
        policy = self._retry_policy
        if waits_s is not None:
            policy = RetryPolicy(waits_s, policy.sleep)
        answers: list[Answer]
        try:
            (answers,) = stream(partial(self._run, batches, send, policy))
        except RetriesExhausted as error:
            raise Unavailable(f"{self._service.name}: {error}") from None
        except RequestFailed as error:
            raise ModelError(f"{self._service.name}: {error}") from None
        return answers

    async def _run(
        self,
        batches: Sequence[Batch],
        send: Callable[[Any, Batch], Awaitable[tuple[Answer, int | None]]],
        policy: RetryPolicy,
        emit: Callable[[list[Answer]], None],
    ) -> None:
        limit = asyncio.Semaphore(self._width)
        async with self._service.client() as client:

            async def attempt(batch: Batch) -> Answer:
                with self._service.translate_errors():
                    answer, tokens = await send(client, batch)
                self._count(tokens)
                return answer

            async def retried(batch: Batch) -> Answer:
                async with limit:
                    return await policy.run(partial(attempt, batch))

            running = [asyncio.ensure_future(retried(batch)) for batch in batches]
            try:
                emit(list(await asyncio.gather(*running)))
            finally:
                for task in running:
                    task.cancel()

    def _count(self, tokens: int | None) -> None:
        used = ServiceUsage(requests=1, input=tokens or 0)
        dollars = self._price.dollars(used) if self._price and tokens is not None else None
        used = ServiceUsage(requests=1, input=tokens or 0, dollars=dollars)
        self._meter.prepaid().settle(used)
