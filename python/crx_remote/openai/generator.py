"""Streamed answers from a server with the chat completions API: `openai:URL#MODEL`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from crx._backends.options import typed_options
from crx._services.destination import Destination
from crx._services.service_usage import ServiceUsage
from crx.config import refuse_offline
from crx_contexts.reasoning import strip_reasoning
from crx_remote.completion import AnswerRequest, Completion, Emit
from crx_remote.errors import (
    INCOMPLETE_RESPONSE,
    INVALID_RESPONSE,
    TransientError,
    refuse_below,
)
from crx_remote.metering import Meter, Price, parse_price
from crx_remote.notices import ignore_notice
from crx_remote.openai.client import OpenAIClient
from crx_remote.openai.completions import UNCOUNTED, add_dollars, parse_usage
from crx_remote.retry import INTERACTIVE_RETRIES, RetryPolicy

_MAX_TOKENS = 2048


class OpenAIGenerator:
    """A generator on the chat completions API at `URL#MODEL`.

    Such servers cache prefixes of prompts by themselves. With a `price`, dollars are counted if the
    server reports tokens. Raises `Offline`, `UsageError` for a malformed address, and `ModelError`
    if the SDK is missing.
    """

    def __init__(
        self,
        address: str,
        *,
        price: Price | None = None,
        max_tokens: int = _MAX_TOKENS,
        retry_policy: RetryPolicy | None = None,
        timeout_s: float = 300.0,
        key: str | None = None,
        scheme: str = "openai",
    ) -> None:
        self._service = OpenAIClient(address, timeout_s=timeout_s, key=key, scheme=scheme)
        self._name = f"{scheme}:{self._service.model}"
        refuse_below(1, max_tokens, what=f"{self._name}:max_tokens")
        self._max_tokens = max_tokens
        self._price = price
        self._retry_policy = retry_policy or INTERACTIVE_RETRIES
        self._on_notice: Callable[[str], None] = ignore_notice
        self._meter = Meter()

    @property
    def fingerprint(self) -> str:
        """Model and parameters; not the address, which does not change the answers."""
        return f"{self._name} max={self._max_tokens}"

    @property
    def usage(self) -> ServiceUsage:
        """The usage so far, as counted by the server."""
        return self._meter.usage

    @property
    def destination(self) -> Destination:
        """The host that prompts are sent to."""
        return self._service.destination

    def notify(self, on_notice: Callable[[str], None]) -> None:
        """Call `on_notice` with the lines of `ServiceNotices`."""
        self._on_notice = on_notice

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the answer as it arrives; raise `ModelError` if it does not complete."""
        refuse_offline(self._service.name)
        request = AnswerRequest(
            send=partial(self._send, prefix + prompt),
            meter=self._meter,
            retry_policy=self._retry_policy,
            service=self._service.name,
            max_tokens=self._max_tokens,
            on_notice=self._on_notice,
        )
        yield from strip_reasoning(request.stream())

    def close(self) -> None:
        """Do nothing: no connection is kept between prompts."""

    async def _send(self, text: str, emit: Emit) -> tuple[Completion, ServiceUsage]:
        reader = _StreamReader()
        async with self._service.client() as client:
            with self._service.translate_errors():
                pieces = await client.chat.completions.create(
                    model=self._service.model,
                    messages=[{"role": "user", "content": text}],
                    stream=True,
                    stream_options={"include_usage": True},
                    extra_body=self._service.parameters(self._max_tokens),
                )
                async for piece in pieces:
                    emit(reader.read(piece))
        if not reader.finish_reason:
            why = INCOMPLETE_RESPONSE if reader.has_begun else INVALID_RESPONSE
            raise TransientError(why, lost=True)
        answer = Completion(
            "",
            finished=reader.finish_reason != "length",
            refused=reader.finish_reason == "content_filter",
        )
        return answer, add_dollars(reader.used, self._price)


class _StreamReader:
    """The finish reason and the usage, collected from the pieces of a stream."""

    def __init__(self) -> None:
        self.has_begun = False
        self.finish_reason = ""
        self.used = UNCOUNTED

    def read(self, piece: Any) -> str:
        """Return the text of a piece; `TransientError` if it is malformed.

        The SDK builds its objects unchecked, so a field may be missing or of another type.
        """
        self.has_begun = True
        try:
            if piece.usage is not None:
                self.used = parse_usage(piece.usage)
            if not piece.choices:
                return ""
            choice = piece.choices[0]
            self.finish_reason = str(choice.finish_reason or self.finish_reason)
            return str(choice.delta.content or "")
        except (AttributeError, TypeError, ValueError):
            raise TransientError(INVALID_RESPONSE, lost=True) from None


# The options of a specification and their types.
OPTIONS: Mapping[str, Callable[[str], Any]] = {"max_tokens": int, "price": parse_price}


def load_generator(rest: str, *, scheme: str = "openai") -> OpenAIGenerator:
    """Return the generator of `openai:REST`, or of another scheme."""
    address, options = typed_options(rest, OPTIONS)
    return OpenAIGenerator(address, scheme=scheme, **options)
