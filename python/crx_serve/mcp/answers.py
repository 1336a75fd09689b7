"""Answers of the tools: the shapes that ChatGPT's connectors read, with positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec
from msgspec import Struct

from crx import _native
from crx._show.best_line import find_best_line
from crx._show.by_file import FileLine
from crx._show.excerpt import find_excerpt, wrap
from crx._show.notes import choose_notes
from crx_serve.mcp.matching_lines import MatchingLines, path_below
from crx_serve.mcp.source_excerpt import find_source_excerpt, is_source
from crx_serve.mcp.source_file import SourceFile
from crx_serve.passages import as_passage
from crx_serve.responses import (
    DocumentList,
    DocumentText,
    FoundPassage,
    IndexStatus,
    SearchResults,
    ServiceStatus,
)
from crx_serve.service import SearchService, parse_cursor

# Characters of a document that one answer holds unless the request names an end: a model reads
# them, and a client may drop an answer of more than 25,000 tokens.
FETCHED_CHARS = 20_000
# Lines of a passage in an answer of `search`, and their columns. The last passages have one line
# where the answer, long paths and all, would have more bytes: ten results take 1,500 tokens.
RESULT_LINES = 2
_RESULT_BYTES = 3_000
# How many of the first passages in source code are whole definitions, if they have room; further
# ones are a line each unless a number is asked for. Three show 16 answers of 20 tasks (callers and
# tests left out) of the choosing half of `benches/agent_tasks.py` in 812 tokens, and 12 of those of
# `benches/agents.py` in 895; ten show 16 in 1,186 and 14 in 1,517, two 15 in 695 and 12 in 763.
SOURCE_RESULTS = 3
# Characters of the whole definitions of an answer.
WHOLE_CHARS = 1_000
# Lines of a pattern in one answer, and their columns.
MATCHES_OF_A_PAGE = 100
_MATCH_COLUMNS = 160
_RESULT_COLUMNS = 80
# Columns of the line of a location: with an id and a path of usual length, it is under 40 tokens.
_LOCATION_COLUMNS = 60


class ToolResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A passage that was found, or its best lines.

    `url` leads to the line that answers, `lines` are those of the passage. `start` and `end` are
    its span in the document, in characters; left out of one with lines or pages unless it is given
    whole. `copies` is how many passages with its text are left out.
    """

    id: str
    title: str
    url: str
    text: str
    score: float | None = None
    start: int | None = None
    end: int | None = None
    lines: str = ""
    page: str = ""
    copies: int = 0


class ToolResults(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `search`, best passage or file first; or `locations`, a line each.

    `count` is how many lines a pattern matches; `next_cursor` goes on after those of this answer.
    `less_relevant` are passages in source code behind the first, by the line that answers, and
    those that score much lower than the best, by their line or page. For each document they follow
    its id and its path below the indexed folder, a line each.
    """

    results: list[ToolResult]
    locations: list[str] = []
    count: int = 0
    next_cursor: str = ""
    less_relevant: list[str] = []
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
    description: str = ""
    notes: list[str] = []
    unread: list[str] = []


class ToolStatus(Struct, frozen=True, kw_only=True):
    """The answer of `status`."""

    version: str
    models_loaded: bool
    indexes: list[ToolIndex]


def as_tool_passages(found: SearchResults, service: SearchService) -> ToolResults:
    """Return the passages of a search for a model, whole."""
    shown = _relevant(found)
    return _with_tail(found, service, [_result(each) for each in shown], shown)


def as_tool_lines(
    found: SearchResults, service: SearchService, *, sources: int = SOURCE_RESULTS
) -> ToolResults:
    """Return where passages of a search are, with the best lines of each.

    The first of those in source code are whole definitions; those behind the first `sources`
    passages are returned by the line that answers alone.
    """
    shown = [
        each for rank, each in enumerate(_relevant(found)) if rank < sources or not is_source(each)
    ]
    results: list[ToolResult] = []
    room = WHOLE_CHARS
    for rank, each in enumerate(shown):
        if is_source(each):
            own = room if rank < SOURCE_RESULTS else None
            results.append(_source_lines(each, service, query=found.query, room=own))
            room = max(0, room - len(results[-1].text))
        else:
            results.append(_best_lines(each, query=found.query, rows=RESULT_LINES))
    _shorten(results, shown, query=found.query)
    return _with_tail(found, service, results, shown)


def as_tool_matches(found: MatchingLines, service: SearchService, *, cursor: str) -> ToolResults:
    """Return lines that a pattern matches, by document, and how many there are."""
    start = parse_cursor(cursor)
    results = [
        ToolResult(
            id=document.id,
            title=_title(document.row.title, document.row.uri),
            url=service.document_url(document.id, document.row.uri, f"#L{lines[0]}"),
            text="\n".join(_numbered(document.file, line) for line in lines),
        )
        for document, lines in found.page(start, MATCHES_OF_A_PAGE)
    ]
    end = start + MATCHES_OF_A_PAGE
    return ToolResults(
        results=results,
        count=found.count,
        next_cursor=str(end) if end < found.count else "",
        notes=[*choose_notes(found.notes, passages=found.count)],
    )


def _relevant(found: SearchResults) -> list[FoundPassage]:
    return [each for each in found.passages if not each.less_relevant]


def _with_tail(
    found: SearchResults,
    service: SearchService,
    results: list[ToolResult],
    shown: Sequence[FoundPassage],
) -> ToolResults:
    """Return the results of a search, and passages that are not among them by a line each."""
    ids = set(map(id, shown))
    others = [each for each in found.passages if id(each) not in ids]
    return ToolResults(
        results=results,
        less_relevant=_by_document(others, service, query=found.query),
        notes=[*choose_notes(found.notes, passages=len(found.passages))],
    )


def _by_document(
    passages: Sequence[FoundPassage], service: SearchService, *, query: str
) -> list[str]:
    """Return for each document the positions of its passages, best first.

    Those that do not score much lower than the best are followed by the text of their best line.
    """
    roots = {name: service.index(name).roots for name in {each.index for each in passages}}
    positions: dict[str, list[str]] = {}
    for each in passages:
        path = path_below(roots[each.index], each.uri)
        found = positions.setdefault(f"{each.id} {path}", [])
        if each.less_relevant:
            found += [str(each.lines[0]) if each.lines else _page(each)]
        else:
            position, text = _best_position(each, query=query, columns=_RESULT_COLUMNS)
            found += [f"{position}: {text}" if position else text]
    return ["\n".join([document, *filter(None, found)]) for document, found in positions.items()]


def as_tool_files(found: SearchResults) -> ToolResults:
    """Return the files of a search, each with its best lines."""
    asked = set(_native.analyze(found.query))
    results = [
        ToolResult(
            id=each.id,
            title=_title(each.title, each.uri),
            url=each.url.partition("#")[0],
            text="\n".join(_clip(line, asked=asked) for line in each.lines),
        )
        for each in found.files
    ]
    return ToolResults(results=results, notes=[*choose_notes(found.notes, passages=len(results))])


def as_tool_locations(found: SearchResults) -> ToolResults:
    """Return the locations of passages for a model: id, path, line and its text."""
    locations = [_location(each, query=found.query) for each in found.passages]
    return ToolResults(
        results=[],
        locations=locations,
        notes=[*choose_notes(found.notes, passages=len(locations))],
    )


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


def _source_lines(
    passage: FoundPassage, service: SearchService, *, query: str, room: int | None
) -> ToolResult:
    """Return what answers in a passage of source code, with the symbol that encloses it."""
    store = service.index(passage.index).store
    row = store.document(passage.uri)
    if row is None:  # it was removed since the search
        return _best_lines(passage, query=query, rows=RESULT_LINES)
    excerpt = find_source_excerpt(SourceFile.read(store, row), passage, query=query, room=room)
    return ToolResult(
        id=passage.id,
        title=excerpt.symbol or _title(passage.title, passage.uri),
        url=f"{passage.url.partition('#')[0]}#L{excerpt.answer}",
        text=excerpt.text,
        lines=f"{excerpt.first}-{excerpt.last}",
        copies=passage.copies,
    )


def _best_lines(passage: FoundPassage, *, query: str, rows: int) -> ToolResult:
    """Return a passage with the lines that most likely answer, instead of its whole text."""
    found = find_excerpt(
        as_passage(passage),
        query=query,
        counts=(rows,),
        width=_RESULT_COLUMNS,
        visible=str,
    ).rows
    whole = _result(passage)
    is_located = bool(whole.lines or passage.pages)
    return msgspec.structs.replace(
        whole,
        text="\n".join(row.text.strip() for row in found[:rows]),
        score=None,
        start=None if is_located else whole.start,
        end=None if is_located else whole.end,
    )


def _shorten(results: list[ToolResult], shown: Sequence[FoundPassage], *, query: str) -> None:
    """Leave one line to the last passages that are no source code until the results have room."""
    for rank in reversed(range(len(results))):
        if len(msgspec.json.encode(results)) <= _RESULT_BYTES:
            return
        if not is_source(shown[rank]):
            results[rank] = _best_lines(shown[rank], query=query, rows=1)


def _clip(line: FileLine, *, asked: Set[str]) -> str:
    """Return the row of a line with most terms of the query, after the number of the line."""
    number = f"{line.number}: " if line.number else ""
    rows = wrap(line.text, _RESULT_COLUMNS - len(number))
    return number + max(rows, key=lambda row: len(asked & {*_native.analyze(row)}))


def _location(passage: FoundPassage, *, query: str) -> str:
    position, text = _best_position(passage, query=query, columns=_LOCATION_COLUMNS)
    before = ":" if passage.lines else ", " if position else ""
    copies = f" ({passage.copies} more like it)" if passage.copies else ""
    return f"{passage.id} {passage.uri}{before}{position}: {text}{copies}"


def _best_position(passage: FoundPassage, *, query: str, columns: int) -> tuple[str, str]:
    """Return the line of a passage that answers, or its page, and the text of the line."""
    row = find_best_line(
        passage.text,
        start=passage.start,
        best=passage.hits[0],
        query=query,
        width=columns,
        visible=str,
    )
    position = str(passage.lines[0] + row.line) if passage.lines else _page(passage)
    return position, " ".join(row.text.split())


def _page(passage: FoundPassage) -> str:
    """Return the pages of a passage, or its slide, chapter or cell, or ""."""
    pages = "-".join(dict.fromkeys(passage.pages or ()))
    return pages or (passage.anchor.label if passage.anchor else "")


def _index(status: IndexStatus) -> ToolIndex:
    counts: Mapping[str, int] = status.counts
    return ToolIndex(
        name=status.name,
        documents=counts.get("documents", 0),
        chunks=counts.get("chunks", 0),
        description=status.description,
        notes=[*([status.error] if status.error else []), *status.notes],
        unread=[f"{uri}: {reason}" for uri, reason in status.failures],
    )


def _numbered(file: SourceFile, line: int) -> str:
    return f"{line}: {file.line_text(line)[:_MATCH_COLUMNS]}"


def _title(title: str, uri: str) -> str:
    return title or uri.rstrip("/").rpartition("/")[2]
