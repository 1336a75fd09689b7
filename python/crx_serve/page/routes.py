"""The routes of the page."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from importlib import resources

import orjson
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from crx import _native
from crx.errors import IndexFailure, NotAnIndex
from crx.ingest.formats import is_as_written
from crx_serve.access import ADD_FOLDER, is_from_elsewhere
from crx_serve.added_folders import FolderAdder
from crx_serve.answering import REMOTE_ANSWERS
from crx_serve.app import OPERATIONS, Extension
from crx_serve.facets import FacetReader
from crx_serve.failures import EXPECTED, status_of
from crx_serve.openapi import describe_operations
from crx_serve.page.answer import stream_answer
from crx_serve.page.document import render_document, render_preview
from crx_serve.page.form import SearchForm, read_form
from crx_serve.page.home import render_home
from crx_serve.page.layout import (
    SECURITY_HEADERS,
    html_response,
    render_end,
    render_page,
    render_start,
)
from crx_serve.page.original import read_original
from crx_serve.page.read_document import DocumentPage, read_document
from crx_serve.page.reference import render_reference
from crx_serve.page.results import render_form, render_results
from crx_serve.page.state import render_state, render_status
from crx_serve.page.templates import render
from crx_serve.requests import StatusQuery
from crx_serve.service import SearchService
from crx_serve.threads import RequestThreads

_ASSETS = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "parts.js": "text/javascript",
    "preview.js": "text/javascript",
    "searches.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def page_extension(service: SearchService, *, adder: FolderAdder | None = None) -> Extension:
    """Return the routes of the page of a service; `adder` is that of a server that adds folders."""
    page = _PageRoutes(service, adder)
    routes = (
        Route("/", page.respond(page.search)),
        Route("/results", page.respond(page.results)),
        Route("/ask", page.ask),
        Route("/documents/{id}", page.respond(page.document)),
        Route("/preview/{id}", page.respond(page.preview)),
        Route("/original/{id}", page.original),
        Route("/status", page.respond(page.status)),
        Route("/docs", page.respond(page.reference)),
        Route("/state", page.respond(page.state)),
        *(Route(f"/assets/{name}", partial(_asset, name)) for name in _ASSETS),
    )
    return Extension(routes=routes, lifespan=page.lifespan)


class _PageRoutes:
    """Answers the requests of browsers, in threads of its own."""

    def __init__(self, service: SearchService, adder: FolderAdder | None) -> None:
        self._service = service
        self._adder = adder
        self._facets = FacetReader(service)
        self._threads = RequestThreads()
        self._answerers = RequestThreads(count=REMOTE_ANSWERS)

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Close the threads at the end."""
        try:
            yield
        finally:
            self._threads.close()
            self._answerers.close()

    def respond(
        self, make: Callable[[Request], Markup]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of a function that renders a page or a part of one."""

        async def endpoint(request: Request) -> Response:
            try:
                return html_response(await self._threads.run(make, request))
            except EXPECTED as error:
                return _failure(error)

        return endpoint

    def search(self, request: Request) -> Markup:
        """Render the page of a search, which waits for a click if another site asked for it."""
        form = self._read_form(request)
        waits = not form.is_empty and is_from_elsewhere(request.headers)
        results = render("unasked.html", {"form": form}) if waits else self._results(form)
        title = f"{form.query} - crx" if form.query else "crx"
        main = (self._form(form), results, render("no_preview.html", {}))
        return render_page(title, *main, state=self._state(), kind="search")

    def results(self, request: Request) -> Markup:
        """Render the passages of a search only, for the script.

        With `quick` they are not reranked: that takes longer than one waits between two keys.
        """
        form = self._read_form(request)
        is_quick = "quick" in request.query_params and self._reranks(form.index)
        return self._results(form, is_quick=is_quick)

    def document(self, request: Request) -> Markup:
        """Render the page of a document."""
        page, store = self._read_document(request)
        main = render_document(page, store=store)
        return render_page(f"{page.title} - crx", main, kind="document")

    def preview(self, request: Request) -> Markup:
        """Render a document around a passage, for the script."""
        page, store = self._read_document(request)
        return render_preview(page, store=store)

    async def original(self, request: Request) -> Response:
        """Send the file that a document was read from."""
        try:
            return await self._threads.run(self._original, request.path_params["id"])
        except EXPECTED as error:
            return _failure(error)

    def _original(self, document_id: str) -> Response:
        row = self._service.find_document(document_id)[2]
        return read_original(row, is_text=is_as_written(row.uri, orjson.loads(row.metadata)))

    def _read_document(self, request: Request) -> tuple[DocumentPage, _native.Store]:
        document_id = request.path_params["id"]
        found = self._service.find_document(document_id)
        page = read_document(document_id, found=found, given=request.query_params)
        return page, found[1].store

    def status(self, request: Request) -> Markup:
        """Render the page of the state of server and indexes."""
        status = self._service.status(StatusQuery())
        return render_page("Status - crx", render_status(status), kind="status")

    def reference(self, request: Request) -> Markup:
        """Render the page on the HTTP API."""
        main = render_reference(describe_operations(OPERATIONS))
        return render_page("HTTP API - crx", main, kind="reference")

    def state(self, request: Request) -> Markup:
        """Render the lines on what a search lacks now, for the script."""
        return self._state()

    async def ask(self, request: Request) -> Response:
        """Answer a question, for a browser without scripts."""
        try:
            form = await self._threads.run(self._read_form, request)
        except EXPECTED as error:
            return _failure(error)
        if not form.query:
            return RedirectResponse(form.url(), 303)
        return StreamingResponse(
            self._answer_page(form), media_type="text/html", headers=SECURITY_HEADERS
        )

    async def _answer_page(self, form: SearchForm) -> AsyncIterator[str]:
        yield render_start(f"{form.query} - crx", kind="search")
        yield await self._threads.run(self._form, form)
        ask = partial(self._service.ask, form.question())
        async for part in stream_answer(form.query, ask, threads=self._answerers):
            yield part
        yield render_end()

    def _read_form(self, request: Request) -> SearchForm:
        """Return the form of a request, with the folder of all files for relative paths."""
        form = read_form(request.query_params)
        return replace(form, here=self._facets.get(form.index).folder)

    def _results(self, form: SearchForm, *, is_quick: bool = False) -> Markup:
        """Return what is below the form: passages, or what is here if nothing is searched for."""
        if form.is_empty:
            return self._home(form)
        request = form.search(rerank=False if is_quick else None)
        if form.like:
            request = self._service.search_like(request, *form.liked())
        found = self._service.search(request)
        return render_results(form, found, service=self._service, is_quick=is_quick)

    def _home(self, form: SearchForm) -> Markup:
        where = form.where
        facets = self._facets
        return render_home(
            form,
            facets.read_filtered(form.index, where) if where else facets.get(form.index),
            status=self._service.status(StatusQuery()),
            now=datetime.now(timezone.utc),
            add_url=ADD_FOLDER if self._adder else "",
        )

    def _reranks(self, index: str) -> bool:
        """Return whether a search is reranked that may also be answered without."""
        settings = []
        for each in (index,) if index else self._service.names:
            # The search reports an index that cannot be read.
            with contextlib.suppress(NotAnIndex, IndexFailure):
                settings.append(self._service.index(each).configuration)
        return any(each.reranker for each in settings) and not any(
            each.rank_rerank_min_relevance for each in settings
        )

    def _form(self, form: SearchForm) -> Markup:
        return render_form(
            form,
            self._facets.get(form.index),
            indexes=self._service.names,
            can_answer=self._service.can_answer,
        )

    def _state(self) -> Markup:
        added = self._adder.last if self._adder else None
        return render_state(self._service.status(StatusQuery()), added=added)


async def _asset(name: str, request: Request) -> Response:
    data = resources.files("crx_serve.page").joinpath("assets", name).read_bytes()
    return Response(data, media_type=_ASSETS[name], headers=SECURITY_HEADERS)


def _failure(error: Exception) -> Response:
    main = render("failure.html", {"message": str(error)})
    page = render_page("Error - crx", main, kind="search")
    return html_response(page, status=status_of(error))
