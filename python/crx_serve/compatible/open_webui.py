"""`POST /open-webui/search`: Open WebUI's external web search, over all indexes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from crx_serve.compatible.passages import name_of
from crx_serve.operation import Operation
from crx_serve.requests import MAX_HITS, MAX_QUERY_CHARS, SearchQuery
from crx_serve.service import SearchService


class WebQuery(Struct, frozen=True, kw_only=True):
    """A request of Open WebUI."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    count: Annotated[int, Meta(ge=1, le=MAX_HITS)] = 5


class WebResult(Struct, frozen=True, kw_only=True):
    """A passage for Open WebUI."""

    link: str
    title: str
    snippet: str


def search(service: SearchService, request: WebQuery, _: Mapping[str, str]) -> list[WebResult]:
    """Return the results for a request of Open WebUI."""
    found = service.search(SearchQuery(query=request.query, limit=request.count))
    return [
        WebResult(link=each.url, title=each.title or name_of(each), snippet=each.text)
        for each in found.passages
    ]


OPERATION = Operation(
    method="POST",
    path="/open-webui/search",
    summary="Search as Open WebUI's external web search does.",
    body=WebQuery,
    answer=list[WebResult],
    run=search,
)
