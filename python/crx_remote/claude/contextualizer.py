"""Contexts from Claude, through the vendor's SDK: `claude:MODEL`.

A document is sent as a block that the service caches. Its first chunk is requested alone and
writes the cache; the other chunks are requested concurrently and read it. (The vendor's published
notebook starts five requests at once and so writes the same document five times.) In batch mode
everything costs half and takes up to a day.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from crx._services.pending_jobs import PendingJobs
from crx._services.prompt import Prompt
from crx._services.service_usage import Estimate
from crx.config import refuse_offline
from crx.errors import UsageError
from crx.types import Chunk, Context, Document
from crx_contexts.chunk_groups import GroupPrompt
from crx_contexts.chunk_prompt import restore_order
from crx_remote.claude.batch_queue import BatchQueue
from crx_remote.claude.batch_waves import BatchRun
from crx_remote.claude.client import ClaudeClient
from crx_remote.claude.pricing import ClaudePricing, parse_options
from crx_remote.claude.requests import DocumentPart, request_settings
from crx_remote.metering import Price
from crx_remote.remote_contextualizer import PartRequests, RemoteContextualizer, Reply
from crx_remote.remote_requests import TokenLimit
from crx_remote.retry import RetryPolicy
from crx_remote.stream import stream

_WIDTH = 8


class ClaudeContexts:
    """The requests for contexts to a model on the Messages API.

    `price` replaces the known price of the model. `batch` is for requests that are sent in message
    batches. `token_limit` is the number that the model accepts, 0 for the known one; longer
    documents are sent in excerpts. Answers are sampled, and recent models accept no seed, so the
    same chunk may get another text another day.

    Raises `Offline`, `ModelError` if the SDK or the key is missing, and `UsageError` for a number
    that is too small.
    """

    def __init__(
        self,
        model: str,
        *,
        prompt: Prompt | None = None,
        batch: bool = False,
        price: Price | None = None,
        effort: str | None = None,
        max_tokens: int | None = None,
        token_limit: int = 0,
        timeout_s: float = 120.0,
        key: str | None = None,
        url: str | None = None,
    ) -> None:
        self.name = f"claude:{model}"
        refuse_offline(self.name)
        self.settings = request_settings(
            model,
            prompt=prompt,
            price=price,
            effort=effort,
            max_tokens=max_tokens,
            token_limit=token_limit,
            batch=batch,
        )
        self._token_limit = token_limit
        self.service = ClaudeClient(model, timeout_s=timeout_s, key=key, url=url)

    @property
    def prompt(self) -> Prompt:
        """The prompt of all requests."""
        return self.settings.prompt

    @property
    def token_limit(self) -> TokenLimit:
        """The tokens that the model accepts."""
        return self.settings.token_limit

    @property
    def max_tokens(self) -> int:
        """The longest answer in tokens."""
        return self.settings.max_tokens

    @property
    def price(self) -> Price | None:
        """The price of the model, None if it is not known."""
        return self.settings.price

    def with_prompt(self, prompt: Prompt) -> ClaudeContexts:
        """Return a client with another prompt."""
        other = copy.copy(self)
        other.settings = replace(self.settings, prompt=prompt)
        return other

    def fingerprint(self, prompt_hash: str) -> str:
        """Return model, prompt and parameters; batches give the answers of single requests."""
        settings = self.settings
        effort = f" effort={settings.effort}" if settings.effort else ""
        limit = f" window={self._token_limit}" if self._token_limit else ""
        return f"{self.name} prompt={prompt_hash} max={settings.max_tokens}{effort}{limit}"

    def part_requests(self, text: str, chunks: Sequence[Chunk]) -> PartRequests:
        """Prepare the requests for some chunks behind a text of their document."""
        part = self.settings.part(text, chunks)
        return PartRequests(
            partial(self._send_chunk, part),
            partial(self.settings.worst_dollars, part),
            warm_first=part.cache_marked,
        )

    async def send(self, connection: Any, text: str) -> Reply:
        """Send a text as one user message."""
        return await self._send(connection, self.settings.body([{"type": "text", "text": text}]))

    def worst_dollars(self, text: str) -> float:
        """Return the most that a request with a text alone can cost; 0 without a known price."""
        return self.settings.worst_text_dollars(text)

    def estimate_cost(
        self,
        documents: Iterable[tuple[Document, Sequence[Chunk]]],
        group_prompt: GroupPrompt | None,
    ) -> Estimate:
        """Estimate tokens and dollars from the lengths of the texts."""
        pricing = ClaudePricing(
            self.settings.model,
            prompt=self.prompt,
            price=self.price,
            token_limit=self._token_limit,
            form="window" if group_prompt else "document",
        )
        return pricing.estimate_cost(documents)

    async def _send_chunk(
        self,
        part: DocumentPart,
        connection: Any,
        chunk: Chunk,
        firmer: bool,  # noqa: FBT001
    ) -> Reply:
        body = self.settings.context_body(part, chunk, firmer=firmer)
        answer, used = await self._send(connection, body)
        part.tighten_bound(used)
        return answer, used

    async def _send(self, connection: Any, body: dict[str, Any]) -> Reply:
        with self.service.translate_errors():
            message = await connection.messages.create(**body)
        return self.settings.parse(message)


class Claude(RemoteContextualizer[ClaudeContexts]):
    """A contextualizer on the Messages API, by single requests or in message batches.

    Groups of chunks (`form` "window") are not sent in batches: `UsageError`. `poll_s` is the time
    between two looks at a batch.
    """

    def __init__(
        self,
        client: ClaudeContexts,
        *,
        width: int = _WIDTH,
        form: str = "document",
        cap_dollars: float = math.inf,
        retry_policy: RetryPolicy | None = None,
        poll_s: float = 30.0,
    ) -> None:
        super().__init__(
            client, width=width, form=form, cap_dollars=cap_dollars, retry_policy=retry_policy
        )
        if form == "window" and client.settings.hour:
            raise UsageError(
                f"{client.name}: prompt=window sends no batches; leave one of the two out"
            )
        self._poll_s = poll_s
        self._jobs: PendingJobs | None = None
        self._recovered: dict[str, list[Any]] | None = None

    @property
    def has_remote_jobs(self) -> bool:
        """Whether batches are sent."""
        return self._client.settings.hour

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context per chunk, in order, as `RemoteContextualizer.situate` does."""
        if not self.has_remote_jobs or not chunks:
            yield from super().situate(document, chunks)
            return
        refuse_offline(self._client.name)
        contexts = stream(partial(self._situate_in_batches, [(document, chunks)]))
        yield from restore_order((at, context) for _, at, context in contexts)

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Iterator[tuple[int, int, Context]]:
        """Yield (document's position, chunk's position, context) as they arrive.

        In batch mode all documents share the batches: a batch of one document takes as long as a
        batch of a thousand.
        """
        if self.has_remote_jobs:
            yield from stream(partial(self._situate_in_batches, documents))
            return
        for at, (document, chunks) in enumerate(documents):
            for ordinal, context in enumerate(self.situate(document, chunks)):
                yield at, ordinal, context

    def resume(self, jobs: PendingJobs | None) -> None:
        """Record batches in `jobs` from now on and recover those it lists; None stops it.

        Raises `UsageError` if it lists batches and this instance sends none: their chunks would be
        paid for twice.
        """
        if jobs and jobs.names and not self.has_remote_jobs:
            source = self._client.name
            raise UsageError(
                f"{source}: {jobs.names[-1]} is paid for and not taken up; "
                f"run with {source}:batch=1 to take it up"
            )
        self._jobs, self._recovered = jobs, None

    async def _situate_in_batches(
        self,
        documents: Sequence[tuple[Document, Sequence[Chunk]]],
        emit: Callable[[tuple[int, int, Context]], None],
    ) -> None:
        service = self._client.service
        async with service.client() as connection:
            queue = BatchQueue(
                connection.messages.batches,
                retry_policy=self._retry_policy,
                translate_errors=service.translate_errors,
                poll_s=self._poll_s,
                not_found=service.not_found_error,
                jobs=self._jobs,
            )
            # Once a run: the run's own batches are recorded too.
            if self._recovered is None:
                self._recovered = await queue.recover()
            run = BatchRun(queue, self._client.settings, self._meter)
            await run.situate(documents, emit, recovered=self._recovered)


def load_contextualizer(rest: str, *, prompt: Prompt | None, cap_dollars: float) -> Claude:
    """Return the contextualizer of `claude:REST`."""
    model, options = parse_options(rest)
    width, form = options.pop("width", _WIDTH), options.pop("form")
    client = ClaudeContexts(model, prompt=prompt, **options)
    return Claude(client, width=width, form=form, cap_dollars=cap_dollars)
