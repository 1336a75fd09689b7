"""The table of JSON operations: what each takes, what it returns and which path it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from crx.serve.requests import FetchQuery, ListQuery, SearchQuery, StatusQuery
from crx.serve.responses import DocumentList, DocumentText, SearchResults, ServiceStatus
from crx.serve.service import SearchService


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A request that is answered with JSON.

    `body` is the Struct of the body of a POST, or of the query of a GET together with the
    parameters of the path. `run` gets the request and the parameters of the path.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    body: type[msgspec.Struct]
    answer: Any
    run: Callable[[SearchService, Any, Mapping[str, str]], object]


OWN: tuple[Operation, ...] = (
    Operation(
        method="POST",
        path="/v1/search",
        summary="Search for the passages that answer a query.",
        body=SearchQuery,
        answer=SearchResults,
        run=lambda service, request, _: service.search(request),
    ),
    Operation(
        method="GET",
        path="/v1/documents",
        summary="List the documents.",
        body=ListQuery,
        answer=DocumentList,
        run=lambda service, request, _: service.documents(request),
    ),
    Operation(
        method="GET",
        path="/v1/documents/{id}",
        summary="Return the text of a document.",
        body=FetchQuery,
        answer=DocumentText,
        run=lambda service, request, _: service.document(request),
    ),
    Operation(
        method="GET",
        path="/v1/status",
        summary="Return what the indexes hold and what is still to be done.",
        body=StatusQuery,
        answer=ServiceStatus,
        run=lambda service, request, _: service.status(request),
    ),
)
