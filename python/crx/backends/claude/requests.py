"""What a request to Claude looks like, what it can cost at most, and what its answer says."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crx.backends.claude.catalog import ModelFacts, known
from crx.context.prompt import Prompt
from crx.context.text_window import Window
from crx.context.validate import ContextValidator
from crx.errors import UsageError
from crx.remote.completion import Completion
from crx.remote.errors import INCOMPLETE_RESPONSE, INVALID_RESPONSE, TransientError, refuse_below
from crx.remote.metering import Price, ServiceUsage
from crx.types import Chunk, Document

# Tokens around the words of a message. A token holds at least one byte, so that a text's bytes
# and these are more than its tokens can be.
_AROUND = 64

# The validator lets 1,000 characters pass: 250 tokens of English, more of other scripts. Where the
# model thinks, its thoughts count as output too.
_MAX_TOKENS, _MAX_TOKENS_THINKING = 600, 4096


@dataclass(slots=True)
class Job:
    """A text of one document, the whole or a part, and the chunks that want a context from it.

    `warm`: requests may go side by side, since the cache has the prefix or never will. `at_most`
    bounds the tokens of what comes before the chunk; the first answer tightens it. `digest` is that
    of the whole document.
    """

    document: Document
    text: str
    chunks: Sequence[Chunk]
    validator: ContextValidator
    prefix: str
    marked: bool
    warm: bool = field(init=False)
    at_most: int = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        whole = self.document.text.encode("utf-8", "surrogatepass")
        self.digest = hashlib.sha256(whole).hexdigest()
        self.warm = not self.marked
        self.at_most = len(self.prefix.encode()) + _AROUND

    def learn(self, used: ServiceUsage) -> None:
        """Note what an answer says of the prefix's length."""
        self.at_most = min(self.at_most, used.prompt)


@dataclass(frozen=True, slots=True)
class Terms:
    """Everything that is the same for all requests of a run.

    `hour` keeps what is written to the cache for an hour instead of five minutes; `discount`
    multiplies all prices.
    """

    model: str
    known: ModelFacts
    price: Price | None
    prompt: Prompt
    max_tokens: int
    effort: str | None
    hour: bool
    discount: float
    window: Window

    def jobs(self, document: Document, chunks: Sequence[Chunk]) -> list[tuple[int, Job]]:
        """Return (first chunk's position, job) of a document's parts: one where it fits whole."""
        if not chunks:
            return []
        parts = self.window.parts(
            document, chunks, prompt=self.prompt, answer_tokens=self.max_tokens
        )
        return [
            (part.first, self.job(document, chunks[part.first : part.last], text=part.text))
            for part in parts
        ]

    def refuse(self, job: Job, chunks: Sequence[Chunk]) -> bool:
        """Note that a job's prompts were too long; can shorter ones hold the chunks?"""
        return self.window.record_rejection(
            job.text, chunks, prompt=self.prompt, answer_tokens=self.max_tokens
        )

    def job(self, document: Document, chunks: Sequence[Chunk], *, text: str) -> Job:
        """Prepare a text of a document. Its prefix is marked for the cache where that can pay.

        One chunk alone reads nothing back; what is kept for an hour costs twice its tokens, which
        one more reading does not make good. The length is taken at its longest: a mark on a prefix
        that turns out too short does nothing and costs nothing, a mark left out costs dearly.
        """
        prefix = self.prompt.prefix(text)
        longest = len(prefix.encode()) * self.known.tokens_per_byte * 1.25
        return Job(
            document,
            text,
            chunks,
            validator=ContextValidator(document, glossary=self.prompt.glossary),
            prefix=prefix,
            marked=len(chunks) > (2 if self.hour else 1) and longest >= self.known.least_cached,
        )

    def params(self, job: Job, chunk: Chunk, *, firmer: bool) -> dict[str, Any]:
        """Return the body of a request: one user message, the document's block before the chunk's.

        Whatever tags a document holds, it stays within this one message.
        """
        head: dict[str, Any] = {"type": "text", "text": job.prefix}
        if job.marked:
            head["cache_control"] = {"type": "ephemeral"} | ({"ttl": "1h"} if self.hour else {})
        tail = {"type": "text", "text": self.prompt.suffix(chunk.text, firmer=firmer)}
        return self.body([head, tail])

    def body(self, content: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the body of a request of one user message."""
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": [{"role": "user", "content": list(content)}],
        }
        if self.effort is not None:
            body["output_config"] = {"effort": self.effort}
        if self.known.thinking == "off":
            body["thinking"] = {"type": "disabled"}
        return body

    def worst_dollars(self, job: Job, chunk: Chunk) -> float:
        """Return what a request can cost at most; 0 where the price is not known."""
        suffix = len(self.prompt.suffix(chunk.text, firmer=True).encode())
        most = (
            ServiceUsage(written=job.at_most, input=suffix, output=self.max_tokens)
            if job.marked
            else ServiceUsage(input=job.at_most + suffix, output=self.max_tokens)
        )
        return self.dollars(most) or 0.0

    def read(self, message: Any) -> tuple[Completion, ServiceUsage]:
        """Return a message's answer and usage; `TransientError` if it is malformed or incomplete.

        The SDK builds its objects unchecked, so a field may be missing or of another type.
        """
        try:
            text = "".join(block.text for block in message.content if block.type == "text")
            answer = Completion(
                text,
                finished=message.stop_reason != "max_tokens",
                refused=message.stop_reason == "refusal",
            )
            counts = message.usage
            used = ServiceUsage(
                requests=1,
                input=int(counts.input_tokens),
                written=int(counts.cache_creation_input_tokens or 0),
                read=int(counts.cache_read_input_tokens or 0),
                output=int(counts.output_tokens),
            )
        except (AttributeError, TypeError, ValueError):
            raise TransientError(INVALID_RESPONSE, lost=True) from None
        if message.stop_reason is None:
            raise TransientError(INCOMPLETE_RESPONSE, lost=True)
        return answer, self.priced(used)

    def priced(self, used: ServiceUsage) -> ServiceUsage:
        """Return a request's usage with its dollars."""
        return replace(used, dollars=self.dollars(used))

    def dollars(self, used: ServiceUsage) -> float | None:
        """Return what a request costs, or None where the price is not known."""
        if self.price is None:
            return None
        return self.price.dollars(used, hour=self.hour, discount=self.discount)

    def guess(self, job: Job, *, output_tokens: int) -> list[ServiceUsage]:
        """Return about what each chunk's request will use, by the bytes sent."""
        rate = self.known.tokens_per_byte
        prefix = math.ceil(len(job.prefix.encode()) * rate)
        cached = job.marked and prefix >= self.known.least_cached
        guesses = []
        for at, chunk in enumerate(job.chunks):
            suffix = math.ceil(len(self.prompt.suffix(chunk.text).encode()) * rate)
            guesses.append(
                ServiceUsage(
                    requests=1,
                    input=suffix + (0 if cached else prefix),
                    written=prefix if cached and at == 0 else 0,
                    read=prefix if cached and at > 0 else 0,
                    output=output_tokens,
                )
            )
        return guesses


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
