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

from crx.backends.claude.batch_queue import BatchQueue
from crx.backends.claude.batch_waves import BatchRun
from crx.backends.claude.client import ClaudeClient
from crx.backends.claude.options import parse_options
from crx.backends.claude.pricing import ClaudePricing
from crx.backends.claude.requests import DocumentPart, request_settings
from crx.config import refuse_offline
from crx.context.chunk_requests import ChunkRequests, validate_completion
from crx.context.line_counts import LineCounts
from crx.context.ordering import restore_order
from crx.context.prompt import Prompt
from crx.context.text_window import DocumentRequests
from crx.context.window_prompt import WindowPrompt, read_form
from crx.context.window_requests import WindowRequests
from crx.errors import UsageError
from crx.remote.completion import Completion
from crx.remote.destination import Destination
from crx.remote.errors import refuse_below
from crx.remote.metering import Estimate, Meter, Price, ServiceUsage
from crx.remote.pending_jobs import PendingJobs
from crx.remote.retry import CircuitBreaker, RetryPolicy
from crx.remote.stream import stream
from crx.types import Chunk, Context, Document


class Claude:
    """A contextualizer on the Messages API.

    `cap_dollars` is never exceeded: `situate` raises `BudgetSpent` after the contexts that were
    paid for. `price` replaces the known price of the model. `batch` sends message batches. `width`
    is the number of concurrent requests. `window` is the number of tokens that the model accepts,
    0 for the known one; longer documents are sent in excerpts. `form` "window" asks for the lines
    of about six chunks at a time behind a digest (`crx.context.window_prompt`), "document" for one
    context a request behind the document; windows are not sent in batches. Answers are sampled, and
    recent models accept no seed, so the same chunk may get another text another day. Thread-safe
    for different documents.

    Raises `Offline`, `ModelError` if the SDK or the key is missing, and `UsageError` for a cap
    without a known price and for a number that is too small.
    """

    def __init__(
        self,
        model: str,
        *,
        prompt: Prompt | None = None,
        batch: bool = False,
        cap_dollars: float = math.inf,
        price: Price | None = None,
        width: int = 8,
        effort: str | None = None,
        max_tokens: int | None = None,
        window: int = 0,
        form: str = "document",
        retry_policy: RetryPolicy | None = None,
        timeout_s: float = 120.0,
        poll_s: float = 30.0,
        key: str | None = None,
        url: str | None = None,
    ) -> None:
        refuse_offline(f"claude:{model}")
        self._settings = request_settings(
            model,
            prompt=prompt,
            price=price,
            effort=effort,
            max_tokens=max_tokens,
            window=window,
            batch=batch,
        )
        refuse_below(1, width, what=f"claude:{model}:width")
        self._window_prompt = read_form(form, self._settings.prompt, source=f"claude:{model}")
        if self._window_prompt and batch:
            raise UsageError(
                f"claude:{model}: prompt=window sends no batches; leave one of the two out"
            )
        self._window_tokens = window
        if self._settings.price is None and cap_dollars < math.inf:
            raise UsageError(f"claude:{model}: its price is not known, so no budget can be kept")
        self._batch = batch
        self._width = width
        self._line_counts = LineCounts()
        self._retry_policy = retry_policy or RetryPolicy()
        self._poll_s = poll_s
        self._jobs: PendingJobs | None = None
        self._recovered: dict[str, list[Any]] | None = None
        self._meter = Meter(cap_dollars=cap_dollars)
        self._service = ClaudeClient(model, timeout_s=timeout_s, key=key, url=url)
        self._circuit_breaker = CircuitBreaker(self._service.name)

    @property
    def fingerprint(self) -> str:
        """Model, prompt and parameters; batches give the same answers as single requests."""
        settings = self._settings
        effort = f" effort={settings.effort}" if settings.effort else ""
        window = f" window={self._window_tokens}" if self._window_tokens else ""
        options = f"max={settings.max_tokens}{effort}{window}"
        windows = self._window_prompt
        prompt = f"window:{windows.hash}" if windows else settings.prompt.hash
        return f"claude:{settings.model} prompt={prompt} {options}"

    @property
    def usage(self) -> ServiceUsage:
        """The usage so far, over all documents."""
        return self._meter.usage

    @property
    def destination(self) -> Destination:
        """The host that documents are sent to."""
        return self._service.destination

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context per chunk, in order; "failed" if the model gave no answer.

        An error that ends the run is raised after all contexts that were answered: `ModelError`
        (the key, the model, no connection, an outage) or `BudgetSpent`.
        """
        if not chunks:
            return
        refuse_offline(f"claude:{self._settings.model}")
        if self._window_prompt:
            yield from self._window_requests(self._window_prompt).situate(document, chunks)
        elif self._batch:
            contexts = stream(partial(self._situate_in_batches, [(document, chunks)]))
            yield from restore_order((at, context) for _, at, context in contexts)
        else:
            yield from stream(partial(self._situate_by_requests, document, chunks))

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Iterator[tuple[int, int, Context]]:
        """Yield (document's position, chunk's position, context) as they arrive.

        In batch mode all documents share the batches: a batch of one document takes as long as a
        batch of a thousand.
        """
        if self._batch:
            yield from stream(partial(self._situate_in_batches, documents))
            return
        for at, (document, chunks) in enumerate(documents):
            for ordinal, context in enumerate(self.situate(document, chunks)):
                yield at, ordinal, context

    @property
    def has_remote_jobs(self) -> bool:
        """Whether batches are sent."""
        return self._batch

    def resume(self, jobs: PendingJobs | None) -> None:
        """Record batches in `jobs` from now on and recover those it lists; None stops it.

        Raises `UsageError` if it lists batches and this instance sends none: their chunks would be
        paid for twice.
        """
        if jobs and jobs.names and not self._batch:
            source = f"claude:{self._settings.model}"
            raise UsageError(
                f"{source}: {jobs.names[-1]} is paid for and not taken up; "
                f"run with {source}:batch=1 to take it up"
            )
        self._jobs, self._recovered = jobs, None

    def with_prompt(self, prompt: Prompt) -> Claude:
        """Return a contextualizer with another prompt that shares the meter and its cap."""
        other = copy.copy(self)
        other._settings = replace(self._settings, prompt=prompt)
        if self._window_prompt:
            source = f"claude:{self._settings.model}"
            other._window_prompt = WindowPrompt.beside(prompt, source=source)
        return other

    def estimate_cost(self, documents: Iterable[tuple[Document, Sequence[Chunk]]]) -> Estimate:
        """Estimate tokens and dollars of a run from the lengths of the texts."""
        settings = self._settings
        pricing = ClaudePricing(
            settings.model,
            prompt=settings.prompt,
            price=settings.price,
            window=self._window_tokens,
            form="window" if self._window_prompt else "document",
        )
        return pricing.estimate_cost(documents)

    async def _situate_by_requests(
        self, document: Document, chunks: Sequence[Chunk], emit: Callable[[Context], None]
    ) -> None:
        settings = self._settings
        async with self._service.client() as client:

            def chunk_requests(text: str, group: Sequence[Chunk]) -> ChunkRequests[Chunk]:
                part = settings.part(document, group, text=text)
                return ChunkRequests(
                    group,
                    validate=partial(validate_completion, part.validator),
                    send=partial(self._send, client, part),
                    worst_dollars=partial(settings.worst_dollars, part),
                    meter=self._meter,
                    retry_policy=self._retry_policy,
                    circuit_breaker=self._circuit_breaker,
                    width=self._width,
                    warm_first=part.cache_marked,
                )

            requests = DocumentRequests(
                document, settings.window, settings.prompt, settings.max_tokens, chunk_requests
            )
            await requests.run(chunks, emit)

    async def _send(
        self,
        client: Any,
        part: DocumentPart,
        chunk: Chunk,
        firmer: bool,  # noqa: FBT001
    ) -> tuple[Completion, ServiceUsage]:
        body = self._settings.context_body(part, chunk, firmer=firmer)
        with self._service.translate_errors():
            message = await client.messages.create(**body)
        answer, used = self._settings.parse(message)
        part.tighten_bound(used)
        return answer, used

    def _window_requests(self, prompt: WindowPrompt) -> WindowRequests:
        return WindowRequests(
            prompt,
            connect=self._service.client,
            send=self._send_text,
            worst_dollars=self._settings.worst_text_dollars,
            tokens_per_byte=self._settings.facts.tokens_per_byte,
            meter=self._meter,
            retry_policy=self._retry_policy,
            circuit_breaker=self._circuit_breaker,
            width=self._width,
            counts=self._line_counts,
        )

    async def _send_text(self, client: Any, text: str) -> tuple[Completion, ServiceUsage]:
        body = self._settings.body([{"type": "text", "text": text}])
        with self._service.translate_errors():
            message = await client.messages.create(**body)
        return self._settings.parse(message)

    async def _situate_in_batches(
        self,
        documents: Sequence[tuple[Document, Sequence[Chunk]]],
        emit: Callable[[tuple[int, int, Context]], None],
    ) -> None:
        async with self._service.client() as client:
            queue = BatchQueue(
                client.messages.batches,
                retry_policy=self._retry_policy,
                translate_errors=self._service.translate_errors,
                poll_s=self._poll_s,
                not_found=self._service.not_found_error,
                jobs=self._jobs,
            )
            # Once a run: the run's own batches are recorded too.
            if self._recovered is None:
                self._recovered = await queue.recover()
            run = BatchRun(queue, self._settings, self._meter)
            await run.situate(documents, emit, recovered=self._recovered)


def load_contextualizer(rest: str, *, prompt: Prompt | None, cap_dollars: float) -> Claude:
    """Return the contextualizer of `claude:REST`."""
    model, options = parse_options(rest)
    return Claude(model, prompt=prompt, cap_dollars=cap_dollars, **options)
