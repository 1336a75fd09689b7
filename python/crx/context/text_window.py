"""Documents sent to a service within its token window, whole or in excerpts.

The whole of it where that fits, else excerpts; never a cut. How many tokens a service reads is set,
or known of its model. Where nobody knows, or all are wrong, the service refuses what is too long:
half of that is tried then, and remembered for the documents that follow.
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

# What a service puts around a prompt.
_AROUND = 64
# Tokens are guessed from bytes. A guess that is too high costs a little of what is around a chunk,
# one that is too low a request that is refused.
_SLACK = 1.25
# Beside a chunk, an excerpt holds marks for what is left out, and something of what is around it.
_LEAST_AROUND = 64

Tell = Callable[[Context], None]


@dataclass(slots=True)
class Window:
    """How many tokens a service reads at once, the answer included; shrinks by what it refuses."""

    tokens: float
    tokens_per_byte: float
    _learnt: float = field(default=math.inf, init=False)

    def parts(
        self, document: Document, chunks: Sequence[Chunk], *, prompt: Prompt, answer_tokens: int
    ) -> list[Excerpt]:
        """Return the whole document for all chunks where it fits, else parts for some each."""
        room = self._room(chunks, prompt, answer_tokens)
        (whole,) = self._count([document.text])
        if whole <= room or not self._holds(chunks, room):
            return [Excerpt(document.text, 0, len(chunks))]
        return excerpts(document, chunks, budget=int(room), count=self._count)

    def refuse(
        self, text: str, chunks: Sequence[Chunk], *, prompt: Prompt, answer_tokens: int
    ) -> bool:
        """Note that a prompt around a text was too long; can a shorter one hold the chunks?"""
        self._learnt = min(self._learnt, self._count([text])[0] / 2)
        return self._holds(chunks, self._room(chunks, prompt, answer_tokens))

    def _room(self, chunks: Sequence[Chunk], prompt: Prompt, answer_tokens: int) -> float:
        """Return the tokens that are left for the text of a document."""
        return min(self._learnt, self.tokens - self._fixed(chunks, prompt, answer_tokens))

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
    """One document as a service reads it: in parts, and in shorter ones where those are refused.

    `visit` prepares the requests for some chunks after a text.
    """

    document: Document
    window: Window
    prompt: Prompt
    answer_tokens: int
    visit: Callable[[str, Sequence[Chunk]], ChunkRequests]

    async def run(self, chunks: Sequence[Chunk], tell: Tell) -> None:
        """Tell one context a chunk, in order; what ends the run comes after."""
        parts = self.window.parts(
            self.document, chunks, prompt=self.prompt, answer_tokens=self.answer_tokens
        )
        for part in parts:
            await self._part(part.text, chunks[part.first : part.last], tell)

    async def _part(self, text: str, chunks: Sequence[Chunk], tell: Tell) -> None:
        visit = self.visit(text, chunks)
        told: list[Context] = []

        def take(context: Context) -> None:
            """Tell it, unless a chunk before it is to be asked for again."""
            told.append(context)
            if not any(at in visit.too_long for at in range(len(told))):
                tell(context)

        try:
            await visit.run(take)
        except CrxError:
            for at in range(min(visit.too_long, default=len(told)), len(told)):
                tell(told[at])
            raise
        await self._again(text, chunks, told, visit.too_long, tell)

    async def _again(
        self,
        text: str,
        chunks: Sequence[Chunk],
        told: Sequence[Context],
        too_long: set[int],
        tell: Tell,
    ) -> None:
        """Tell what is still untold, with less around the chunks whose prompts were too long."""
        first = min(too_long, default=len(told))
        for refused, places in groupby(range(first, len(told)), key=too_long.__contains__):
            run = list(places)
            group = chunks[run[0] : run[-1] + 1]
            if refused and self.window.refuse(
                text, group, prompt=self.prompt, answer_tokens=self.answer_tokens
            ):
                await self.run(group, tell)
            else:
                for at in run:
                    tell(told[at])
