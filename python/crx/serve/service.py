"""The operations of the server over its indexes: plain Python, without HTTP.

Every operation takes one Struct of `requests` and returns a value of `responses`. Any thread may
call them. Failures are the exceptions of `crx.errors`.
"""

from __future__ import annotations

import collections.abc
import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.metadata import version
from typing import TypeVar
from urllib.parse import quote as quote_path

import orjson

from crx import _native, registry
from crx.answer.prompt import QuotedPassages, quote
from crx.answer.stream import AnswerStream
from crx.context.report import compute_coverage
from crx.errors import Busy, CrxError, NotFound, UsageError
from crx.index import Index
from crx.protocols import Closeable, Embedder, Generator, Remote
from crx.retrieve.request import check_query
from crx.retrieve.rerank import score_checked
from crx.retrieve.search import LEGS, Result
from crx.serve.document_ids import is_id_of, make_document_id, parse_document_id
from crx.serve.metrics import Labels, Metrics, gauge_lines
from crx.serve.requests import (
    MAX_TEXT_CHARS,
    AskQuery,
    FetchQuery,
    ListQuery,
    SearchQuery,
    StatusQuery,
)
from crx.serve.responses import (
    AnswerCitation,
    DocumentList,
    DocumentSummary,
    DocumentText,
    FinishedAnswer,
    FoundPassage,
    IndexStatus,
    SearchResults,
    ServiceStatus,
)
from crx.serve.served_index import ServedIndex
from crx.types import Answer, Citation, Passage

Item = TypeVar("Item")

# Answers that a model writes at a time: a local one has one context, a service has its own queue.
LOCAL_ANSWERS = 1
REMOTE_ANSWERS = 4

# Counts of an index that are metrics.
_SIZES = {
    "documents": "Documents of an index.",
    "chunks": "Chunks of an index.",
    "tokens": "Tokens of an index.",
    "pending": "Chunks that are not embedded yet.",
    "failures": "Inputs that could not be read.",
    "bytes": "Bytes of the index folder.",
}

_PASSAGE_FIELDS = tuple(each.name for each in fields(Passage))
_CITATION_FIELDS = tuple(each.name for each in fields(Citation))


class SearchService:
    """Searches, lists and reads the documents of several indexes.

    `page_url` is the address under which the server shows documents, "" if it shows none; URLs are
    then those of the files. `generator` answers questions, by default the setting of that name.
    `on_warning` gets what has no place in an answer, and may get it more than once.
    """

    def __init__(
        self,
        indexes: Sequence[ServedIndex],
        *,
        generator: str = "",
        page_url: str = "",
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self._indexes = {each.name: each for each in indexes}
        self._generator_spec = generator or _configured_generator(indexes)
        self._generator: Generator | None = None
        self._loading = threading.Lock()
        self._ready = threading.Event()
        self._answering: threading.Semaphore | None = None
        self.metrics = Metrics()
        self.page_url = page_url
        self.warn = on_warning or (lambda warning: None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the indexes, in the order in which they were given."""
        return tuple(self._indexes)

    @property
    def served(self) -> tuple[ServedIndex, ...]:
        """The indexes, in the order in which they were given."""
        return tuple(self._indexes.values())

    def warm(self) -> None:
        """Load the models, so that the first search does not wait for them."""
        for served in self._indexes.values():
            # A search that needs the model reports why it cannot be loaded.
            with contextlib.suppress(CrxError):
                index = served.get()
                if index.settings["embedder"] != registry.NO_EMBEDDER:
                    index.embedder.embed(["warm"], query=True)
                if index.configuration.reranker:
                    index.reranker.score("warm", ["warm"])
        self._ready.set()

    def close(self) -> None:
        """Release the files and the models."""
        with self._loading:
            if isinstance(self._generator, Closeable):
                self._generator.close()
            self._generator = None
        for served in self._indexes.values():
            served.close()

    def index(self, name: str) -> Index:
        """Return the index of a name, "" for the first one.

        Raises `NotFound`, and `NotAnIndex` if the index is gone.
        """
        return self._served(name)[0].get()

    def search(self, request: SearchQuery) -> SearchResults:
        """Return the passages that answer a query.

        Scores of different indexes do not compare: with several indexes, the best passages of all
        come first, in the order of the indexes, then the second best, and so on.
        """
        found = [
            (served.name, self.search_index(served, request))
            for served in self._served(request.index)
        ]
        passages = _interleave([self._describe(name, result) for name, result in found])
        return SearchResults(
            query=request.query,
            passages=tuple(passages[: request.limit]),
            notes=_prefix_notes([(name, result.notes) for name, result in found]),
            timings_ms=_add_timings([result for _, result in found]),
        )

    def search_index(self, served: ServedIndex, request: SearchQuery) -> Result:
        """Return what one index finds, all of it."""
        result = _search(served.get(), request)
        self.metrics.add_stages(served.name, result.timings_ms or {})
        return result

    def prompt(self, request: AskQuery) -> tuple[QuotedPassages, tuple[FoundPassage, ...]]:
        """Return the prompt for a question, and the passages it quotes, in order."""
        found = [
            (
                served.name,
                served.get().search(
                    request.question, k=request.k, window=request.window, where=request.where
                ),
            )
            for served in self._served(request.index)
        ]
        described = _interleave([self._describe(name, result) for name, result in found])
        passages = _interleave([result.passages for _, result in found])
        notes = _prefix_notes([(name, result.notes) for name, result in found])
        return quote(request.question, passages, notes=notes), tuple(described)

    def ask(self, request: AskQuery) -> AnswerEvents:
        """Return the answer to a question as a stream of events.

        The stream must be closed. Raises `UsageError` if the server has no model that answers,
        `Busy` if it answers as many questions as it can.
        """
        generator, answering = self._load_generator()
        quoted, passages = self.prompt(request)
        if not answering.acquire(blocking=False):
            raise Busy("the model is answering another question; try again")
        stream = AnswerStream(quoted, lambda: contextlib.nullcontext(generator))
        return AnswerEvents(stream, passages, on_close=answering.release)

    def score(
        self, query: str, texts: Sequence[str], *, model: str = ""
    ) -> tuple[str, tuple[float, ...]]:
        """Return the name of a reranker and its scores, 0 to 1, of texts for a query.

        `model` is the reranker of an index, "crx" for one that has none set; "" is that of the
        first index. Raises `NotFound` for another name.
        """
        by_name = {_reranker_name(each.get()): each.get() for each in self._indexes.values()}
        name = model or next(iter(by_name))
        if name not in by_name:
            raise NotFound(f"{name[:100]}: no such reranker here; there is {', '.join(by_name)}")
        check_query(query)
        reranker = by_name[name].reranker
        return name, tuple(score_checked(reranker, query, texts).tolist()) if texts else ()

    def find_embedder(self, model: str) -> Embedder:
        """Return the embedder of that name, or of the index of that name; raises `NotFound`."""
        by_name = {
            name: index
            for served in self._indexes.values()
            for index in (served.get(),)
            for name in (index.settings["embedder"], served.name)
            if index.settings["embedder"] != registry.NO_EMBEDDER
        }
        if model not in by_name:
            known = ", ".join(by_name) or "none"
            raise NotFound(f"{model[:100]}: no such embedder here; there is {known}")
        return by_name[model].embedder

    def documents(self, request: ListQuery) -> DocumentList:
        """Return documents by index and URI."""
        wanted = request.contains.casefold()
        rows = [
            (served.name, row)
            for served in self._served(request.index)
            for row in served.get().store.documents()
            if wanted in row.uri.casefold() or wanted in row.title.casefold()
        ]
        start = _parse_cursor(request.cursor)
        end = start + request.limit
        return DocumentList(
            documents=tuple(self._summarize(name, row) for name, row in rows[start:end]),
            next_cursor=str(end) if end < len(rows) else "",
        )

    def document(self, request: FetchQuery) -> DocumentText:
        """Return the text of a document; raises `NotFound`."""
        name, index, row = self.find_document(request.id)
        text = index.store.text(row.doc)
        start = min(request.start, len(text))
        end = min(request.end or len(text), start + MAX_TEXT_CHARS, len(text))
        return DocumentText(
            index=name,
            id=request.id,
            url=self.document_url(request.id, row.uri),
            uri=row.uri,
            title=row.title,
            lang=row.lang,
            metadata=orjson.loads(row.metadata),
            start=start,
            end=max(start, end),
            length=len(text),
            text=text[start:end],
        )

    def find_document(self, given: str) -> tuple[str, Index, _native.DocumentRow]:
        """Return the index and the row of a document's id; raises `NotFound`."""
        name, doc = parse_document_id(given)
        if name in self._indexes:
            index = self._indexes[name].get()
            row = index.store.document_by_id(doc)
            if row is not None and is_id_of(given, name, row):
                return name, index, row
        raise NotFound(f"{given}: no such document here; search or list again")

    def status(self, request: StatusQuery) -> ServiceStatus:
        """Return what the indexes hold; one that cannot be read has an `error`."""
        return ServiceStatus(
            version=version("crx"),
            ready=self.ready,
            generator=self._generator_spec,
            indexes=tuple(_index_status(served) for served in self._served(request.index)),
        )

    def metric_lines(self) -> list[str]:
        """Return the counts, times and sizes of server and indexes, as Prometheus reads them."""
        return [*self.metrics.lines(), *self._size_lines(), *self._cache_lines()]

    def _size_lines(self) -> list[str]:
        states = [_index_status(served) for served in self._indexes.values()]
        lines = gauge_lines(
            "crx_index_up",
            "Whether an index can be read.",
            [(_of(each.name), float(not each.error)) for each in states],
        )
        for count, about in _SIZES.items():
            values = [(_of(each.name), each.counts.get(count, 0)) for each in states]
            lines += gauge_lines(f"crx_index_{count}", about, values)
        lags = [(_of(each.name), each.lag) for each in states]
        return lines + gauge_lines("crx_index_lag_changes", "Changes that BM25 lacks.", lags)

    def _cache_lines(self) -> list[str]:
        hits: list[tuple[Labels, float]] = []
        misses: list[tuple[Labels, float]] = []
        for name, served in self._indexes.items():
            with contextlib.suppress(CrxError):
                for cache, counts in served.get().cache_counts().items():
                    labels = (*_of(name), ("cache", cache))
                    hits.append((labels, counts.hits))
                    misses.append((labels, counts.misses))
        return [
            *gauge_lines("crx_cache_hits_total", "Lookups that hit.", hits, kind="counter"),
            *gauge_lines("crx_cache_misses_total", "Lookups that did not.", misses, kind="counter"),
        ]

    @property
    def ready(self) -> bool:
        """Whether the models are loaded."""
        return self._ready.is_set()

    def document_url(self, document_id: str, uri: str, *, place: str = "") -> str:
        """Return the URL of a document: the server's page of it, or the file."""
        if self.page_url:
            return f"{self.page_url}/documents/{document_id}{place}"
        return f"file://{quote_path(uri)}{place}" if uri.startswith("/") else uri

    def _served(self, name: str) -> list[ServedIndex]:
        if not name:
            return list(self._indexes.values())
        if name not in self._indexes:
            known = ", ".join(self._indexes)
            raise NotFound(f"{name[:100]}: no such index here; there is {known}")
        return [self._indexes[name]]

    def _load_generator(self) -> tuple[Generator, threading.Semaphore]:
        if not self._generator_spec:
            raise UsageError(
                "no model answers questions here; start the server with --with MODEL, or set the "
                "setting generator"
            )
        with self._loading:
            if self._generator is None or self._answering is None:
                self._generator = registry.load_generator(self._generator_spec)
                remote = isinstance(self._generator, Remote)
                self._answering = threading.Semaphore(REMOTE_ANSWERS if remote else LOCAL_ANSWERS)
            return self._generator, self._answering

    def _describe(self, name: str, result: Result) -> list[FoundPassage]:
        store = self._indexes[name].get().store
        rows = {uri: store.document(uri) for uri in {each.uri for each in result.passages}}
        best = max((each.score for each in result.passages), default=0.0)
        described = []
        for passage in result.passages:
            row = rows[passage.uri]
            # A document that was removed since the search has no id any more.
            document_id = make_document_id(name, row) if row else ""
            values = {each: getattr(passage, each) for each in _PASSAGE_FIELDS}
            described.append(
                FoundPassage(
                    index=name,
                    id=document_id,
                    url=self.document_url(document_id, passage.uri, place=_place(passage)),
                    index_score=_index_score(passage, best=best),
                    reranked=_relevance(passage) is not None,
                    **values,
                )
            )
        return described

    def _summarize(self, name: str, row: _native.DocumentRow) -> DocumentSummary:
        document_id = make_document_id(name, row)
        return DocumentSummary(
            index=name,
            id=document_id,
            url=self.document_url(document_id, row.uri),
            uri=row.uri,
            title=row.title,
            lang=row.lang,
            chunks=row.chunks,
        )


class AnswerEvents:
    """An answer in progress: iterating yields its text and each citation when it is first made.

    After the last item, `finished` is the whole answer. Any thread may take the next item, and
    close the answer.
    """

    def __init__(
        self,
        stream: AnswerStream,
        passages: Sequence[FoundPassage],
        *,
        on_close: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._passages = passages
        self._on_close: Callable[[], None] | None = on_close
        self._items = self._iterate()
        self._lock = threading.Lock()

    def __iter__(self) -> AnswerEvents:
        return self

    def __next__(self) -> str | AnswerCitation:
        with self._lock:
            return next(self._items)

    def close(self) -> None:
        """Stop the model if it still answers, after the item that it is at."""
        with self._lock:
            self._items.close()
            if self._on_close is not None:
                self._on_close()
                self._on_close = None

    def _iterate(self) -> collections.abc.Generator[str | AnswerCitation, None, None]:
        cited = 0
        for text in self._stream:
            yield text
            citations = self._stream.answer.citations
            for citation in citations[cited:]:
                yield self._describe(citation)
            cited = len(citations)

    @property
    def finished(self) -> FinishedAnswer:
        """The answer as far as it was received."""
        answer: Answer = self._stream.answer
        return FinishedAnswer(
            text=answer.text,
            found=answer.found,
            citations=tuple(map(self._describe, answer.citations)),
            removed=answer.removed,
            model=answer.model,
            usage=answer.usage,
            notes=answer.notes,
        )

    def _describe(self, citation: Citation) -> AnswerCitation:
        passage = self._passages[citation.number - 1]
        values = {each: getattr(citation, each) for each in _CITATION_FIELDS}
        return AnswerCitation(index=passage.index, id=passage.id, url=passage.url, **values)


def _reranker_name(index: Index) -> str:
    return index.configuration.reranker or registry.SHIPPED_RERANKER


def _of(index: str) -> Labels:
    return (("index", index),)


def _configured_generator(indexes: Sequence[ServedIndex]) -> str:
    specs = (each.get().configuration.generator for each in indexes)
    return next(filter(None, specs), "")


def _search(index: Index, request: SearchQuery) -> Result:
    return index.search(
        request.query,
        k=request.k,
        window=request.window,
        budget_tokens=request.budget_tokens,
        where=request.where,
        legs=request.legs or LEGS,
        within_section=request.within_section,
        order=request.order,
        rerank=request.rerank,
    )


def _interleave(lists: Sequence[Sequence[Item]]) -> list[Item]:
    """Return the first item of each list, then the second of each, and so on."""
    longest = max(map(len, lists), default=0)
    return [items[at] for at in range(longest) for items in lists if at < len(items)]


def _prefix_notes(notes: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return the notes of each index, with its name if there are several."""
    several = len(notes) > 1
    return tuple(f"{name}: {note}" if several else note for name, each in notes for note in each)


def _add_timings(results: Sequence[Result]) -> dict[str, float]:
    total: dict[str, float] = {}
    for result in results:
        for stage, milliseconds in (result.timings_ms or {}).items():
            total[stage] = total.get(stage, 0.0) + milliseconds
    return total


def _index_score(passage: Passage, *, best: float) -> float:
    relevance = _relevance(passage)
    if relevance is not None:
        return relevance
    return passage.score / best if best > 0 else 0.0


def _relevance(passage: Passage) -> float | None:
    """Return the reranker's score of a passage's best hit, None if it was not reranked."""
    stage = passage.hits[0].stages.get("rerank")
    return stage.score if stage else None


def _place(passage: Passage) -> str:
    if passage.lines:
        return f"#L{passage.lines[0]}-{passage.lines[1]}"
    return passage.fragment


def _parse_cursor(cursor: str) -> int:
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise UsageError(f"{cursor[:100]}: not a cursor; take next_cursor of the answer before")
    return int(cursor or 0)


def _index_status(served: ServedIndex) -> IndexStatus:
    try:
        status = served.get().status()
    except CrxError as error:
        return IndexStatus(
            name=served.name,
            path=str(served.path),
            counts={},
            settings={},
            notes=(),
            failures=(),
            coverage=0.0,
            exact=True,
            reranker="",
            lag=0,
            error=str(error),
        )
    return IndexStatus(
        name=served.name,
        path=status.path,
        counts=status.counts,
        settings=status.settings,
        notes=status.notes,
        failures=status.failures,
        coverage=compute_coverage(status.counts),
        exact=status.exact,
        reranker=status.reranker,
        lag=status.lag,
    )
