"""Contexts from a server with the chat completions API: `openai:URL#MODEL`.

llama-server, vLLM, Ollama, DeepSeek and others. Such servers cache prefixes of prompts by
themselves.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from crx._backends.options import typed_options
from crx._services.prompt import Prompt
from crx._services.service_usage import Estimate, ServiceUsage
from crx.types import Chunk, Document
from crx_contexts.chunk_groups import GroupPrompt
from crx_contexts.excerpts import Excerpt
from crx_remote.errors import refuse_below
from crx_remote.metering import Price, parse_price
from crx_remote.openai.client import OpenAIClient
from crx_remote.openai.completions import add_dollars, parse_completion
from crx_remote.remote_contextualizer import PartRequests, RemoteContextualizer, Reply
from crx_remote.remote_requests import TokenLimit, estimate_groups

# The validator accepts 1,000 characters: 250 tokens of English, more in other scripts.
_MAX_TOKENS = 600
_USUAL_TOKENS = 90
_TOKENS_PER_BYTE = 1 / 3.5
_WIDTH = 4


class OpenAIContexts:
    """The requests for contexts to the model of `URL#MODEL`.

    `extra` fields are added to every request (`{"chat_template_kwargs": ...}`). `token_limit` is
    the number that the server accepts; longer documents are sent in excerpts. 0 sends whole
    documents until the server refuses one; a server that truncates prompts silently (Ollama) needs
    the option. The key for a host other than api.openai.com and api.deepseek.com is read from
    CRX_OPENAI_API_KEY.

    Raises `Offline`, `UsageError` for a malformed address or a number that is too small, and
    `ModelError` if the SDK is missing.
    """

    def __init__(
        self,
        address: str,
        *,
        prompt: Prompt | None = None,
        price: Price | None = None,
        max_tokens: int = _MAX_TOKENS,
        token_limit: int = 0,
        extra: Mapping[str, Any] | None = None,
        timeout_s: float = 300.0,
        key: str | None = None,
        scheme: str = "openai",
    ) -> None:
        self.service = OpenAIClient(address, timeout_s=timeout_s, key=key, scheme=scheme)
        self.name = f"{scheme}:{self.service.model}"
        refuse_below(1, max_tokens, what=f"{self.name}:max_tokens")
        refuse_below(0, token_limit, what=f"{self.name}:window")
        self.prompt = prompt or Prompt.of()
        self.price = price
        self.max_tokens = max_tokens
        self.token_limit = TokenLimit(token_limit or math.inf, _TOKENS_PER_BYTE)
        self._parameters = self.service.parameters(max_tokens) | dict(extra or {})

    def with_prompt(self, prompt: Prompt) -> OpenAIContexts:
        """Return a client with another prompt."""
        other = copy.copy(self)
        other.prompt = prompt
        return other

    def fingerprint(self, prompt_hash: str) -> str:
        """Return model, prompt and parameters."""
        parameters = json.dumps(self._parameters, sort_keys=True)
        limit = "" if math.isinf(tokens := self.token_limit.tokens) else f" window={tokens}"
        return f"{self.name} prompt={prompt_hash} {parameters}{limit}"

    def part_requests(self, text: str, chunks: Sequence[Chunk]) -> PartRequests:
        """Prepare the requests for some chunks behind a text of their document."""
        prefix = self.prompt.prefix(text)
        return PartRequests(
            partial(self._send_chunk, prefix),
            lambda chunk: self.worst_dollars(prefix + self.prompt.suffix(chunk.text, firmer=True)),
            warm_first=len(chunks) > 1,
        )

    async def send(self, connection: Any, text: str) -> Reply:
        """Send a text as one user message."""
        with self.service.translate_errors():
            completion = await connection.chat.completions.create(
                model=self.service.model,
                messages=[{"role": "user", "content": text}],
                extra_body=self._parameters,
            )
        answer, used = parse_completion(completion)
        return answer, self._priced(used)

    def worst_dollars(self, text: str) -> float:
        """Return the most that a request can cost; 0 if the price is not known."""
        # A token has at least one byte; 64 for what the server adds to the prompt.
        most = ServiceUsage(input=len(text.encode()) + 64, output=self.max_tokens)
        return self._priced(most).dollars or 0.0

    def estimate_cost(
        self,
        documents: Iterable[tuple[Document, Sequence[Chunk]]],
        group_prompt: GroupPrompt | None,
    ) -> Estimate:
        """Estimate tokens and dollars, on the assumption that the server caches prefixes."""
        if group_prompt:
            return estimate_groups(
                group_prompt,
                documents,
                tokens_per_byte=_TOKENS_PER_BYTE,
                priced=self._priced,
            )
        cached, uncached, count = ServiceUsage(), ServiceUsage(), 0
        for document, chunks in documents:
            count += 1
            for part in self._parts(document, chunks):
                prefix = _estimate_tokens(self.prompt.prefix(part.text))
                for at in range(part.first, part.last):
                    suffix = _estimate_tokens(self.prompt.suffix(chunks[at].text))
                    warm = ServiceUsage(1, input=suffix, read=prefix, output=_USUAL_TOKENS)
                    cold = ServiceUsage(1, input=suffix + prefix, output=_USUAL_TOKENS)
                    cached += self._priced(warm if at > part.first else cold)
                    uncached += self._priced(cold)
        known = self.price is not None
        return Estimate(
            documents=count,
            chunks=cached.requests,
            usage=cached,
            dollars=cached.dollars if known else None,
            dollars_batch=None,
            dollars_uncached=uncached.dollars if known else None,
        )

    async def _send_chunk(
        self,
        prefix: str,
        connection: Any,
        chunk: Chunk,
        firmer: bool,  # noqa: FBT001
    ) -> Reply:
        return await self.send(connection, prefix + self.prompt.suffix(chunk.text, firmer=firmer))

    def _parts(self, document: Document, chunks: Sequence[Chunk]) -> list[Excerpt]:
        if not chunks:
            return []
        return self.token_limit.parts(
            document, chunks, prompt=self.prompt, answer_tokens=self.max_tokens
        )

    def _priced(self, used: ServiceUsage) -> ServiceUsage:
        return add_dollars(used, self.price)


def _estimate_tokens(text: str) -> int:
    return math.ceil(len(text.encode()) * _TOKENS_PER_BYTE)


# The options of a specification and their types.
OPTIONS: Mapping[str, Callable[[str], Any]] = {
    "width": int,
    "window": int,
    "max_tokens": int,
    "price": parse_price,
    "prompt": str,
}


def load_contextualizer(
    rest: str, *, prompt: Prompt | None, cap_dollars: float, scheme: str = "openai"
) -> RemoteContextualizer[OpenAIContexts]:
    """Return the contextualizer of `openai:REST`, or of another scheme."""
    address, options = typed_options(rest, OPTIONS)
    width, form = options.pop("width", _WIDTH), options.pop("prompt", "document")
    token_limit = options.pop("window", 0)
    client = OpenAIContexts(
        address, prompt=prompt, token_limit=token_limit, scheme=scheme, **options
    )
    return RemoteContextualizer(client, width=width, form=form, cap_dollars=cap_dollars)
