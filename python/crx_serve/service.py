"""The operations of the server over its indexes: plain Python, without HTTP.

Every operation takes one Struct of `requests` and returns a value of `responses`. Any thread may
call them. Failures are the exceptions of `crx.errors`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import TypeVar
from urllib.parse import quote as quote_path

import msgspec
import orjson

from crx import _native, registry
from crx._answer.prompt import QuotedPassages, quote
from crx._index.handle import Index
from crx._index.page_picture import draw_document_page
from crx._show.by_file import FILE_LINES
from crx._show.copies import describe_copies, fold_copies, leave_out_copies
from crx._show.marks import read_marks
from crx.errors import CrxError, InputError, NotFound, UsageError
from crx.ingest._worker.page_renderer import PageRenderer
from crx.ingest.page_values import PagePicture
from crx.protocols import Embedder, Generator
from crx.retrieve.likeness import search_like
from crx.retrieve.operators import parse_pattern
from crx.retrieve.request import check_query
from crx.retrieve.score_cache import score_checked
from crx.types import Result
from crx_serve.answering import Answerer, AnswerEvents
from crx_serve.document_ids import is_id_of, make_document_id, parse_document_id
from crx_serve.facets import FacetReader
from crx_serve.find_passages import FoundPassages, find_passages, search_index
from crx_serve.gauges import cache_lines, index_status, size_lines
from crx_serve.index_description import describe_index
from crx_serve.metrics import Metrics
from crx_serve.passages import describe_files, describe_passages
from crx_serve.pattern_threads import PatternThreads
from crx_serve.process_memory import collect_often
from crx_serve.requests import (
    MAX_TEXT_CHARS,
    AskQuery,
    FetchQuery,
    ListQuery,
    PageQuery,
    SearchQuery,
    StatusQuery,
)
from crx_serve.responses import (
    AnsweringFile,
    DocumentList,
    DocumentSummary,
    DocumentText,
    FoundPassage,
    SearchResults,
    ServiceStatus,
    WatchStatus,
)
from crx_serve.served_index import ServedIndex
from crx_serve.text_span import find_text_span
from crx_serve.watch import BackgroundEmbedder
from crx_serve.watched_index import IndexWatch

Returned = TypeVar("Returned")


class SearchService:
    """Searches, lists and reads the documents of several indexes.

    `page_url` is the address under which the server shows documents, "" if it shows none; URLs are
    then those of the files. `generator` answers questions, by default the setting of that name.
    `watches` are those that keep indexes equal to their folders, by the names of the indexes.
    `embedders` make the vectors that indexes lack; they are closed with the service.
    `on_warning` gets what an answer cannot carry, and may get it more than once.
    """

    def __init__(
        self,
        indexes: Sequence[ServedIndex],
        *,
        generator: str | Generator = "",
        page_url: str = "",
        watches: Mapping[str, IndexWatch] | None = None,
        embedders: Sequence[BackgroundEmbedder] = (),
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self._indexes = {each.name: each for each in indexes}
        self._answerer = Answerer(generator or _configured_generator(indexes))
        self._watches = watches or {}
        self._embedders = embedders
        self._ready = threading.Event()
        # Set unless models are being loaded.
        self._idle = threading.Event()
        self._idle.set()
        self._renderer = PageRenderer()
        self._patterns = PatternThreads()
        self._facets = FacetReader(self)
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

    def start_warming(self) -> None:
        """Load the models in a thread, in a process that only serves."""
        self._idle.clear()
        threading.Thread(target=self._warm_process, name="crx-warm", daemon=True).start()

    def wait_for_models(self, seconds: float) -> bool:
        """Wait while a thread loads the models; return False if that takes longer."""
        return self._idle.wait(seconds)

    def _warm_process(self) -> None:
        self.warm()
        collect_often()

    def warm(self) -> None:
        """Load the models, so that the first search does not wait for them."""
        try:
            self._load_models()
        finally:
            self._idle.set()
        self._ready.set()

    def _load_models(self) -> None:
        for served in self._indexes.values():
            # A search that needs the model reports why it cannot be loaded.
            with contextlib.suppress(CrxError):
                index = served.get()
                if index.settings["embedder"] != registry.NO_EMBEDDER:
                    index.embedder.embed(["warm"], query=True)
                if index.configuration.reranker:
                    _ = index.reranker  # loaded, and warm

    def close(self) -> None:
        """Release the files and the models."""
        for watch in self._watches.values():
            watch.close()
        for embedder in self._embedders:
            embedder.close()
        self._answerer.close()
        self._patterns.close()
        self._renderer.close()
        for served in self._indexes.values():
            served.close()

    def index(self, name: str) -> Index:
        """Return the index of a name, "" for the first one.

        Raises `NotFound`, and `NotAnIndex` if the index is gone.
        """
        return self._served(name)[0].get()

    def search(self, request: SearchQuery, *, file_lines: int = FILE_LINES) -> SearchResults:
        """Return the passages that answer a query, of several indexes in one ranking.

        Scores of indexes with different embedders do not compare: the best passages of all come
        first then, in the order of the indexes, then the second best, and so on. Files are listed
        in the same order, for the chunks that were found, without what is around them, each with
        `file_lines` lines at most. Raises `Busy` if as many patterns are searched for as can be.
        """
        if request.by == "file":
            window = 0 if request.window == "auto" else request.window
            request = msgspec.structs.replace(request, window=window, order="score")
        found = self._find(request)
        every = self._describe(found)
        folded = fold_copies(every, query=request.query)
        passages = [replace(each.passage, copies=each.count) for each in folded]
        files: Sequence[AnsweringFile] = ()
        if request.by == "file":
            files = describe_files(passages, query=request.query, lines=file_lines)
        return SearchResults(
            query=request.query,
            passages=() if request.by == "file" else tuple(passages[: request.limit]),
            files=tuple(files[: request.limit]),
            notes=(*found.notes, *describe_copies(every, passages)),
            timings_ms=found.timings_ms,
        )

    def search_like(
        self, request: SearchQuery, document_id: str, start: int, end: int
    ) -> SearchQuery:
        """Return a search with the text of a passage as its query; raises `NotFound` without one.

        What is found is in other documents. It is reranked only if `rerank` says so.
        """
        _, index, row = self.find_document(document_id)
        text = index.store.text(row.doc)[start:end]
        if not text.strip():
            raise NotFound(f"{document_id}: no text there; search again")
        found = search_like(text, uri=row.uri, where=request.where, rerank=request.rerank)
        return msgspec.structs.replace(
            request,
            query=found.query,
            where=dict(found.where),
            without=[*request.without, *found.without],
        )

    def search_index(self, served: ServedIndex, request: SearchQuery) -> Result:
        """Return what one index finds, all of it; raises `Busy` as `search` does."""
        return self._run(request, partial(self._search_index, served, request))

    def _search_index(self, served: ServedIndex, request: SearchQuery) -> Result:
        result = search_index(served.get(), request)
        self.metrics.add_stages(served.name, result.timings_ms or {})
        return result

    def prompt(self, request: AskQuery) -> tuple[QuotedPassages, tuple[FoundPassage, ...]]:
        """Return the prompt for a question, and the passages it quotes, in order."""
        found = self._find(
            SearchQuery(
                query=request.question,
                index=request.index,
                k=request.k,
                window=request.window,
                where=request.where,
            )
        )
        every = [passage for _, passage in found.passages]
        passages = leave_out_copies(every, query=request.question)
        notes = (*found.notes, *describe_copies(every, passages))
        quoted = quote(request.question, passages, notes=notes)
        described = leave_out_copies(self._describe(found), query=request.question)
        return quoted, tuple(described)

    def ask(self, request: AskQuery) -> AnswerEvents:
        """Return the answer to a question as a stream of events.

        The stream must be closed. Raises `UsageError` if the server has no model that answers,
        `Busy` if it answers as many questions as it can.
        """
        self._answerer.require()
        quoted, passages = self.prompt(request)
        return self._answerer.answer(quoted, passages)

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
        start = parse_cursor(request.cursor)
        end = start + request.limit
        return DocumentList(
            documents=tuple(self._summarize(name, row) for name, row in rows[start:end]),
            next_cursor=str(end) if end < len(rows) else "",
        )

    def document(self, request: FetchQuery, *, most: int = MAX_TEXT_CHARS) -> DocumentText:
        """Return at most so many characters of the text of a document; raises `NotFound`."""
        name, index, row = self.find_document(request.id)
        text = index.store.text(row.doc)
        start, end = find_text_span(
            request, text, read_marks=lambda: read_marks(index.store.marks(row.doc))
        )
        end = min(end, start + most)
        return DocumentText(
            index=name,
            id=request.id,
            url=self.document_url(request.id, row.uri),
            uri=row.uri,
            title=row.title,
            lang=row.lang,
            metadata=orjson.loads(row.metadata),
            start=start,
            end=end,
            length=len(text),
            text=text[start:end],
        )

    def page_picture(self, request: PageQuery) -> PagePicture:
        """Return a page of a PDF as a picture.

        Raises `NotFound` if its file has changed, `InputError` for a page that cannot be drawn.
        """
        _, index, row = self.find_document(request.id)
        span = (request.start, request.end) if request.start < request.end else None
        if span is None and not request.page:
            span = (request.start, request.start)
        try:
            return draw_document_page(
                index.store,
                row,
                self._renderer,
                page=request.page,
                span=span,
                width=request.width,
            )
        except NotFound:
            raise
        except UsageError as error:  # the request is one that the page of a PDF would answer
            raise InputError(str(error)) from error

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
            generator=self._answerer.name,
            indexes=tuple(
                index_status(
                    served,
                    watch=self._watch_status(served.name),
                    description=self.description(served.name),
                )
                for served in self._served(request.index)
            ),
        )

    def description(self, name: str) -> str:
        """Return what an index holds, in one line, "" if it cannot be told; see `describe_index`.

        It is data, as what documents say is.
        """
        try:
            return describe_index(self.index(name), self._facets.get(name))
        except CrxError as error:
            self.warn(str(error))
            return ""

    def metric_lines(self) -> list[str]:
        """Return the counts, times and sizes of server and indexes, as Prometheus reads them."""
        return [*self.metrics.lines(), *size_lines(self.served), *cache_lines(self.served)]

    @property
    def can_answer(self) -> bool:
        """Whether a model is named that answers questions."""
        return bool(self._answerer.name)

    @property
    def ready(self) -> bool:
        """Whether the models are loaded."""
        return self._ready.is_set()

    def document_url(self, document_id: str, uri: str, fragment: str = "") -> str:
        """Return the URL of a document: the server's page of it, or the file."""
        if self.page_url:
            return f"{self.page_url}/documents/{document_id}{fragment}"
        return f"file://{quote_path(uri)}{fragment}" if uri.startswith("/") else uri

    def _watch_status(self, name: str) -> WatchStatus | None:
        return self._watches[name].status if name in self._watches else None

    def _find(self, request: SearchQuery) -> FoundPassages:
        find = partial(
            find_passages,
            self._served(request.index),
            request,
            search=self._search_index,
            on_stages=self.metrics.add_stages,
        )
        return self._run(request, find)

    def _run(self, request: SearchQuery, search: Callable[[], Returned]) -> Returned:
        """Run a search: here, or one for a pattern in a thread of those."""
        if parse_pattern(request.query, match=request.match) is None:
            return search()
        return self._patterns.run(search)

    def _describe(self, found: FoundPassages) -> list[FoundPassage]:
        """Return the passages that were found, in their order, as the server returns them."""
        best = max((passage.score for _, passage in found.passages), default=0.0)
        described: dict[str, Iterator[FoundPassage]] = {}
        for name in {name for name, _ in found.passages}:
            own = [passage for each, passage in found.passages if each == name]
            store = self._indexes[name].get().store
            described[name] = iter(
                describe_passages(own, index=name, store=store, url_of=self.document_url, best=best)
            )
        return [next(described[name]) for name, _ in found.passages]

    def _served(self, name: str) -> list[ServedIndex]:
        if not name:
            return list(self._indexes.values())
        if name not in self._indexes:
            known = ", ".join(self._indexes)
            raise NotFound(f"{name[:100]}: no such index here; there is {known}")
        return [self._indexes[name]]

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


def _reranker_name(index: Index) -> str:
    return index.configuration.reranker or registry.SHIPPED_RERANKER


def _configured_generator(indexes: Sequence[ServedIndex]) -> str:
    specs = (each.get().configuration.generator for each in indexes)
    return next(filter(None, specs), "")


def parse_cursor(cursor: str) -> int:
    """Return the number that a cursor is, 0 without one; raises `UsageError`."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise UsageError(f"{cursor[:100]}: not a cursor; take next_cursor of the answer before")
    return int(cursor or 0)
