"""What follows a plug's name in a specification: `NAME:option=value,option=value`."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from crx.errors import ModelError


def split_options(spec: str, *, known: AbstractSet[str]) -> tuple[str, dict[str, str]]:
    """Return the name and the options; `ModelError` for an option that is not known."""
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
