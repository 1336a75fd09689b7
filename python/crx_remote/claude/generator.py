"""Streamed answers from Claude: `claude:MODEL`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from crx._backends.options import typed_options
from crx._services.destination import Destination
from crx._services.service_usage import ServiceUsage
from crx.config import refuse_offline
from crx_remote.claude.catalog import model_facts
from crx_remote.claude.client import ClaudeClient
from crx_remote.claude.requests import request_settings
from crx_remote.completion import AnswerRequest, Completion, Emit
from crx_remote.errors import INCOMPLETE_RESPONSE, TransientError
from crx_remote.metering import Meter, Price, parse_price
from crx_remote.notices import ignore_notice
from crx_remote.retry import INTERACTIVE_RETRIES, RetryPolicy

DEFAULT = "claude-sonnet-5-5"

# Where the model thinks, its thoughts count as output too.
_MAX_TOKENS, _MAX_TOKENS_THINKING = 2048, 8192


class ClaudeGenerator:
    """A generator on the Messages API. A prefix is marked for the service's cache.

    `price` replaces the known price of the model. Raises `Offline`, `UsageError` if `max_tokens`
    is below 1, and `ModelError` if the SDK or the key is missing.
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
        if max_tokens is None:
            silent = model_facts(model).thinking == "off"
            max_tokens = _MAX_TOKENS if silent else _MAX_TOKENS_THINKING
        self._settings = request_settings(
            model, prompt=None, price=price, effort=effort, max_tokens=max_tokens
        )
        self._service = ClaudeClient(model, timeout_s=timeout_s, key=key, url=url)
        self._retry_policy = retry_policy or INTERACTIVE_RETRIES
        self._on_notice: Callable[[str], None] = ignore_notice
        self._meter = Meter()

    @property
    def fingerprint(self) -> str:
        """Model and parameters."""
        effort = f" effort={self._settings.effort}" if self._settings.effort else ""
        return f"{self._service.name} max={self._settings.max_tokens}{effort}"

    @property
    def usage(self) -> ServiceUsage:
        """The usage so far."""
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
            send=partial(self._send, self._settings.body(_content(prefix, prompt))),
            meter=self._meter,
            retry_policy=self._retry_policy,
            service=self._service.name,
            max_tokens=self._settings.max_tokens,
            on_notice=self._on_notice,
        )
        yield from request.stream()

    def close(self) -> None:
        """Do nothing: no connection is kept between prompts."""

    async def _send(self, body: dict[str, Any], emit: Emit) -> tuple[Completion, ServiceUsage]:
        async with self._service.client() as client:
            with self._service.translate_errors():
                async with client.messages.stream(**body) as pieces:
                    async for piece in pieces.text_stream:
                        emit(piece)
                    try:
                        message = await pieces.get_final_message()
                    except AssertionError:  # what the SDK raises for an empty stream
                        raise TransientError(INCOMPLETE_RESPONSE, lost=True) from None
        return self._settings.parse(message)


def _content(prefix: str, prompt: str) -> list[dict[str, Any]]:
    question = {"type": "text", "text": prompt}
    if not prefix:
        return [question]
    cached = {"type": "text", "text": prefix, "cache_control": {"type": "ephemeral"}}
    return [cached, question]


def load_generator(rest: str) -> ClaudeGenerator:
    """Return the generator of `claude:REST`; without a model, that of `DEFAULT`."""
    types: dict[str, Callable[[str], Any]] = {
        "effort": str,
        "max_tokens": int,
        "price": parse_price,
    }
    model, options = typed_options(rest, types)
    return ClaudeGenerator(model or DEFAULT, **options)
