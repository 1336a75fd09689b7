"""Contexts from Claude, through the vendor's SDK: `claude:MODEL`.

A document is sent as a block that the service caches: the first chunk goes alone and warms the
cache, the others follow side by side and read it. The published notebook starts five requests at
once and so writes the same document five times. In batch mode everything costs half, takes up to
a day, and goes in waves for the same reason.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from crx.backends.claude.batches import BatchQueue, in_waves
from crx.backends.claude.client import ClaudeClient
from crx.backends.claude.options import model_and_options
from crx.backends.claude.pricing import ClaudePricing
from crx.backends.claude.requests import Job, terms_of
from crx.config import refuse_offline
from crx.context.chunk_requests import ChunkRequests
from crx.context.ordering import restore_order
from crx.context.prompt import Prompt
from crx.context.text_window import DocumentRequests
from crx.errors import UsageError
from crx.remote.completion import Completion
from crx.remote.errors import refuse_below
from crx.remote.metering import Estimate, Meter, Price, ServiceUsage
from crx.remote.pending_jobs import PendingJobs
from crx.remote.retry import CircuitBreaker, RetryPolicy
from crx.remote.stream import stream
from crx.types import Chunk, Context, Document


class Claude:
    """A contextualizer on the Messages API.

    `cap_dollars` is never exceeded: `situate` then raises `BudgetSpent` after what was paid for
    has been handed out. `price` replaces the price that is known of the model. `batch` sends
    message batches. `width` is how many requests are under way at once. `window` is how many tokens
    the model reads at once, 0: what is known of it; longer documents are sent in parts. Answers are
    sampled, and recent models let nobody fix the seed: the same chunk may get another text another
    day. May be used from several threads, a document each.

    Raises `Offline`, `ModelError` where the SDK or the key is missing, and `UsageError` where a
    cap is to be kept and the price is not known, or for a number that is too small.
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
        retry_policy: RetryPolicy | None = None,
        timeout_s: float = 120.0,
        poll_s: float = 30.0,
        key: str | None = None,
        url: str | None = None,
    ) -> None:
        refuse_offline(f"claude:{model}")
        self._terms = terms_of(
            model,
            prompt=prompt,
            price=price,
            effort=effort,
            max_tokens=max_tokens,
            window=window,
            batch=batch,
        )
        refuse_below(1, width, what=f"claude:{model}:width")
        self._window_tokens = window
        if self._terms.price is None and cap_dollars < math.inf:
            raise UsageError(f"claude:{model}: its price is not known, so no budget can be kept")
        self._batch = batch
        self._width = width
        self._retry_policy = retry_policy or RetryPolicy()
        self._poll_s = poll_s
        self._ledger: PendingJobs | None = None
        self._found: dict[str, list[Any]] | None = None
        self._meter = Meter(cap_dollars=cap_dollars)
        self._service = ClaudeClient(model, timeout_s=timeout_s, key=key, url=url)
        self._circuit_breaker = CircuitBreaker(self._service.name)

    @property
    def fingerprint(self) -> str:
        """Model, prompt and parameters; batches answer as single requests do."""
        terms = self._terms
        effort = f" effort={terms.effort}" if terms.effort else ""
        window = f" window={self._window_tokens}" if self._window_tokens else ""
        options = f"max={terms.max_tokens}{effort}{window}"
        return f"claude:{terms.model} prompt={terms.prompt.hash} {options}"

    @property
    def usage(self) -> ServiceUsage:
        """What was used so far, over all documents."""
        return self._meter.usage

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context a chunk, in order.

        A chunk that cannot be had is "failed:<why>". What ends the run is raised after all that
        was answered: `ModelError` (the key, the model, no connection, an outage) or `BudgetSpent`.
        """
        if not chunks:
            return
        refuse_offline(f"claude:{self._terms.model}")
        if self._batch:
            told = stream(partial(self._wave, [(document, chunks)]))
            yield from restore_order((at, context) for _, at, context in told)
        else:
            yield from stream(partial(self._visit, document, chunks))

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Iterator[tuple[int, int, Context]]:
        """Yield (document's position, chunk's position, context) as they come.

        In batch mode all documents go together, and this is the way to go: a batch of one
        document waits as long as one of a thousand.
        """
        if self._batch:
            yield from stream(partial(self._wave, documents))
            return
        for at, (document, chunks) in enumerate(documents):
            for ordinal, context in enumerate(self.situate(document, chunks)):
                yield at, ordinal, context

    @property
    def has_remote_jobs(self) -> bool:
        """Does its work go on when a run ends? Batches do."""
        return self._batch

    def resume(self, ledger: PendingJobs | None) -> None:
        """Note batches there while they are under way, and adopt those that it names.

        Raises `UsageError` where it names some and this one sends none: they would be paid twice.
        """
        if ledger and ledger.names and not self._batch:
            source = f"claude:{self._terms.model}"
            raise UsageError(
                f"{source}: {ledger.names[-1]} is paid for and not taken up; "
                f"run with {source}:batch=1 to take it up"
            )
        self._ledger, self._found = ledger, None

    def with_prompt(self, prompt: Prompt) -> Claude:
        """Return one that asks with another prompt; both share the meter and its cap."""
        other = copy.copy(self)
        other._terms = replace(self._terms, prompt=prompt)
        return other

    def estimate_cost(self, documents: Iterable[tuple[Document, Sequence[Chunk]]]) -> Estimate:
        """Estimate tokens and dollars of a run from the lengths of the texts."""
        terms = self._terms
        pricing = ClaudePricing(
            terms.model, prompt=terms.prompt, price=terms.price, window=self._window_tokens
        )
        return pricing.estimate_cost(documents)

    async def _visit(
        self, document: Document, chunks: Sequence[Chunk], tell: Callable[[Context], None]
    ) -> None:
        terms = self._terms
        async with self._service.client() as client:

            def chunk_requests(text: str, group: Sequence[Chunk]) -> ChunkRequests:
                job = terms.job(document, group, text=text)
                return ChunkRequests(
                    group,
                    validator=job.validator,
                    send=partial(self._send, client, job),
                    worst_dollars=partial(terms.worst_dollars, job),
                    meter=self._meter,
                    retry_policy=self._retry_policy,
                    circuit_breaker=self._circuit_breaker,
                    width=self._width,
                    warm_first=job.marked,
                )

            requests = DocumentRequests(
                document, terms.window, terms.prompt, terms.max_tokens, chunk_requests
            )
            await requests.run(chunks, tell)

    async def _send(
        self,
        client: Any,
        job: Job,
        chunk: Chunk,
        firmer: bool,  # noqa: FBT001
    ) -> tuple[Completion, ServiceUsage]:
        params = self._terms.params(job, chunk, firmer=firmer)
        with self._service.translate_errors():
            message = await client.messages.create(**params)
        answer, used = self._terms.read(message)
        job.learn(used)
        return answer, used

    async def _wave(
        self,
        documents: Sequence[tuple[Document, Sequence[Chunk]]],
        tell: Callable[[tuple[int, int, Context]], None],
    ) -> None:
        async with self._service.client() as client:
            desk = BatchQueue(
                client.messages.batches,
                retry_policy=self._retry_policy,
                translate_errors=self._service.translate_errors,
                poll_s=self._poll_s,
                unknown=self._service.unknown,
                ledger=self._ledger,
            )
            if self._found is None:  # once a run: its own batches are in the ledger, too
                self._found = await desk.adopt()
            await in_waves(
                documents,
                tell,
                found=self._found,
                desk=desk,
                terms=self._terms,
                meter=self._meter,
            )


def load_contextualizer(rest: str, *, prompt: Prompt | None, cap_dollars: float) -> Claude:
    """Return the contextualizer of `claude:REST`."""
    model, options = model_and_options(rest)
    return Claude(model, prompt=prompt, cap_dollars=cap_dollars, **options)
