"""Requests to Claude: their bodies, their worst-case cost, and the parsing of their answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crx._services.prompt import Prompt
from crx._services.service_usage import ServiceUsage
from crx.errors import UsageError
from crx.types import Chunk, Document
from crx_remote.claude.catalog import ModelFacts, model_facts
from crx_remote.completion import Completion
from crx_remote.errors import (
    INCOMPLETE_RESPONSE,
    INVALID_RESPONSE,
    TransientError,
    refuse_below,
)
from crx_remote.metering import Price
from crx_remote.remote_requests import TokenLimit

# Tokens that the service adds to a message. A token has at least one byte, so the bytes of a
# text plus these bound its tokens.
_MESSAGE_TOKENS = 64

# The validator accepts 1,000 characters: 250 tokens of English, more in other scripts. Where the
# model thinks, its thoughts count as output too.
_MAX_TOKENS, _MAX_TOKENS_THINKING = 600, 4096


@dataclass(slots=True)
class DocumentPart:
    """A document, or an excerpt of it, and the chunks whose contexts are requested with it.

    `cache_marked`: requests mark the prefix for the service's cache. `cache_warm`: requests may run
    concurrently, because the cache has the prefix or never will. `max_prefix_tokens` bounds the
    tokens before the chunk; the first answer tightens it.
    """

    text: str
    chunks: Sequence[Chunk]
    prefix: str
    cache_marked: bool
    cache_warm: bool = field(init=False)
    max_prefix_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self.cache_warm = not self.cache_marked
        self.max_prefix_tokens = len(self.prefix.encode()) + _MESSAGE_TOKENS

    def tighten_bound(self, used: ServiceUsage) -> None:
        """Lower `max_prefix_tokens` to the tokens that a whole request took."""
        self.max_prefix_tokens = min(self.max_prefix_tokens, used.prompt)


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """The settings that all requests of a run share.

    `hour` keeps cache entries for an hour instead of five minutes; `discount` multiplies all
    prices.
    """

    model: str
    facts: ModelFacts
    price: Price | None
    prompt: Prompt
    max_tokens: int
    effort: str | None
    hour: bool
    discount: float
    token_limit: TokenLimit

    def parts(self, document: Document, chunks: Sequence[Chunk]) -> list[tuple[int, DocumentPart]]:
        """Return (first chunk's position, part) of a document; one part if it fits."""
        if not chunks:
            return []
        excerpts = self.token_limit.parts(
            document, chunks, prompt=self.prompt, answer_tokens=self.max_tokens
        )
        return [
            (excerpt.first, self.part(excerpt.text, chunks[excerpt.first : excerpt.last]))
            for excerpt in excerpts
        ]

    def refuse(self, part: DocumentPart, chunks: Sequence[Chunk]) -> bool:
        """Lower the limit below a part's length; return True if the chunks still fit."""
        return self.token_limit.record_rejection(
            part.text, chunks, prompt=self.prompt, answer_tokens=self.max_tokens
        )

    def part(self, text: str, chunks: Sequence[Chunk]) -> DocumentPart:
        """Prepare a text of a document; mark its prefix for the cache if that can pay.

        A single chunk reads nothing back. An entry that is kept for an hour costs twice its tokens,
        which one more reading does not make up for. The length is estimated at its upper end: a
        mark on a prefix below the cacheable minimum costs nothing, a missing mark is expensive.
        """
        prefix = self.prompt.prefix(text)
        most_tokens = len(prefix.encode()) * self.facts.tokens_per_byte * 1.25
        enough_chunks = len(chunks) > (2 if self.hour else 1)
        return DocumentPart(
            text,
            chunks,
            prefix=prefix,
            cache_marked=enough_chunks and most_tokens >= self.facts.min_cached_tokens,
        )

    def context_body(self, part: DocumentPart, chunk: Chunk, *, firmer: bool) -> dict[str, Any]:
        """Return the body of a request for a context: the document's block before the chunk's.

        Both blocks are in one user message, whatever tags the document holds.
        """
        head: dict[str, Any] = {"type": "text", "text": part.prefix}
        if part.cache_marked:
            head["cache_control"] = {"type": "ephemeral"} | ({"ttl": "1h"} if self.hour else {})
        tail = {"type": "text", "text": self.prompt.suffix(chunk.text, firmer=firmer)}
        return self.body([head, tail])

    def body(self, content: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the body of a request with one user message."""
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": [{"role": "user", "content": list(content)}],
        }
        if self.effort is not None:
            body["output_config"] = {"effort": self.effort}
        if self.facts.thinking == "off":
            body["thinking"] = {"type": "disabled"}
        return body

    def worst_dollars(self, part: DocumentPart, chunk: Chunk) -> float:
        """Return the most that a request can cost; 0 if the price is not known."""
        prefix_tokens = part.max_prefix_tokens
        suffix_tokens = len(self.prompt.suffix(chunk.text, firmer=True).encode())
        most = (
            ServiceUsage(written=prefix_tokens, input=suffix_tokens, output=self.max_tokens)
            if part.cache_marked
            else ServiceUsage(input=prefix_tokens + suffix_tokens, output=self.max_tokens)
        )
        return self.dollars(most) or 0.0

    def worst_text_dollars(self, text: str) -> float:
        """Return the most that a request with a text alone can cost; 0 without a known price."""
        tokens = len(text.encode()) + _MESSAGE_TOKENS
        return self.dollars(ServiceUsage(input=tokens, output=self.max_tokens)) or 0.0

    def parse(self, message: Any) -> tuple[Completion, ServiceUsage]:
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
        """Return the cost of a request, or None if the price is not known."""
        if self.price is None:
            return None
        return self.price.dollars(used, hour=self.hour, discount=self.discount)

    def estimate_usage(self, part: DocumentPart, *, output_tokens: int) -> list[ServiceUsage]:
        """Estimate the usage of each chunk's request from the bytes sent."""
        rate = self.facts.tokens_per_byte
        prefix = math.ceil(len(part.prefix.encode()) * rate)
        cached = part.cache_marked and prefix >= self.facts.min_cached_tokens
        estimates = []
        for at, chunk in enumerate(part.chunks):
            suffix = math.ceil(len(self.prompt.suffix(chunk.text).encode()) * rate)
            estimates.append(
                ServiceUsage(
                    requests=1,
                    input=suffix + (0 if cached else prefix),
                    written=prefix if cached and at == 0 else 0,
                    read=prefix if cached and at > 0 else 0,
                    output=output_tokens,
                )
            )
        return estimates


def request_settings(
    model: str,
    *,
    prompt: Prompt | None,
    price: Price | None,
    effort: str | None = None,
    max_tokens: int | None = None,
    token_limit: int = 0,
    batch: bool = False,
) -> RequestSettings:
    """Return the settings of a run; `UsageError` for a number that is too small or no model."""
    if not model:
        raise UsageError("claude: names no model; write it like claude:claude-haiku-5-5")
    refuse_below(1, max_tokens, what=f"claude:{model}:max_tokens")
    refuse_below(0, token_limit, what=f"claude:{model}:window")
    facts = model_facts(model)
    if max_tokens is None:
        max_tokens = _MAX_TOKENS if facts.thinking == "off" else _MAX_TOKENS_THINKING
    return RequestSettings(
        model=model,
        facts=facts,
        price=price or facts.price,
        prompt=prompt or Prompt.of(),
        max_tokens=max_tokens,
        effort=effort or ("low" if facts.thinking == "always" else None),
        hour=batch,
        discount=0.5 if batch else 1.0,
        token_limit=TokenLimit(token_limit or facts.token_limit, facts.tokens_per_byte),
    )
