"""Answers of the server: frozen values that msgspec writes as JSON and describes in OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crx._show.by_file import FileLine
from crx.types import Anchor, Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageLocation:
    """Where a passage is: its index, the id of its document and a URL that shows it.

    The other fields are those of `crx.Passage`.
    """

    index: str
    id: str
    url: str
    uri: str
    title: str
    start: int
    end: int
    line: int | None
    lines: tuple[int, int] | None
    pages: tuple[str, str] | None
    fragment: str
    anchor: Anchor | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage(PassageLocation):
    """A passage and where it is.

    `index_score` is the reranker's score if the passage was `reranked`, else its share of the score
    of the best passage of its index. `copies` is how many passages and chunks with its text are
    left out. One that is `less_relevant` than the best has no hit near the best score. The other
    fields are those of `crx.Passage`.
    """

    text: str
    score: float
    index_score: float
    reranked: bool
    tokens: int
    hits: tuple[Hit, ...]
    headings: tuple[str, ...]
    folder: str = ""
    copies: int = 0
    less_relevant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringFile:
    """A document that answers: its score, how many chunks were found in it, its best lines."""

    index: str
    id: str
    url: str
    uri: str
    title: str
    score: float
    hits: int
    lines: tuple[FileLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """Passages or files, best first, with notes of one line each and milliseconds by stage."""

    query: str
    passages: tuple[FoundPassage, ...]
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]
    files: tuple[AnsweringFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSummary:
    """A document of an index, without its text."""

    index: str
    id: str
    url: str
    uri: str
    title: str
    lang: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentList:
    """Documents by URI, and the cursor that goes on after them, "" after the last."""

    documents: tuple[DocumentSummary, ...]
    next_cursor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentText:
    """The characters `start` to `end` of a document of `length` characters."""

    index: str
    id: str
    url: str
    uri: str
    title: str
    lang: str
    metadata: Mapping[str, Any]
    start: int
    end: int
    length: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchStatus:
    """How the folders of an index are watched: visits so far, and documents that they changed.

    `last_visit` is the time of the last one, "" before the first. `files_read` of `files_found` is
    the progress of a visit under way, both 0 if there is none. `problem` is what keeps the index
    from following its folders now, or "".
    """

    folders: tuple[str, ...] = ()
    visits: int = 0
    last_visit: str = ""
    changed: int = 0
    files_read: int = 0
    files_found: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """What an index holds: counts by name, notes, and inputs that could not be read.

    `failures` are pairs of a URI and a reason. `lag` is how many changes BM25 lacks. `error` is why
    the index cannot be read, or "". `watch` is None if its folders are not watched. `description`
    is one line that anybody may have written: data, as the documents are.
    """

    name: str
    path: str
    counts: Mapping[str, int]
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]
    coverage: float
    exact: bool
    dense_search: str
    reranker: str
    lag: int
    error: str = ""
    watch: WatchStatus | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """The version of the server, whether its models are loaded, and the state of its indexes."""

    version: str
    ready: bool
    generator: str
    indexes: tuple[IndexStatus, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCitation(PassageLocation):
    """A passage that an answer cites as `[number]`."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAnswer:
    """A whole answer: its text, and whether the documents hold one.

    `removed` counts the citations that named no passage. `usage` holds what the model counts.
    """

    text: str
    found: bool
    citations: tuple[AnswerCitation, ...]
    removed: int
    model: str
    usage: Mapping[str, int | float | None]
    notes: tuple[str, ...]
