"""Contexts from a server with the chat completions API: `openai:URL#MODEL`.

llama-server, vLLM, Ollama, DeepSeek and others. Such servers cache prefixes of prompts by
themselves, so a document's first chunk is requested alone and the others reuse its prefix.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from crx.backends.openai.client import OpenAIClient
from crx.backends.options import typed_options
from crx.config import refuse_offline
from crx.context.chunk_requests import ChunkRequests, validate_completion
from crx.context.excerpts import Excerpt
from crx.context.line_counts import LineCounts
from crx.context.prompt import Prompt
from crx.context.text_window import DocumentRequests, Window
from crx.context.validate import ContextValidator
from crx.context.window_prompt import WindowPrompt, read_form
from crx.context.window_requests import WindowRequests, estimate_windows
from crx.errors import UsageError
from crx.remote.completion import Completion
from crx.remote.destination import Destination
from crx.remote.errors import INVALID_RESPONSE, TransientError, refuse_below
from crx.remote.metering import Estimate, Meter, Price, ServiceUsage, parse_price
from crx.remote.retry import CircuitBreaker, RetryPolicy
from crx.remote.stream import stream
from crx.types import Chunk, Context, Document

# The validator accepts 1,000 characters: 250 tokens of English, more in other scripts.
_MAX_TOKENS = 600
_USUAL_TOKENS = 90
_TOKENS_PER_BYTE = 1 / 3.5

# The usage of a request to a server that returns no token counts.
UNCOUNTED = ServiceUsage(requests=1, dollars=None)


class OpenAI:
    """A contextualizer on the chat completions API at `URL#MODEL`.

    `extra` fields are added to every request (`{"chat_template_kwargs": ...}`). With a `price`,
    dollars are counted and `cap_dollars` is never exceeded: `situate` raises `BudgetSpent` after
    the contexts that were paid for. `window` is the number of tokens that the server accepts;
    longer documents are sent in excerpts. 0 sends whole documents until the server refuses one; a
    server that truncates prompts silently (Ollama) needs the option. `form` "window" asks for the
    lines of about six chunks at a time behind a digest (`crx.context.window_prompt`), "document"
    for one context a request behind the document. The key for a host other than api.openai.com and
    api.deepseek.com is read from CRX_OPENAI_API_KEY.

    Raises `Offline`, `UsageError` for a malformed address, a number that is too small or a cap
    without a price, and `ModelError` if the SDK is missing.
    """

    def __init__(
        self,
        address: str,
        *,
        prompt: Prompt | None = None,
        cap_dollars: float = math.inf,
        price: Price | None = None,
        width: int = 4,
        max_tokens: int = _MAX_TOKENS,
        window: int = 0,
        form: str = "document",
        extra: Mapping[str, Any] | None = None,
        retry_policy: RetryPolicy | None = None,
        timeout_s: float = 300.0,
        key: str | None = None,
    ) -> None:
        service = OpenAIClient(address, timeout_s=timeout_s, key=key)
        if price is None and cap_dollars < math.inf:
            raise UsageError(
                f"openai:{service.model}: its price is not known, so no budget can be kept"
            )
        refuse_below(1, width, what=f"openai:{service.model}:width")
        refuse_below(1, max_tokens, what=f"openai:{service.model}:max_tokens")
        refuse_below(0, window, what=f"openai:{service.model}:window")
        self._service = service
        self._prompt = prompt or Prompt.of()
        self._price = price
        self._width = width
        self._line_counts = LineCounts()
        self._max_tokens = max_tokens
        self._window_prompt = read_form(form, self._prompt, source=f"openai:{service.model}")
        self._window_tokens = window
        self._window = Window(window or math.inf, _TOKENS_PER_BYTE)
        self._parameters = service.parameters(max_tokens) | dict(extra or {})
        self._retry_policy = retry_policy or RetryPolicy()
        self._meter = Meter(cap_dollars=cap_dollars)
        self._circuit_breaker = CircuitBreaker(self._service.name)

    @property
    def fingerprint(self) -> str:
        """Model, prompt and parameters; not the address, which does not change the answers."""
        parameters = json.dumps(self._parameters, sort_keys=True)
        window = f" window={self._window_tokens}" if self._window_tokens else ""
        windows = self._window_prompt
        prompt = f"window:{windows.hash}" if windows else self._prompt.hash
        return f"openai:{self._service.model} prompt={prompt} {parameters}{window}"

    @property
    def usage(self) -> ServiceUsage:
        """The usage so far, over all documents, as counted by the server."""
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
        refuse_offline(self._service.name)
        if self._window_prompt:
            yield from self._window_requests(self._window_prompt).situate(document, chunks)
            return
        yield from stream(partial(self._situate, document, chunks))

    def with_prompt(self, prompt: Prompt) -> OpenAI:
        """Return a contextualizer with another prompt that shares the meter and its cap."""
        other = copy.copy(self)
        other._prompt = prompt
        if self._window_prompt:
            source = f"openai:{self._service.model}"
            other._window_prompt = WindowPrompt.beside(prompt, source=source)
        return other

    def estimate_cost(self, documents: Iterable[tuple[Document, Sequence[Chunk]]]) -> Estimate:
        """Estimate tokens and dollars from the lengths of the texts, without a request.

        Assumes that the server caches prefixes.
        """
        if self._window_prompt:
            return estimate_windows(
                self._window_prompt,
                documents,
                tokens_per_byte=_TOKENS_PER_BYTE,
                priced=self._priced,
            )
        cached, uncached, count = ServiceUsage(), ServiceUsage(), 0
        for document, chunks in documents:
            count += 1
            for part in self._parts(document, chunks):
                prefix = _estimate_tokens(self._prompt.prefix(part.text))
                for at in range(part.first, part.last):
                    suffix = _estimate_tokens(self._prompt.suffix(chunks[at].text))
                    warm = ServiceUsage(1, input=suffix, read=prefix, output=_USUAL_TOKENS)
                    cold = ServiceUsage(1, input=suffix + prefix, output=_USUAL_TOKENS)
                    cached += self._priced(warm if at > part.first else cold)
                    uncached += self._priced(cold)
        known = self._price is not None
        return Estimate(
            documents=count,
            chunks=cached.requests,
            usage=cached,
            dollars=cached.dollars if known else None,
            dollars_batch=None,
            dollars_uncached=uncached.dollars if known else None,
        )

    async def _situate(
        self, document: Document, chunks: Sequence[Chunk], emit: Callable[[Context], None]
    ) -> None:
        validator = ContextValidator(document, prompt=self._prompt)
        async with self._service.client() as client:

            def chunk_requests(text: str, group: Sequence[Chunk]) -> ChunkRequests[Chunk]:
                prefix = self._prompt.prefix(text)
                return ChunkRequests(
                    group,
                    validate=partial(validate_completion, validator),
                    send=partial(self._send, client, prefix),
                    worst_dollars=partial(self._worst_dollars, prefix),
                    meter=self._meter,
                    retry_policy=self._retry_policy,
                    circuit_breaker=self._circuit_breaker,
                    width=self._width,
                    warm_first=len(group) > 1,
                )

            requests = DocumentRequests(
                document, self._window, self._prompt, self._max_tokens, chunk_requests
            )
            await requests.run(chunks, emit)

    async def _send(
        self,
        client: Any,
        prefix: str,
        chunk: Chunk,
        firmer: bool,  # noqa: FBT001
    ) -> tuple[Completion, ServiceUsage]:
        return await self._send_text(
            client, prefix + self._prompt.suffix(chunk.text, firmer=firmer)
        )

    async def _send_text(self, client: Any, text: str) -> tuple[Completion, ServiceUsage]:
        with self._service.translate_errors():
            completion = await client.chat.completions.create(
                model=self._service.model,
                messages=[{"role": "user", "content": text}],
                extra_body=self._parameters,
            )
        answer, used = _parse(completion)
        return answer, self._priced(used)

    def _window_requests(self, prompt: WindowPrompt) -> WindowRequests:
        return WindowRequests(
            prompt,
            connect=self._service.client,
            send=self._send_text,
            worst_dollars=self._worst_text_dollars,
            tokens_per_byte=_TOKENS_PER_BYTE,
            meter=self._meter,
            retry_policy=self._retry_policy,
            circuit_breaker=self._circuit_breaker,
            width=self._width,
            counts=self._line_counts,
        )

    def _parts(self, document: Document, chunks: Sequence[Chunk]) -> list[Excerpt]:
        if not chunks:
            return []
        return self._window.parts(
            document, chunks, prompt=self._prompt, answer_tokens=self._max_tokens
        )

    def _worst_dollars(self, prefix: str, chunk: Chunk) -> float:
        return self._worst_text_dollars(prefix + self._prompt.suffix(chunk.text, firmer=True))

    def _worst_text_dollars(self, text: str) -> float:
        # A token holds at least one byte; 64 for what the server adds to the prompt.
        most = ServiceUsage(input=len(text.encode()) + 64, output=self._max_tokens)
        return self._priced(most).dollars or 0.0

    def _priced(self, used: ServiceUsage) -> ServiceUsage:
        return add_dollars(used, self._price)


def _parse(completion: Any) -> tuple[Completion, ServiceUsage]:
    """Return a completion's answer and usage; `TransientError` if it is malformed.

    The SDK builds its objects unchecked, so a field may be missing or of another type.
    """
    try:
        choice = completion.choices[0]
        answer = Completion(
            str(choice.message.content or ""),
            finished=choice.finish_reason != "length",
            refused=choice.finish_reason == "content_filter" or bool(choice.message.refusal),
        )
        return answer, parse_usage(completion.usage)
    except (AttributeError, IndexError, TypeError, ValueError):
        raise TransientError(INVALID_RESPONSE, lost=True) from None


def parse_usage(counts: Any) -> ServiceUsage:
    """Return the usage that the server reports; `UNCOUNTED` if it reports none."""
    if counts is None:
        return UNCOUNTED
    details = counts.prompt_tokens_details
    read = getattr(details, "cached_tokens", None)
    if read is None:
        read = getattr(counts, "prompt_cache_hit_tokens", None)  # DeepSeek's name for it
    read = min(int(read or 0), int(counts.prompt_tokens))
    return ServiceUsage(
        requests=1,
        input=int(counts.prompt_tokens) - read,
        read=read,
        output=int(counts.completion_tokens),
    )


def add_dollars(used: ServiceUsage, price: Price | None) -> ServiceUsage:
    """Return the usage with its cost, None if the price or the counts are not known."""
    if price is None or used == UNCOUNTED:
        return replace(used, dollars=None)
    return replace(used, dollars=price.dollars(used))


def _estimate_tokens(text: str) -> int:
    return math.ceil(len(text.encode()) * _TOKENS_PER_BYTE)


def load_contextualizer(rest: str, *, prompt: Prompt | None, cap_dollars: float) -> OpenAI:
    """Return the contextualizer of `openai:REST`."""
    types: dict[str, Callable[[str], Any]] = {
        "width": int,
        "window": int,
        "max_tokens": int,
        "price": parse_price,
        "prompt": str,
    }
    address, options = typed_options(rest, types)
    form = options.pop("prompt", "document")
    return OpenAI(address, prompt=prompt, cap_dollars=cap_dollars, form=form, **options)
