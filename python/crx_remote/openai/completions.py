"""Parsing of chat completions: the answer, the tokens and their cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crx._services.service_usage import ServiceUsage
from crx_remote.completion import Completion
from crx_remote.errors import INVALID_RESPONSE, TransientError
from crx_remote.metering import Price

# The usage of a request to a server that returns no token counts.
UNCOUNTED = ServiceUsage(requests=1, dollars=None)


def parse_completion(completion: Any) -> tuple[Completion, ServiceUsage]:
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
