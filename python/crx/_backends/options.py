"""Parsing of the options of a specification: `NAME:option=value,option=value`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from crx.errors import ModelError, UsageError


def split_options(spec: str, *, known: AbstractSet[str]) -> tuple[str, dict[str, str]]:
    """Return the name and the options as texts; raise `ModelError` for an unknown option."""
    name, _, tail = spec.rpartition(":")
    if "=" not in tail:
        return spec, {}
    options = {}
    for part in tail.split(","):
        key, _, value = part.partition("=")
        if key not in known:
            raise ModelError(f"{key}: no such option of a model; known: {', '.join(sorted(known))}")
        options[key] = value
    return name, options


def typed_options(
    spec: str, types: Mapping[str, Callable[[str], Any]]
) -> tuple[str, dict[str, Any]]:
    """Return the name and the options, converted to their types.

    Raises `ModelError` for an unknown option and `UsageError` for a value of the wrong type.
    """
    name, texts = split_options(spec, known=set(types))
    values: dict[str, Any] = {}
    for key, text in texts.items():
        try:
            values[key] = types[key](text)
        except ValueError:
            raise UsageError(f"{key}={text}: wants {types[key].__name__}") from None
    return name, values


def refuse_cap(source: str, cap_dollars: float) -> None:
    """Raise `UsageError` if a spending cap is given for a source that costs nothing."""
    if cap_dollars < math.inf:
        raise UsageError(f"{source}: costs no dollars; give the budget as a time, such as 20m")


def token_limit_message(model: str, max_tokens: int) -> str:
    """Return the error message for an answer that ended at its token limit."""
    return (
        f"{model}: stopped after {max_tokens} tokens, before its end; "
        f"allow more, as in {model}:max_tokens={2 * max_tokens}"
    )
