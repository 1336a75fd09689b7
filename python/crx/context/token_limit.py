"""Documents sent to a service within its token limit, whole or in excerpts.

A document is sent whole if it fits, else in excerpts; it is never truncated. The limit
is set, or known for the model. If it is not known, or too large, the service rejects a prompt that
is too long; half of its length is tried then, and remembered for the documents that follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from crx.context.chunk_requests import ChunkRequests
from crx.context.excerpts import Excerpt, excerpts
from crx.context.prompt import Prompt
from crx.errors import CrxError
from crx.types import Chunk, Context, Document

# Tokens that a service adds around a prompt.
_AROUND = 64
# Tokens are estimated from bytes. An estimate that is too high costs some of the text around a
# chunk, one that is too low a rejected request.
_SLACK = 1.25
# Besides a chunk, an excerpt holds marks of omission and some of the text around the chunk.
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
