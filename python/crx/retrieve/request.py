"""Arguments of a search, checked."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import orjson

from crx import _native
from crx.errors import UsageError
from crx.retrieve.operators import (
    MATCHES,
    Match,
    QueryPattern,
    QueryWords,
    parse_pattern,
    parse_words,
)
from crx.types import LEGS, Leg, Window

_Condition: TypeAlias = (
    str | int | float | bool | Sequence[str | int | float | bool] | Mapping[str, object]
)
Where: TypeAlias = Mapping[str, _Condition]

# The native core takes counts as 32-bit integers.
_MAX_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The arguments of `Index.search`; raises `ValueError` for the first that is not valid.

    None stands for the setting of that name. `rerank` is whether to rerank; None reranks a search
    of both legs if the setting `reranker` is not empty. `without` names rules that the search
    leaves out, as `crx search --without`. By file, `k` is a number of files: the hits are the best
    of as many.
    """

    query: str
    k: int | None = None
    window: Window = "auto"
    budget_tokens: int | None = None
    where: Where | None = None
    legs: Sequence[Leg] = LEGS
    within_section: bool = False
    by: Literal["passage", "file"] = "passage"
    order: Literal["score", "document"] = "score"
    rerank: bool | None = None
    match: Match = "words"
    without: Collection[str] = ()

    def __post_init__(self) -> None:
        check_query(self.query)
        if self.match not in MATCHES:
            raise ValueError(f"match must be one of {', '.join(MATCHES)}, not {self.match!r}")
        words = QueryWords(self.query) if self.pattern else parse_words(self.query)
        if not words.text.strip():
            raise ValueError(
                f"the query {self.query.strip()} only excludes words; add one to search for, or "
                "put it in quotes"
            )
        if self.k is not None:
            _check_count("k", self.k, least=1)
        if self.window not in ("auto", "grow"):
            if isinstance(self.window, str):
                raise ValueError(f'window must be "auto", "grow" or a number, not {self.window!r}')
            _check_count("window", self.window, least=0)
        if self.budget_tokens is not None:
            if self.window != "auto":
                raise ValueError(f'budget_tokens needs window="auto", not window={self.window!r}')
            _check_count("budget_tokens", self.budget_tokens, least=1)
        if self.where is not None:
            object.__setattr__(self, "where", mend_filter(self.where))
        _check_legs(self.legs)

    @property
    def pattern(self) -> QueryPattern | None:
        """The pattern that the query is; None if it consists of words."""
        return parse_pattern(self.query, match=self.match)


def refuse_threshold(min_relevance: float) -> None:
    """Raise `UsageError` for a threshold of a search that is not reranked."""
    if min_relevance:
        raise UsageError(
            f"rank.rerank.min_relevance is {min_relevance:g}, and only a reranker's scores have a "
            "threshold; set reranker, or leave it out"
        )


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


def _check_count(name: str, value: object, *, least: int) -> None:
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None
    if count < least:
        raise ValueError(f"{name} must be at least {least}, not {count}")
    if count > _MAX_COUNT:
        raise ValueError(f"{name} must be at most {_MAX_COUNT}, not {count}")


def mend_filter(where: object) -> Where:
    """Return a filter with its values as documents have them; raises `ValueError`."""
    if not isinstance(where, Mapping):
        raise ValueError(f"where must map fields to conditions, not {type(where).__name__}")
    try:
        mended: Where = orjson.loads(_native.mend_filter(orjson.dumps(where).decode()))
    except TypeError as error:
        raise ValueError(f"where holds a value that JSON has no form for: {error}") from None
    return mended


def _check_legs(legs: Sequence[object]) -> None:
    known = ", ".join(LEGS)
    if isinstance(legs, str) or not legs:
        raise ValueError(f"legs must be a sequence of one or more of {known}, not {legs!r}")
    for leg in legs:
        if leg not in LEGS:
            raise ValueError(f"{leg!r}: no such leg; use {known}")
