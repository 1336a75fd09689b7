"""`POST /v1/ask`: an answer as server-sent events.

They are `delta`, `citation` and `delay`, then `done` or `error`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import NamedTuple

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


class Delay(NamedTuple):
    """What delays an answer, in a line."""

    text: str


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
        async with contextlib.aclosing(follow_answer(events, threads)) as items:
            async for item in items:
                yield _encode_item(item)
        yield _encode("done", events.finished)
    except EXPECTED as error:
        yield _encode("error", describe_failure(error))


async def follow_answer(
    events: AnswerEvents, threads: RequestThreads
) -> AsyncGenerator[str | AnswerCitation | Delay, None]:
    """Yield the items of an answer, and what delays them, as soon as it is told."""
    loop = asyncio.get_running_loop()
    delays: asyncio.Queue[str] = asyncio.Queue()
    events.delays.listen = lambda line: _call_in(loop, delays.put_nowait, line)
    item = asyncio.ensure_future(threads.run(_next_item, events))
    delay = asyncio.ensure_future(delays.get())
    try:
        while True:
            await asyncio.wait((item, delay), return_when=asyncio.FIRST_COMPLETED)
            if delay.done():
                yield Delay(delay.result())
                delay = asyncio.ensure_future(delays.get())
                continue
            if (found := item.result()) is None:
                return
            yield found
            item = asyncio.ensure_future(threads.run(_next_item, events))
    finally:
        item.cancel()
        delay.cancel()


def _call_in(loop: asyncio.AbstractEventLoop, function: Callable[[str], None], line: str) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody listens
        loop.call_soon_threadsafe(function, line)


def _next_item(items: AnswerEvents) -> str | AnswerCitation | None:
    return next(items, None)


def _encode_item(item: str | AnswerCitation | Delay) -> bytes:
    match item:
        case Delay():
            return _encode("delay", {"text": item.text})
        case str():
            return _encode("delta", {"text": item})
    return _encode("citation", item)


def _encode(name: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), encode_json(data))
