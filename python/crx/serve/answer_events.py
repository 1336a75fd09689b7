"""`POST /v1/ask`: an answer as server-sent events `delta`, `citation`, `done` and `error`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator

import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from crx.serve.failures import EXPECTED, describe_failure, exception_response
from crx.serve.requests import AskQuery
from crx.serve.responses import AnswerCitation
from crx.serve.service import AnswerEvents, SearchService

_decoder = msgspec.json.Decoder(AskQuery)


def ask_route(service: SearchService) -> Route:
    """Return the route that answers questions."""

    async def ask(request: Request) -> Response:
        try:
            question = _decoder.decode(await request.body())
            events = await anyio.to_thread.run_sync(service.ask, question)
        except EXPECTED as error:
            return exception_response(error)
        return StreamingResponse(
            _stream(events),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    return Route("/v1/ask", ask, methods=["POST"])


async def _stream(events: AnswerEvents) -> AsyncIterator[bytes]:
    """Yield the events; the generator is stopped when the client has gone."""
    items = iter(events)
    try:
        while (item := await anyio.to_thread.run_sync(_next_item, items)) is not None:
            yield _event_of(item)
        yield _encode("done", events.finished)
    except EXPECTED as error:
        yield _encode("error", describe_failure(error))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(items.close)


def _next_item(items: Generator[str | AnswerCitation, None, None]) -> str | AnswerCitation | None:
    return next(items, None)


def _event_of(item: str | AnswerCitation) -> bytes:
    return _encode("delta", {"text": item}) if isinstance(item, str) else _encode("citation", item)


def _encode(name: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
