"""Parameters that the URLs of all databases have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from crx.errors import UsageError


def parse_parameters(query: str, *, known: Sequence[str], shown: str) -> dict[str, str]:
    """Return the parameters of the query of a URL; raise `UsageError` for an unknown one.

    `shown` is the URL as it may be shown.
    """
    given = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := sorted(given.keys() - set(known)):
        raise UsageError(
            f"{shown}: no such parameter: {unknown[0]}; the parameters are {', '.join(known)}"
        )
    return given


def parse_timeout(given: Mapping[str, str], *, default_s: float) -> float:
    """Return the parameter `timeout` in seconds; raise `UsageError` if it is not above 0."""
    try:
        seconds = float(given.get("timeout", default_s))
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UsageError(f"timeout={given['timeout']}: not a number of seconds above 0")
    return seconds
