"""`POST /v1/vector_stores/{id}/search`: OpenAI's search; a vector store is an index by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from crx.errors import UsageError
from crx_serve.compatible.passages import Attribute, above, attributes_of, name_of, score_of
from crx_serve.operation import Operation
from crx_serve.requests import MAX_QUERY_CHARS, Filter, SearchQuery
from crx_serve.responses import FoundPassage
from crx_serve.service import SearchService

_Text = Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
# Operators of a comparison by those of a filter.
_OPERATORS = {"eq": "=", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "in": "in"}


class StoreFilter(Struct, frozen=True, kw_only=True):
    """A comparison of one attribute, or several filters that must all hold."""

    type: str
    key: str = ""
    value: Any = None
    filters: list[StoreFilter] | None = None


class StoreRanking(Struct, frozen=True, kw_only=True):
    """The score that results must have; the ranker is that of the index."""

    ranker: str = "auto"
    score_threshold: float | None = None


class StoreQuery(Struct, frozen=True, kw_only=True):
    """A request to search a vector store."""

    query: _Text | Annotated[list[_Text], Meta(min_length=1, max_length=16)]
    filters: StoreFilter | None = None
    max_num_results: Annotated[int, Meta(ge=1, le=50)] = 10
    ranking_options: StoreRanking | None = None
    rewrite_query: bool = False


class StoreContent(Struct, frozen=True, kw_only=True):
    """The text of a result."""

    text: str
    type: Literal["text"] = "text"


class StoreResult(Struct, frozen=True, kw_only=True):
    """A passage of a document."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, Attribute]
    content: list[StoreContent]


class StoreResults(Struct, frozen=True, kw_only=True):
    """The results, best first; there is no next page."""

    search_query: str | list[str]
    data: list[StoreResult]
    object: Literal["vector_store.search_results.page"] = "vector_store.search_results.page"
    has_more: bool = False
    next_page: str | None = None


def search(service: SearchService, request: StoreQuery, path: Mapping[str, str]) -> StoreResults:
    """Return the results for a request; several queries give their results in turns."""
    queries = [request.query] if isinstance(request.query, str) else request.query
    where = _filter(request.filters)
    found = [
        service.search(
            SearchQuery(query=query, index=path["id"], limit=request.max_num_results, where=where)
        ).passages
        for query in queries
    ]
    ranking = request.ranking_options or StoreRanking()
    passages = above(ranking.score_threshold, list(_merge(found)), service)
    return StoreResults(
        search_query=request.query,
        data=[
            StoreResult(
                file_id=each.id,
                filename=name_of(each),
                score=score_of(each),
                attributes=attributes_of(each),
                content=[StoreContent(text=each.text)],
            )
            for each in passages[: request.max_num_results]
        ],
    )


def _merge(lists: list[tuple[FoundPassage, ...]]) -> Iterable[FoundPassage]:
    """Yield the passages of several queries in turns, each once."""
    seen: set[tuple[str, int]] = set()
    for at in range(max(map(len, lists))):
        for passages in lists:
            if at < len(passages) and (key := (passages[at].id, passages[at].start)) not in seen:
                seen.add(key)
                yield passages[at]


def _filter(given: StoreFilter | None) -> Filter | None:
    if given is None:
        return None
    where: dict[str, dict[str, Any]] = {}
    for each in _comparisons(given):
        if each.type not in _OPERATORS:
            raise UsageError(
                f'filters: no type "{each.type[:50]}" here; there is and, {", ".join(_OPERATORS)}'
            )
        where.setdefault(each.key, {})[_OPERATORS[each.type]] = each.value
    return {**where}


def _comparisons(given: StoreFilter) -> Iterable[StoreFilter]:
    if given.type != "and":
        yield given
        return
    for each in given.filters or ():
        yield from _comparisons(each)


OPERATION = Operation(
    method="POST",
    path="/v1/vector_stores/{id}/search",
    summary="Search an index as OpenAI's vector stores are searched.",
    body=StoreQuery,
    answer=StoreResults,
    run=search,
)
