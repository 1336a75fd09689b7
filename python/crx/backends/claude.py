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

from crx.backends.claude_batches import Desk, in_waves
from crx.backends.claude_models import known
from crx.backends.claude_requests import Job, Terms
from crx.backends.claude_service import Service
from crx.backends.order import in_order
from crx.backends.window import Reading, Window
from crx.errors import UsageError
from crx.ledger import Ledger
from crx.prompt import Prompt
from crx.remote import Outage, Patience, refuse_below, refuse_offline, stream
from crx.spend import Estimate, Meter, Price, Usage
from crx.types import Chunk, Context, Document
from crx.visit import Answer, Visit

# The gate lets 1,000 characters pass: 250 tokens of English, more of other scripts. Where the
# model thinks, its thoughts count as output too.
_MAX_TOKENS, _MAX_TOKENS_THINKING = 600, 4096

# 737 contexts written for source files have about 290 characters on average. How long a model
# thinks at low effort is a guess.
_USUAL_TOKENS, _USUAL_TOKENS_THINKING = 90, 400


def plan(
    model: str,
    documents: Iterable[tuple[Document, Sequence[Chunk]]],
    *,
    prompt: Prompt | None = None,
    price: Price | None = None,
    window: int = 0,
) -> Estimate:
    """Estimate tokens and dollars from the lengths of the texts; needs no key and asks nobody."""
    now = terms_of(model, prompt=prompt, price=price, window=window)
    batched = replace(now, hour=True, discount=0.5)
    silent = now.known.thinking == "off"
    output_tokens = _USUAL_TOKENS if silent else _USUAL_TOKENS_THINKING
    total, dollars_batch, dollars_uncached, count = Usage(), 0.0, 0.0, 0
    for document, chunks in documents:
        count += 1
        for _, job in now.jobs(document, chunks):
            for used in now.guess(job, output_tokens=output_tokens):
                sent = replace(used, input=used.prompt, written=0, read=0)
                total += now.priced(used)
                dollars_batch += batched.dollars(used) or 0.0
                dollars_uncached += now.dollars(sent) or 0.0
    priced = now.price is not None
    return Estimate(
        documents=count,
        chunks=total.requests,
        usage=total,
        dollars=total.dollars if priced else None,
        dollars_batch=dollars_batch if priced else None,
        dollars_uncached=dollars_uncached if priced else None,
    )


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
        patience: Patience | None = None,
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
        self._patience = patience or Patience()
        self._poll_s = poll_s
        self._ledger: Ledger | None = None
        self._found: dict[str, list[Any]] | None = None
        self._meter = Meter(cap_dollars=cap_dollars)
        self._service = Service(model, timeout_s=timeout_s, key=key, url=url)
        self._outage = Outage(self._service.name)

    @property
    def fingerprint(self) -> str:
        """Model, prompt and parameters; batches answer as single requests do."""
        terms = self._terms
        effort = f" effort={terms.effort}" if terms.effort else ""
        window = f" window={self._window_tokens}" if self._window_tokens else ""
        options = f"max={terms.max_tokens}{effort}{window}"
        return f"claude:{terms.model} prompt={terms.prompt.hash} {options}"

    @property
    def usage(self) -> Usage:
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
            yield from in_order((at, context) for _, at, context in told)
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
    def goes_on(self) -> bool:
        """Does its work go on when a run ends? Batches do."""
        return self._batch

    def resume(self, ledger: Ledger | None) -> None:
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

    def plan(self, documents: Iterable[tuple[Document, Sequence[Chunk]]]) -> Estimate:
        """Estimate what a run would use and cost, as `plan` does."""
        terms = self._terms
        return plan(
            terms.model,
            documents,
            prompt=terms.prompt,
            price=terms.price,
            window=self._window_tokens,
        )

    async def _visit(
        self, document: Document, chunks: Sequence[Chunk], tell: Callable[[Context], None]
    ) -> None:
        terms = self._terms
        async with self._service.client() as client:

            def visit(text: str, group: Sequence[Chunk]) -> Visit:
                job = terms.job(document, group, text=text)
                return Visit(
                    group,
                    gate=job.gate,
                    send=partial(self._send, client, job),
                    worst_dollars=partial(terms.worst_dollars, job),
                    meter=self._meter,
                    patience=self._patience,
                    outage=self._outage,
                    width=self._width,
                    warm_first=job.marked,
                )

            reading = Reading(document, terms.window, terms.prompt, terms.max_tokens, visit)
            await reading.run(chunks, tell)

    async def _send(
        self,
        client: Any,
        job: Job,
        chunk: Chunk,
        firmer: bool,  # noqa: FBT001
    ) -> tuple[Answer, Usage]:
        params = self._terms.params(job, chunk, firmer=firmer)
        with self._service.translated():
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
            desk = Desk(
                client.messages.batches,
                patience=self._patience,
                translated=self._service.translated,
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


def terms_of(
    model: str,
    *,
    prompt: Prompt | None,
    price: Price | None,
    effort: str | None = None,
    max_tokens: int | None = None,
    window: int = 0,
    batch: bool = False,
) -> Terms:
    """Return what is the same for all requests of a run; `UsageError` for what cannot be."""
    if not model:
        raise UsageError("claude: names no model; write it like claude:claude-haiku-5-5")
    refuse_below(1, max_tokens, what=f"claude:{model}:max_tokens")
    refuse_below(0, window, what=f"claude:{model}:window")
    family = known(model)
    if max_tokens is None:
        max_tokens = _MAX_TOKENS if family.thinking == "off" else _MAX_TOKENS_THINKING
    return Terms(
        model=model,
        known=family,
        price=price or family.price,
        prompt=prompt or Prompt.of(),
        max_tokens=max_tokens,
        effort=effort or ("low" if family.thinking == "always" else None),
        hour=batch,
        discount=0.5 if batch else 1.0,
        window=Window(window or family.window, family.tokens_per_byte),
    )
