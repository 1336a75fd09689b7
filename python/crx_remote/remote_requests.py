"""Requests for contexts to a metered service: for chunks, documents and groups of chunks.

A chunk is asked for at most twice. A document is sent whole if it fits the token limit, else in
excerpts; it is never truncated. The limit is set, or known for the model. If it is not known, or
too large, the service rejects a prompt that is too long; half of its length is tried then, and
remembered for the documents that follow.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any, Generic, TypeVar

from crx._services.prompt import Prompt
from crx._services.service_usage import Estimate, ServiceUsage
from crx.errors import BudgetSpent, CrxError
from crx.types import Chunk, Context, Document
from crx_contexts.chunk_groups import (
    GROUPS_TOGETHER,
    USUAL_DIGEST_CHARS,
    GroupContextualizer,
    GroupPrompt,
    LineCounts,
)
from crx_contexts.chunk_prompt import Answers, ChunkPrompt, restore_order
from crx_contexts.excerpts import Excerpt, excerpts
from crx_contexts.validate import ContextValidator
from crx_remote.completion import Completion
from crx_remote.errors import RequestFailed, TransientError
from crx_remote.metering import Meter, Reservation
from crx_remote.notices import SLOW_S, ServiceNotices
from crx_remote.pool import OrderedPool
from crx_remote.retry import CircuitBreaker, RetryPolicy
from crx_remote.stream import stream

Asked = TypeVar("Asked")


def validate_completion(
    validator: ContextValidator, chunk: Chunk, completion: Completion
) -> Context:
    """Return the context of a completion, or a rejected one with the reason."""
    if completion.refused:
        return Context.rejected("refusal")
    return validator.validate(completion.text, chunk=chunk, finished=completion.finished)


async def ask_twice(
    ask: Callable[[int], Awaitable[Completion]], *, validate: Callable[[Completion], Context]
) -> Context:
    """Ask for a context, and a second time if the first answer is rejected."""
    context = Context.failed("the budget is spent")
    try:
        context = validate(await ask(1))
        if context.status == "ok":
            return context
        context = validate(await ask(2))
        return replace(context, status="retried") if context.status == "ok" else context
    except BudgetSpent:
        return context  # the budget does not allow a second try
    except RequestFailed as failed:
        return Context.failed(failed)


@dataclass(slots=True)
class ChunkRequests(Generic[Asked]):
    """Requests for chunks, or for groups of them, that follow the same text.

    `send` makes one request for a chunk, with the firmer instruction or not, and returns the
    completion and its usage; `worst_dollars` is an upper bound of its cost; `validate` returns the
    context of a completion. With `warm_first`, the first chunk is asked for alone. `too_long` are
    the positions of the chunks whose prompt the service rejected as too long; after the first of
    them no other request is sent.
    """

    chunks: Sequence[Asked]
    validate: Callable[[Asked, Completion], Context]
    send: Callable[[Asked, bool], Awaitable[tuple[Completion, ServiceUsage]]]
    worst_dollars: Callable[[Asked], float]
    meter: Meter
    retry_policy: RetryPolicy
    circuit_breaker: CircuitBreaker
    notices: ServiceNotices
    width: int
    warm_first: bool
    too_long: set[int] = field(default_factory=set)
    _reservations: dict[int, Reservation] = field(default_factory=dict)
    _rejection: RequestFailed | None = None

    async def run(self, emit: Callable[[Context], None]) -> None:
        """Emit one context a chunk, in order; an error that ends the run is raised after them."""
        pool = OrderedPool(
            self._situate, admit=self._admit, width=self.width, warm_first=self.warm_first
        )
        await pool.run(range(len(self.chunks)), emit)

    def _admit(self, at: int) -> None:
        self._reservations[at] = self.meter.reserve(self.worst_dollars(self.chunks[at]))

    async def _situate(self, at: int) -> Context:
        chunk, reservation = self.chunks[at], self._reservations.pop(at)

        async def ask(attempt: int) -> Completion:
            tries = self.retry_policy.run(
                lambda: self._ask(at, attempt > 1, reservation), on_retry=self.notices.tell_retry
            )
            return await self.circuit_breaker.guard(tries)

        try:
            return await ask_twice(ask, validate=lambda answer: self.validate(chunk, answer))
        finally:
            reservation.release()

    def _note_rejection(self, at: int, failed: RequestFailed) -> RequestFailed:
        """Record a rejection that every chunk after the same text would meet."""
        if failed.document:
            self._rejection = failed
            self.too_long.add(at)
        return failed

    async def _ask(self, at: int, firmer: bool, reservation: Reservation) -> Completion:  # noqa: FBT001
        if self._rejection:
            raise self._note_rejection(at, self._rejection)
        reservation.renew()
        try:
            answer, used = await self.send(self.chunks[at], firmer)
        except asyncio.CancelledError:
            reservation.count_as_lost()
            raise
        except TransientError as error:
            if error.lost:
                reservation.count_as_lost()
            raise
        except RequestFailed as failed:
            raise self._note_rejection(at, failed) from None
        reservation.settle(used)
        return answer


# Tokens that a service adds around a prompt.
_AROUND = 64
# Tokens are estimated from bytes. An estimate that is too high costs some of the text around a
# chunk, one that is too low a rejected request.
_SLACK = 1.25
# Besides a chunk, an excerpt contains marks of omission and some of the text around the chunk.
_LEAST_AROUND = 64

Emit = Callable[[Context], None]


@dataclass(slots=True)
class TokenLimit:
    """Tokens that a service reads at once, answer included; shrinks when it rejects a prompt."""

    tokens: float
    tokens_per_byte: float
    _learned: float = field(default=math.inf, init=False)

    def parts(
        self, document: Document, chunks: Sequence[Chunk], *, prompt: Prompt, answer_tokens: int
    ) -> list[Excerpt]:
        """Return the whole document for all chunks if it fits, else an excerpt for each group."""
        room = self._room(chunks, prompt, answer_tokens)
        (whole,) = self._count([document.text])
        if whole <= room or not self._holds(chunks, room):
            return [Excerpt(document.text, 0, len(chunks))]
        return excerpts(document, chunks, budget=int(room), count=self._count)

    def record_rejection(
        self, text: str, chunks: Sequence[Chunk], *, prompt: Prompt, answer_tokens: int
    ) -> bool:
        """Record that the prompt of a text was too long; return whether a shorter one can help."""
        self._learned = min(self._learned, self._count([text])[0] / 2)
        return self._holds(chunks, self._room(chunks, prompt, answer_tokens))

    def _room(self, chunks: Sequence[Chunk], prompt: Prompt, answer_tokens: int) -> float:
        """Return the tokens left for the text of a document."""
        return min(self._learned, self.tokens - self._fixed(chunks, prompt, answer_tokens))

    def _fixed(self, chunks: Sequence[Chunk], prompt: Prompt, answer_tokens: int) -> int:
        suffixes = self._count([prompt.suffix(chunk.text, firmer=True) for chunk in chunks])
        return self._count([prompt.prefix("")])[0] + max(suffixes) + answer_tokens + _AROUND

    def _holds(self, chunks: Sequence[Chunk], room: float) -> bool:
        return room >= max(self._count([chunk.text for chunk in chunks])) + _LEAST_AROUND

    def _count(self, texts: Sequence[str]) -> list[int]:
        rate = self.tokens_per_byte * _SLACK
        return [math.ceil(len(text.encode()) * rate) for text in texts]


@dataclass(frozen=True, slots=True)
class DocumentRequests:
    """Requests for the chunks of one document: in parts, and in shorter ones if those are rejected.

    `chunk_requests` prepares the requests of some chunks that follow a text.
    """

    document: Document
    limit: TokenLimit
    prompt: Prompt
    answer_tokens: int
    chunk_requests: Callable[[str, Sequence[Chunk]], ChunkRequests[Chunk]]

    async def run(self, chunks: Sequence[Chunk], emit: Emit) -> None:
        """Emit one context a chunk, in order; an error that ends the run is raised after them."""
        parts = self.limit.parts(
            self.document, chunks, prompt=self.prompt, answer_tokens=self.answer_tokens
        )
        for part in parts:
            await self._run_part(part.text, chunks[part.first : part.last], emit)

    async def _run_part(self, text: str, chunks: Sequence[Chunk], emit: Emit) -> None:
        requests = self.chunk_requests(text, chunks)
        contexts: list[Context] = []

        def receive(context: Context) -> None:
            """Emit a context, unless a chunk before it is asked for again."""
            contexts.append(context)
            if not any(at in requests.too_long for at in range(len(contexts))):
                emit(context)

        try:
            await requests.run(receive)
        except CrxError:
            for at in range(min(requests.too_long, default=len(contexts)), len(contexts)):
                emit(contexts[at])
            raise
        await self._retry_too_long(text, chunks, contexts, requests.too_long, emit)

    async def _retry_too_long(
        self,
        text: str,
        chunks: Sequence[Chunk],
        contexts: Sequence[Context],
        too_long: set[int],
        emit: Emit,
    ) -> None:
        """Emit the remaining contexts, asking again with less text where a prompt was too long."""
        first = min(too_long, default=len(contexts))
        for retry, positions in groupby(range(first, len(contexts)), key=too_long.__contains__):
            run = list(positions)
            group = chunks[run[0] : run[-1] + 1]
            if retry and self.limit.record_rejection(
                text, group, prompt=self.prompt, answer_tokens=self.answer_tokens
            ):
                await self.run(group, emit)
            else:
                for at in run:
                    emit(contexts[at])


# Lines by a large model have about 160 characters.
DIGEST_TOKENS, LINE_TOKENS = 50, 45


@dataclass(frozen=True, slots=True)
class GroupRequests:
    """Contexts in groups of chunks from a metered service.

    `send` makes one request with a text on an open client; `worst_dollars` is an upper bound of its
    cost. `tokens_per_byte` is that of the service's tokenizer.
    """

    prompt: GroupPrompt
    connect: Callable[[], AbstractAsyncContextManager[Any]]
    send: Callable[[Any, str], Awaitable[tuple[Completion, ServiceUsage]]]
    worst_dollars: Callable[[str], float]
    tokens_per_byte: float
    meter: Meter
    retry_policy: RetryPolicy
    circuit_breaker: CircuitBreaker
    notices: ServiceNotices
    width: int
    counts: LineCounts

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context per chunk, in order, as `GroupContextualizer` writes them."""
        count = partial(count_tokens, tokens_per_byte=self.tokens_per_byte)
        groups = GroupContextualizer(
            self._ask, self.prompt, count, self.counts, max(self.width, GROUPS_TOGETHER)
        )
        yield from restore_order(groups.situate(document, chunks))

    def _ask(self, prompts: Sequence[ChunkPrompt]) -> Answers:
        """Yield the answers to the prompts in order."""
        first = 0
        while first < len(prompts):
            group = prompts[first:]
            asked = stream(partial(self._run, group), slow_s=SLOW_S, on_slow=self.notices.tell_slow)
            with contextlib.closing(asked) as contexts:
                yield from enumerate(contexts, first)
            first += len(group)

    async def _run(self, prompts: Sequence[ChunkPrompt], emit: Callable[[Context], None]) -> None:
        async with self.connect() as client:

            async def send(
                prompt: ChunkPrompt,
                firmer: bool,  # noqa: FBT001
            ) -> tuple[Completion, ServiceUsage]:
                text = prompt.firmer if firmer and prompt.firmer else prompt.suffix
                return await self.send(client, text)

            requests = ChunkRequests(
                prompts,
                validate=_validate,
                send=send,
                worst_dollars=lambda asked: self.worst_dollars(asked.firmer or asked.suffix),
                meter=self.meter,
                retry_policy=self.retry_policy,
                circuit_breaker=self.circuit_breaker,
                notices=self.notices,
                width=self.width,
                warm_first=False,
            )
            await requests.run(emit)


def estimate_groups(
    prompt: GroupPrompt,
    documents: Iterable[tuple[Document, Sequence[Chunk]]],
    *,
    tokens_per_byte: float,
    priced: Callable[[ServiceUsage], ServiceUsage],
    thinking_tokens: int = 0,
) -> Estimate:
    """Estimate tokens and dollars of digests and groups, which share nothing a cache could contain.

    `priced` adds the dollars of a request; `thinking_tokens` are those of a request besides its
    answer.
    """
    count = partial(count_tokens, tokens_per_byte=tokens_per_byte)
    groups = GroupContextualizer(_ask_nothing, prompt, count)
    total, n_documents, n_chunks = ServiceUsage(), 0, 0
    for document, chunks in documents:
        n_documents, n_chunks = n_documents + 1, n_chunks + len(chunks)
        for text, output in _requests(groups, document, chunks):
            (asked,) = count([text])
            total += priced(ServiceUsage(1, input=asked, output=output + thinking_tokens))
    return Estimate(
        documents=n_documents,
        chunks=n_chunks,
        usage=total,
        dollars=total.dollars,
        dollars_batch=None,
        dollars_uncached=total.dollars,
    )


def _requests(
    groups: GroupContextualizer, document: Document, chunks: Sequence[Chunk]
) -> Iterator[tuple[str, int]]:
    """Yield (text, usual tokens of the answer) of the requests for a document."""
    if not chunks:
        return
    yield "".join(groups.digest_prompt(document, chunks[0])), DIGEST_TOKENS
    digest = "x" * USUAL_DIGEST_CHARS
    for positions in groups.groups(chunks):
        group = chunks[positions.start : positions.stop]
        prefix = groups.prompt.lines.prefix(digest)
        yield prefix + groups.group_text(group), LINE_TOKENS * len(group)


def count_tokens(texts: Sequence[str], *, tokens_per_byte: float) -> list[int]:
    """Return an estimate of the tokens of each text."""
    return [math.ceil(len(text.encode()) * tokens_per_byte) for text in texts]


def _validate(prompt: ChunkPrompt, completion: Completion) -> Context:
    if completion.refused:
        return Context.rejected("refusal")
    return prompt.validate(completion.text, completion.finished)


def _ask_nothing(prompts: Sequence[ChunkPrompt]) -> Answers:
    raise AssertionError("an estimate sends nothing")
