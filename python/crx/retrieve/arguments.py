"""Validation of the arguments of a search, before any index is read."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

import orjson

from crx.retrieve.search import LEGS

# The native core takes counts as 32-bit integers.
MAX_COUNT = 2**31 - 1


def check_query(query: object, *, name: str = "the query") -> None:
    """Raise `ValueError` if a query is not text, is empty, or holds bytes that are not UTF-8."""
    if not isinstance(query, str):
        raise ValueError(f"{name} must be text, not {type(query).__name__}")
    if not query.strip():
        raise ValueError(f"{name} is empty")
    try:
        query.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is not valid UTF-8; check the encoding of its source") from None


def check_search(
    query: object,
    *,
    k: object,
    window: object,
    budget_tokens: object,
    where: object,
    legs: Sequence[object],
) -> None:
    """Raise `ValueError` for the first argument of a search that is not valid.

    None is valid for `k`, `budget_tokens` and `where`, which then have a default.
    """
    check_query(query)
    if k is not None:
        _check_count("k", k, least=1)
    if window not in ("auto", "grow"):
        if isinstance(window, str):
            raise ValueError(f'window must be "auto", "grow" or a number, not {window!r}')
        _check_count("window", window, least=0)
    if budget_tokens is not None:
        if window != "auto":
            raise ValueError(f'budget_tokens needs window="auto", not window={window!r}')
        _check_count("budget_tokens", budget_tokens, least=1)
    if where is not None:
        _check_where(where)
    _check_legs(legs)


def _check_count(name: str, value: object, *, least: int) -> None:
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None
    if count < least:
        raise ValueError(f"{name} must be at least {least}, not {count}")
    if count > MAX_COUNT:
        raise ValueError(f"{name} must be at most {MAX_COUNT}, not {count}")


def _check_where(where: object) -> None:
    if not isinstance(where, Mapping):
        raise ValueError(f"where must map fields to conditions, not {type(where).__name__}")
    try:
        orjson.dumps(where)
    except TypeError as error:
        raise ValueError(f"where holds a value that JSON has no form for: {error}") from None


def _check_legs(legs: Sequence[object]) -> None:
    known = ", ".join(LEGS)
    if isinstance(legs, str) or not legs:
        raise ValueError(f"legs must be a sequence of one or more of {known}, not {legs!r}")
    for leg in legs:
        if leg not in LEGS:
            raise ValueError(f"{leg!r}: no such leg; use {known}")
