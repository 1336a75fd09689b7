"""`POST /v1/ask`: an answer as server-sent events `delta`, `citation`, `done` and `error`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from crx_serve.answering import AnswerEvents
from crx_serve.failures import EXPECTED, describe_failure, exception_response
from crx_serve.json_text import encode_json
from crx_serve.requests import AskQuery, decode_body
from crx_serve.responses import AnswerCitation
from crx_serve.service import SearchService
from crx_serve.threads import RequestThreads

_decoder = msgspec.json.Decoder(AskQuery)


def ask_route(service: SearchService, threads: RequestThreads) -> Route:
    """Return the route that answers questions."""

    async def ask(request: Request) -> Response:
        try:
            question = decode_body(_decoder, await request.body())
            events = await threads.run(service.ask, question)
        except EXPECTED as error:
            return exception_response(error)
        return _EventStream(events, threads)

    return Route("/v1/ask", ask, methods=["POST"])


class _EventStream(StreamingResponse):
    """An answer as events; the model stops when the client has gone."""

    def __init__(self, events: AnswerEvents, threads: RequestThreads) -> None:
        super().__init__(
            _encode_events(events, threads),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )
        self._events = events
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await asyncio.shield(self._threads.run(self._events.close))


async def _encode_events(events: AnswerEvents, threads: RequestThreads) -> AsyncIterator[bytes]:
    try:
        while (item := await threads.run(_next_item, events)) is not None:
            yield _encode_item(item)
        yield _encode("done", events.finished)
    except EXPECTED as error:
        yield _encode("error", describe_failure(error))


def _next_item(items: AnswerEvents) -> str | AnswerCitation | None:
    return next(items, None)


def _encode_item(item: str | AnswerCitation) -> bytes:
    return _encode("delta", {"text": item}) if isinstance(item, str) else _encode("citation", item)


def _encode(name: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), encode_json(data))
