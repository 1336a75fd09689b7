"""One search: its arguments, and its answer from one committed state of an index."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import orjson

from crx.errors import UsageError
from crx.retrieve.filter_fields import describe_missing_fields, describe_unmet_filter
from crx.retrieve.query_vectors import CachedEmbedder
from crx.retrieve.recency import Recency
from crx.retrieve.search import LEGS, Leg, RankingWeights, Reranking, Result, Searcher, Window
from crx.retrieve.stage_timer import StageTimer

Condition: TypeAlias = (
    str | int | float | bool | Sequence[str | int | float | bool] | Mapping[str, object]
)
Where: TypeAlias = Mapping[str, Condition]

# The native core takes counts as 32-bit integers.
MAX_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The arguments of `Index.search`; raises `ValueError` for the first that is not valid.

    None stands for the setting of that name.
    """

    query: str
    k: int | None = None
    window: Window = "auto"
    budget_tokens: int | None = None
    where: Where | None = None
    legs: Sequence[Leg] = LEGS
    within_section: bool = False
    order: Literal["score", "document"] = "score"

    def __post_init__(self) -> None:
        check_query(self.query)
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
            _check_where(self.where)
        _check_legs(self.legs)


class SearchParameters(NamedTuple):
    """What an index searches with: its models, weights and default sizes.

    `k`, `budget_tokens` and `window_tokens` are those of `config.Settings`; without an embedder
    the dense leg is left out. `left_out` is a note if that is because its service is down.
    """

    weights: RankingWeights
    k: int
    budget_tokens: int
    window_tokens: int
    embedder: CachedEmbedder | None
    reranking: Reranking | None
    recency: Recency | None = None
    left_out: str = ""


def run_search(
    request: SearchRequest, *, parameters: SearchParameters, searcher: Searcher
) -> Result:
    """Return the passages that answer a query, best first, with notes on what was left out.

    A word of the query that no document has is replaced by one that is spelled like it, and a note
    says so.
    """
    timer = StageTimer()
    with timer.stage("spelling"):
        corrected = searcher.correct_spelling(request.query)
    where, budget = request.where, request.budget_tokens or parameters.budget_tokens
    only = None
    if where:
        with timer.stage("filter"):
            only = searcher.store.select(orjson.dumps(where).decode())
    found = searcher.search(
        corrected.query if corrected else request.query,
        weights=parameters.weights,
        k=request.k or parameters.k,
        legs=request.legs,
        only=only,
        embedder=parameters.embedder,
        reranking=parameters.reranking,
        recency=parameters.recency,
        timer=timer,
    )
    with timer.stage("widen"):
        passages = searcher.widen(
            found.hits,
            window=request.window,
            budget_tokens=budget,
            window_tokens=parameters.window_tokens,
            within_section=request.within_section,
            order=request.order,
        )
    sent = parameters.embedder.sending_notice() if parameters.embedder else ""
    before = [sent, parameters.left_out, corrected.note if corrected else ""]
    notes = [*filter(None, before), *found.notes]
    if where and not passages:
        missing = describe_missing_fields(where, searcher.store.documents())
        notes += missing or ([] if only else [describe_unmet_filter(where)])
    if over := len(found.hits) - sum(len(passage.hits) for passage in passages):
        notes.append(f"{over} of {len(found.hits)} hits are in no passage: over {budget} tokens")
    return Result(tuple(passages), found.hits, tuple(notes), timer.timings_ms)


def refuse_threshold(min_relevance: float) -> None:
    """Raise `UsageError` for a threshold of a search that is not reranked."""
    if min_relevance:
        raise UsageError(
            f"min_relevance is {min_relevance:g}, and only a reranker's scores have a threshold; "
            "set reranker, or leave it out"
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
