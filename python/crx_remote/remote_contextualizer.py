"""Contexts from a language model behind an HTTP API.

A document's first chunk is requested alone, which puts the document into the service's cache of
prefixes; the other chunks are requested concurrently and read it. What differs between services is
a `ContextClient`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from crx._services.destination import Destination
from crx._services.prompt import Prompt
from crx._services.service_usage import Estimate, ServiceUsage
from crx.config import refuse_offline
from crx.errors import UsageError
from crx.types import Chunk, Context, Document
from crx_contexts.chunk_groups import GroupPrompt, LineCounts, read_form
from crx_contexts.validate import ContextValidator
from crx_remote.completion import Completion
from crx_remote.errors import refuse_below
from crx_remote.metering import Meter, Price
from crx_remote.notices import SLOW_S, ServiceNotices, ignore_notice
from crx_remote.remote_requests import (
    ChunkRequests,
    DocumentRequests,
    GroupRequests,
    TokenLimit,
    validate_completion,
)
from crx_remote.retry import CircuitBreaker, RetryPolicy
from crx_remote.stream import stream

Reply = tuple[Completion, ServiceUsage]
Self = TypeVar("Self", bound="ContextClient")
Client = TypeVar("Client", bound="ContextClient")


@dataclass(frozen=True, slots=True)
class PartRequests:
    """The requests for the chunks of a document, or of an excerpt of it.

    `send` makes one request for a chunk on an open connection, with the firmer instruction or not;
    `worst_dollars` is an upper bound of its cost. With `warm_first`, the first chunk is requested
    alone.
    """

    send: Callable[[Any, Chunk, bool], Awaitable[Reply]]
    worst_dollars: Callable[[Chunk], float]
    warm_first: bool


class Service(Protocol):
    """The SDK of a service with an address and a key."""

    @property
    def name(self) -> str: ...

    @property
    def destination(self) -> Destination: ...

    def client(self) -> AbstractAsyncContextManager[Any]:
        """Return a new connection."""


class ContextClient(Protocol):
    """A model of a service: the form of its requests, and their cost.

    `name` is the model's in error messages, `token_limit` that of its prompts, `max_tokens` the
    length of an answer, and `price` is None if it is not known.
    """

    @property
    def name(self) -> str: ...

    @property
    def service(self) -> Service: ...

    @property
    def prompt(self) -> Prompt: ...

    @property
    def token_limit(self) -> TokenLimit: ...

    @property
    def max_tokens(self) -> int: ...

    @property
    def price(self) -> Price | None: ...

    def with_prompt(self: Self, prompt: Prompt) -> Self:
        """Return a client with another prompt."""

    def fingerprint(self, prompt_hash: str) -> str:
        """Return model, prompt and parameters: all that may change an answer."""

    def part_requests(self, text: str, chunks: Sequence[Chunk]) -> PartRequests:
        """Prepare the requests for some chunks behind a text of their document."""

    async def send(self, connection: Any, text: str) -> Reply:
        """Send a text as one user message."""

    def worst_dollars(self, text: str) -> float:
        """Return the most that `send` can cost; 0 if the price is not known."""

    def estimate_cost(
        self,
        documents: Iterable[tuple[Document, Sequence[Chunk]]],
        group_prompt: GroupPrompt | None,
    ) -> Estimate:
        """Estimate tokens and dollars from the lengths of the texts."""


class RemoteContextualizer(Generic[Client]):
    """A contextualizer over a client of a service.

    `cap_dollars` is never exceeded: `situate` raises `BudgetSpent` after the contexts that were
    paid for. `width` is the number of concurrent requests. `form` "window" asks for the lines of
    about six chunks at a time behind a digest (`crx_contexts.chunk_groups`), "document" for one
    context a request behind the document. Thread-safe for different documents.

    Raises `UsageError` for a cap without a known price, a width below 1 and another form.
    """

    def __init__(
        self,
        client: Client,
        *,
        width: int,
        form: str = "document",
        cap_dollars: float = math.inf,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        if client.price is None and cap_dollars < math.inf:
            raise UsageError(f"{client.name}: its price is not known, so no budget can be kept")
        refuse_below(1, width, what=f"{client.name}:width")
        self._client = client
        self._group_prompt = read_form(form, client.prompt, source=client.name)
        self._width = width
        self._line_counts = LineCounts()
        self._retry_policy = retry_policy or RetryPolicy()
        self._meter = Meter(cap_dollars=cap_dollars)
        self._circuit_breaker = CircuitBreaker(client.service.name)
        self.notify(ignore_notice)

    @property
    def fingerprint(self) -> str:
        """Model, prompt and parameters; not the address, which does not change the answers."""
        group = self._group_prompt
        return self._client.fingerprint(f"window:{group.hash}" if group else self._prompt.hash)

    @property
    def usage(self) -> ServiceUsage:
        """The usage so far, over all documents, as counted by the service."""
        return self._meter.usage

    @property
    def destination(self) -> Destination:
        """The host that documents are sent to."""
        return self._client.service.destination

    def notify(self, on_notice: Callable[[str], None]) -> None:
        """Call `on_notice` with the lines of `ServiceNotices` about the documents that follow."""
        self._notices = ServiceNotices(self._client.service.name, on_notice)

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context per chunk, in order; "failed" if the model gave no answer.

        An error that ends the run is raised after all contexts that were answered: `ModelError`
        (the key, the model, no connection, an outage) or `BudgetSpent`.
        """
        if not chunks:
            return
        refuse_offline(self._client.service.name)
        if self._group_prompt:
            yield from self._group_requests(self._group_prompt).situate(document, chunks)
            return
        yield from stream(
            partial(self._situate, document, chunks),
            slow_s=SLOW_S,
            on_slow=self._notices.tell_slow,
        )

    def with_prompt(self, prompt: Prompt) -> RemoteContextualizer[Client]:
        """Return a contextualizer with another prompt that shares the meter and its cap."""
        other = copy.copy(self)
        other._client = self._client.with_prompt(prompt)
        if self._group_prompt:
            other._group_prompt = GroupPrompt.beside(prompt, source=self._client.name)
        return other

    def estimate_cost(self, documents: Iterable[tuple[Document, Sequence[Chunk]]]) -> Estimate:
        """Estimate tokens and dollars of a run from the lengths of the texts."""
        return self._client.estimate_cost(documents, self._group_prompt)

    @property
    def _prompt(self) -> Prompt:
        return self._client.prompt

    async def _situate(
        self, document: Document, chunks: Sequence[Chunk], emit: Callable[[Context], None]
    ) -> None:
        validator = ContextValidator(document, prompt=self._prompt)
        async with self._client.service.client() as connection:

            def chunk_requests(text: str, group: Sequence[Chunk]) -> ChunkRequests[Chunk]:
                part = self._client.part_requests(text, group)
                return ChunkRequests(
                    group,
                    validate=partial(validate_completion, validator),
                    send=partial(part.send, connection),
                    worst_dollars=part.worst_dollars,
                    meter=self._meter,
                    retry_policy=self._retry_policy,
                    circuit_breaker=self._circuit_breaker,
                    notices=self._notices,
                    width=self._width,
                    warm_first=part.warm_first,
                )

            requests = DocumentRequests(
                document,
                self._client.token_limit,
                self._prompt,
                self._client.max_tokens,
                chunk_requests,
            )
            await requests.run(chunks, emit)

    def _group_requests(self, prompt: GroupPrompt) -> GroupRequests:
        return GroupRequests(
            prompt,
            connect=self._client.service.client,
            send=self._client.send,
            worst_dollars=self._client.worst_dollars,
            tokens_per_byte=self._client.token_limit.tokens_per_byte,
            meter=self._meter,
            retry_policy=self._retry_policy,
            circuit_breaker=self._circuit_breaker,
            notices=self._notices,
            width=self._width,
            counts=self._line_counts,
        )
