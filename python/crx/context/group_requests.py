"""Groups of chunks sent to a metered service."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from crx.context.chunk_groups import GROUPS_TOGETHER, GroupContextualizer
from crx.context.chunk_prompt import ChunkPrompt
from crx.context.chunk_requests import ChunkRequests
from crx.context.group_prompt import USUAL_DIGEST_CHARS, GroupPrompt
from crx.context.line_counts import LineCounts
from crx.context.ordering import Answers, restore_order
from crx.remote.completion import Completion
from crx.remote.metering import Estimate, Meter, ServiceUsage
from crx.remote.retry import CircuitBreaker, RetryPolicy
from crx.remote.stream import stream
from crx.types import Chunk, Context, Document

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
            with contextlib.closing(stream(partial(self._run, group))) as contexts:
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
    """Estimate tokens and dollars of digests and groups, which share nothing a cache could hold.

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
