"""`claude:MODEL`: answers from Claude, as they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from crx.backends.claude.client import ClaudeClient
from crx.backends.claude.requests import terms_of
from crx.backends.options import typed_options
from crx.config import refuse_offline
from crx.remote.answer_request import AnswerRequest, Emit
from crx.remote.completion import Completion
from crx.remote.errors import INCOMPLETE_RESPONSE, TransientError
from crx.remote.metering import Meter, Price, ServiceUsage, parse_price
from crx.remote.retry import RetryPolicy
from crx.remote.stream import stream

DEFAULT = "claude-sonnet-5-5"

# Where the model thinks, its thoughts count as output too.
_MAX_TOKENS, _MAX_TOKENS_THINKING = 2048, 8192


class ClaudeGenerator:
    """A generator on the Messages API. A prefix is marked for the service's cache.

    `price` replaces the price that is known of the model. Raises `Offline`, `UsageError` for no
    tokens at all, and `ModelError` where the SDK or the key is missing.
    """

    def __init__(
        self,
        model: str = DEFAULT,
        *,
        price: Price | None = None,
        effort: str | None = None,
        max_tokens: int | None = None,
        retry_policy: RetryPolicy | None = None,
        timeout_s: float = 120.0,
        key: str | None = None,
        url: str | None = None,
    ) -> None:
        terms = partial(terms_of, model, prompt=None, price=price, effort=effort)
        if max_tokens is None:
            silent = terms().known.thinking == "off"
            max_tokens = _MAX_TOKENS if silent else _MAX_TOKENS_THINKING
        self._terms = terms(max_tokens=max_tokens)
        self._service = ClaudeClient(model, timeout_s=timeout_s, key=key, url=url)
        self._retry_policy = retry_policy or RetryPolicy()
        self._meter = Meter()

    @property
    def fingerprint(self) -> str:
        """Model and parameters."""
        effort = f" effort={self._terms.effort}" if self._terms.effort else ""
        return f"{self._service.name} max={self._terms.max_tokens}{effort}"

    @property
    def usage(self) -> ServiceUsage:
        """What was used so far."""
        return self._meter.usage

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the answer as it is written; raises `ModelError` where it has no end."""
        refuse_offline(self._service.name)
        request = AnswerRequest(
            send=partial(self._send, self._terms.body(_content(prefix, prompt))),
            meter=self._meter,
            retry_policy=self._retry_policy,
            service=self._service.name,
            max_tokens=self._terms.max_tokens,
        )
        yield from stream(request.run)

    def close(self) -> None:
        """Nothing is held between prompts."""

    async def _send(self, body: dict[str, Any], emit: Emit) -> tuple[Completion, ServiceUsage]:
        async with self._service.client() as client:
            with self._service.translate_errors():
                async with client.messages.stream(**body) as pieces:
                    async for piece in pieces.text_stream:
                        emit(piece)
                    try:
                        message = await pieces.get_final_message()
                    except AssertionError:  # the SDK's word for a stream of nothing
                        raise TransientError(INCOMPLETE_RESPONSE, lost=True) from None
        return self._terms.read(message)


def _content(prefix: str, prompt: str) -> list[dict[str, Any]]:
    asked = {"type": "text", "text": prompt}
    if not prefix:
        return [asked]
    kept = {"type": "text", "text": prefix, "cache_control": {"type": "ephemeral"}}
    return [kept, asked]


def load_generator(rest: str) -> ClaudeGenerator:
    """Return the generator of `claude:REST`; without a model, `DEFAULT`."""
    types: dict[str, Callable[[str], Any]] = {
        "effort": str,
        "max_tokens": int,
        "price": parse_price,
    }
    model, options = typed_options(rest, types)
    return ClaudeGenerator(model or DEFAULT, **options)
