"""The table of crx's own JSON operations."""

from __future__ import annotations

from crx_serve.operation import Operation
from crx_serve.requests import FetchQuery, ListQuery, SearchQuery, StatusQuery
from crx_serve.responses import DocumentList, DocumentText, SearchResults, ServiceStatus

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
