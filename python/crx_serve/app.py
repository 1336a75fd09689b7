"""The ASGI application: the routes of the operations, of the answer stream and of extensions."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from crx_serve.answer_events import ask_route
from crx_serve.answering import REMOTE_ANSWERS
from crx_serve.compatible.table import COMPATIBLE
from crx_serve.failures import EXPECTED, exception_response, failure_response
from crx_serve.json_text import encode_json
from crx_serve.openapi import describe_operations
from crx_serve.operation import Operation
from crx_serve.operations import OWN
from crx_serve.page_pictures import page_route
from crx_serve.requests import decode_body
from crx_serve.service import SearchService
from crx_serve.threads import RequestThreads

JSON = "application/json"
OPERATIONS = (*OWN, *COMPATIBLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Routes of another package, and what runs as long as the server does."""

    routes: tuple[BaseRoute, ...]
    lifespan: Callable[[], AbstractAsyncContextManager[object]] | None = None


def create_app(service: SearchService, *, extensions: Sequence[Extension] = ()) -> Starlette:
    """Return the application for a service, without its guard."""
    threads, answerers = RequestThreads(), RequestThreads(count=REMOTE_ANSWERS)
    # Few of them, since pages are drawn one at a time and a search must not wait for them.
    painters = RequestThreads(count=2)
    routes: list[BaseRoute] = [_operation_route(service, threads, each) for each in OPERATIONS]
    routes += [
        ask_route(service, answerers),
        page_route(service, painters),
        Route("/health", partial(_health, service)),
        Route("/metrics", partial(_metrics, service, threads)),
        Route("/openapi.json", partial(_openapi, describe_operations(OPERATIONS))),
    ]
    for extension in extensions:
        routes += extension.routes
    return Starlette(
        routes=routes,
        lifespan=partial(_lifespan, extensions, (threads, answerers, painters)),
        exception_handlers={HTTPException: _http_failure},
    )


def _operation_route(
    service: SearchService, threads: RequestThreads, operation: Operation
) -> Route:
    decoder = msgspec.json.Decoder(operation.body)

    async def answer(request: Request) -> Response:
        try:
            given = await _read(request, operation, decoder)
            result = await threads.run(operation.run, service, given, request.path_params)
        except EXPECTED as error:
            return exception_response(error)
        return Response(encode_json(result), media_type=JSON)

    return Route(operation.path, answer, methods=[operation.method])


async def _read(
    request: Request, operation: Operation, decoder: msgspec.json.Decoder[msgspec.Struct]
) -> msgspec.Struct:
    """Return the request's Struct, from its body or from its query and path."""
    if operation.method == "POST":
        return decode_body(decoder, await request.body())
    given: Mapping[str, str] = {**request.query_params, **request.path_params}
    return msgspec.convert(given, operation.body, strict=False)


async def _health(service: SearchService, request: Request) -> Response:
    state = "ready" if service.ready else "loading models"
    return Response(msgspec.json.encode({"status": state}), media_type=JSON)


async def _metrics(service: SearchService, threads: RequestThreads, request: Request) -> Response:
    lines = await threads.run(service.metric_lines)
    return Response("\n".join([*lines, ""]), media_type="text/plain; version=0.0.4")


async def _openapi(description: Mapping[str, object], request: Request) -> Response:
    return Response(msgspec.json.encode(description), media_type=JSON)


async def _http_failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    message = {
        404: f"{path}: no such path; /openapi.json lists them",
        405: f"{path}: not with {request.method}; /openapi.json lists the methods",
    }.get(error.status_code, error.detail)
    response = failure_response(error.status_code, message, "NotFound")
    response.headers.update(error.headers or {})
    return response


@contextlib.asynccontextmanager
async def _lifespan(
    extensions: Sequence[Extension], threads: Sequence[RequestThreads], app: Starlette
) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for each in extensions:
            if each.lifespan is not None:
                await stack.enter_async_context(each.lifespan())
        for pool in threads:
            stack.callback(pool.close)
        yield
