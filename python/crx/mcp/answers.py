"""Answers of the tools: the shapes that ChatGPT's connectors read, with positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from crx.retrieve.best_line import find_best_line
from crx.serve.responses import (
    DocumentList,
    DocumentText,
    FoundPassage,
    IndexStatus,
    SearchResults,
    ServiceStatus,
)

# Characters of a document that one answer holds unless the request names an end: a model reads
# them, and a client may drop an answer of more than 25,000 tokens.
FETCHED_CHARS = 20_000
# Columns of the line of a location: with an id and a path of usual length, it is under 40 tokens.
_LOCATION_COLUMNS = 60


class ToolResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A passage that was found.

    `start` and `end` are its span in the document, in characters. `copies` is how many passages
    with its text are left out.
    """

    id: str
    title: str
    url: str
    text: str
    score: float
    start: int
    end: int
    lines: str = ""
    page: str = ""
    copies: int = 0


class ToolResults(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `search`, best passage first; or their `locations`, a line each."""

    results: list[ToolResult]
    locations: list[str] = []
    notes: list[str] = []


class ToolDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `fetch`; `next_start` is where the text goes on, if it does."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]
    next_start: int | None = None


class ListedDocument(Struct, frozen=True, kw_only=True):
    """A document in the answer of `list`."""

    id: str
    title: str
    uri: str


class ToolDocuments(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `list`; `next_cursor` goes on after it, if there are more."""

    documents: list[ListedDocument]
    next_cursor: str = ""


class ToolIndex(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An index in the answer of `status`."""

    name: str
    documents: int
    chunks: int
    notes: list[str] = []
    unread: list[str] = []


class ToolStatus(Struct, frozen=True, kw_only=True):
    """The answer of `status`."""

    version: str
    models_loaded: bool
    indexes: list[ToolIndex]


def as_tool_results(found: SearchResults) -> ToolResults:
    """Return the passages of a search for a model."""
    return ToolResults(results=[_result(each) for each in found.passages], notes=[*found.notes])


def as_tool_locations(found: SearchResults) -> ToolResults:
    """Return the locations of passages for a model: id, path, line and its text."""
    locations = [_location(each, query=found.query) for each in found.passages]
    return ToolResults(results=[], locations=locations, notes=[*found.notes])


def as_tool_document(document: DocumentText) -> ToolDocument:
    """Return a part of a document for a model."""
    span = {"start": document.start, "end": document.end, "length": document.length}
    return ToolDocument(
        id=document.id,
        title=_title(document.title, document.uri),
        text=document.text,
        url=document.url,
        metadata={**document.metadata, "uri": document.uri, **span},
        next_start=document.end if document.end < document.length else None,
    )


def as_tool_documents(listed: DocumentList) -> ToolDocuments:
    """Return a list of documents for a model."""
    documents = [
        ListedDocument(id=each.id, title=_title(each.title, each.uri), uri=each.uri)
        for each in listed.documents
    ]
    return ToolDocuments(documents=documents, next_cursor=listed.next_cursor)


def as_tool_status(status: ServiceStatus) -> ToolStatus:
    """Return the state of the indexes for a model."""
    indexes = [_index(each) for each in status.indexes]
    return ToolStatus(version=status.version, models_loaded=status.ready, indexes=indexes)


def _result(passage: FoundPassage) -> ToolResult:
    first, last = passage.lines or (0, 0)
    return ToolResult(
        id=passage.id,
        title=_title(passage.title, passage.uri),
        url=passage.url,
        text=passage.text,
        score=round(passage.index_score, 4),
        start=passage.start,
        end=passage.end,
        lines=f"{first}-{last}" if passage.lines else "",
        page=_page(passage),
        copies=passage.copies,
    )


def _location(passage: FoundPassage, *, query: str) -> str:
    row = find_best_line(
        passage.text,
        start=passage.start,
        best=passage.hits[0],
        query=query,
        width=_LOCATION_COLUMNS,
        visible=str,
    )
    position = f":{passage.lines[0] + row.line}" if passage.lines else _page(passage, before=", ")
    copies = f" ({passage.copies} more like it)" if passage.copies else ""
    return f"{passage.id} {passage.uri}{position}: {' '.join(row.text.split())}{copies}"


def _page(passage: FoundPassage, *, before: str = "") -> str:
    """Return the pages of a passage, or its slide, chapter or cell, after a separator, or ""."""
    pages = "-".join(dict.fromkeys(passage.pages or ()))
    page = pages or (passage.anchor.label if passage.anchor else "")
    return f"{before}{page}" if page else ""


def _index(status: IndexStatus) -> ToolIndex:
    counts: Mapping[str, int] = status.counts
    return ToolIndex(
        name=status.name,
        documents=counts.get("documents", 0),
        chunks=counts.get("chunks", 0),
        notes=[*([status.error] if status.error else []), *status.notes],
        unread=[f"{uri}: {reason}" for uri, reason in status.failures],
    )


def _title(title: str, uri: str) -> str:
    return title or uri.rstrip("/").rpartition("/")[2]
