"""ASGI middleware around the application: access, limits of a request, metrics, access log.

The body of a request is read here, whole and within its limits, before the application runs: no
route needs limits of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crx_serve.access import FORMS, AccessPolicy, Refusal
from crx_serve.failures import failure_response
from crx_serve.local_query import LOCAL_PREFIX
from crx_serve.metrics import Metrics

# Paths that are answered beside any number of requests.
_UNCOUNTED = ("/health", "/metrics")
# What is no page must not become one because a browser takes it for one, and no page of another
# site may frame, load or hold the window of what the server sends.
_CONFINING = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_NO_FRAMES = (b"content-security-policy", b"frame-ancestors 'none'")
# A body that is too long is read this far, so that the client gets to read the answer.
_DRAINED_BODIES = 4
# A length with more digits is more than any limit.
_LENGTH_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of requests: bytes and seconds of a body, seconds of an answer, requests at a time."""

    body_bytes: int = 8_000_000
    # A form is parsed by the event loop, some before the client has shown its token.
    form_bytes: int = 20_000
    body_s: float = 10.0
    answer_s: float = 30.0
    requests: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessEntry:
    """One line of the access log. The query of a URL and the body are not logged."""

    time: str
    client: str
    method: str
    path: str
    status: int
    ms: float
    bytes: int


class _Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Guard:
    """Lets requests through to an application that its policy and limits allow.

    A request over a Unix socket needs no token: the permissions of the socket decide.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        policy: AccessPolicy,
        metrics: Metrics,
        limits: Limits | None = None,
        on_access: Callable[[AccessEntry], None] | None = None,
    ) -> None:
        self._app = app
        self._policy = policy
        self._metrics = metrics
        self._limits = limits or Limits()
        self._on_access = on_access or (lambda entry: None)
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        started = time.perf_counter()
        self._metrics.begin_request()
        try:
            await self._answer(scope, receive, exchange)
        except _Refused as error:
            if not exchange.status:
                await _send_refusal(error.refusal, scope, receive, exchange)
        except asyncio.CancelledError:
            # The server ends: its grace is over.
            if not exchange.status:
                ending = Refusal(503, "the server ends; try again", {"retry-after": "5"})
                await _send_refusal(ending, scope, receive, exchange)
        finally:
            seconds = time.perf_counter() - started
            self._metrics.end_request(
                method=scope["method"],
                route=_route(scope),
                status=exchange.status or 499,
                seconds=seconds,
            )
            self._on_access(exchange.entry(seconds))

    async def _answer(self, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        headers = Headers(scope=scope)
        if not scope["query_string"].isascii():
            raise _Refused(Refusal(400, "the query of the URL is not percent-encoded"))
        if not is_local(scope):
            if scope["path"].startswith(LOCAL_PREFIX):
                raise _Refused(Refusal(404, "answered over the Unix socket alone"))
            refusal = self._policy.refuse(
                scope["method"],
                scope["path"],
                headers,
                query=scope["query_string"].decode("latin-1"),
            )
            if refusal is not None:
                raise _Refused(refusal)
        limits = self._limits
        limit = limits.form_bytes if scope["path"] in FORMS else limits.body_bytes
        body = await self._read_body(headers, receive, limit=limit)
        if scope["path"] in _UNCOUNTED:
            await self._app(scope, _replay(body, receive), exchange.send)
            return
        if self._running >= self._limits.requests:
            raise _Refused(
                Refusal(429, "too many requests at a time; try again", {"retry-after": "1"})
            )
        self._running += 1
        exchange.on_stream = self._end_running
        try:
            await self._run(scope, _replay(body, receive), exchange, receive)
        finally:
            exchange.release()

    def _end_running(self) -> None:
        self._running -= 1

    async def _run(
        self, scope: Scope, receive: Receive, exchange: _Exchange, disconnected: Receive
    ) -> None:
        """Run the application; its answer must begin in time, and while the client is there."""
        task = asyncio.ensure_future(self._app(scope, receive, exchange.send))
        begun = asyncio.ensure_future(exchange.begun.wait())
        gone = asyncio.ensure_future(disconnected())
        try:
            await asyncio.wait(
                (task, begun, gone),
                timeout=self._limits.answer_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not task.done() and not exchange.begun.is_set():
                if gone.done():
                    raise _Refused(Refusal(400, "the client has gone"))
                raise _Refused(
                    Refusal(504, f"no answer within {self._limits.answer_s:g} s; ask for less")
                )
            await task
        finally:
            begun.cancel()
            gone.cancel()
            if not task.done():
                exchange.closed = True
                task.cancel()
                await asyncio.wait((task,))

    async def _read_body(self, headers: Headers, receive: Receive, *, limit: int) -> bytes:
        too_long = Refusal(413, f"the body has more than {limit:,} bytes")
        length = headers.get("content-length", "0")
        # Not every digit of Unicode is a number, and `int` takes no more than 4,300 digits.
        if length.isdecimal() and (
            len(length) > _LENGTH_DIGITS or int(length) > limit * _DRAINED_BODIES
        ):
            raise _Refused(too_long)
        parts: list[bytes] = []
        read = 0
        deadline = time.monotonic() + self._limits.body_s
        while True:
            message = await _receive_by(receive, deadline)
            if message["type"] == "http.disconnect":
                raise _Refused(Refusal(400, "the client has gone"))
            part: bytes = message.get("body", b"")
            read += len(part)
            if read <= limit:
                parts.append(part)
            if read > limit * _DRAINED_BODIES:
                raise _Refused(too_long)
            if not message.get("more_body", False):
                break
        if read > limit:
            raise _Refused(too_long)
        return b"".join(parts)


class _Exchange:
    """What is sent in answer to one request."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._bytes = 0
        self.status = 0
        self.begun = asyncio.Event()
        self.closed = False
        self.on_stream: Callable[[], None] | None = None

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if self.closed:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": _confine(message.get("headers", ()))}
            if _is_stream(message):
                self.release()
        elif message["type"] == "http.response.body":
            self._bytes += len(message.get("body", b""))
        await self._send(message)
        self.begun.set()

    def release(self) -> None:
        """End the time that this request counts as running: a stream may be open for hours."""
        if self.on_stream is not None:
            self.on_stream()
            self.on_stream = None

    def entry(self, seconds: float) -> AccessEntry:
        """Return the line of the access log."""
        client = self._scope.get("client")
        return AccessEntry(
            time=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            client=client[0] if client else "local",
            method=self._scope["method"],
            path=self._scope["path"],
            status=self.status or 499,
            ms=round(1000 * seconds, 3),
            bytes=self._bytes,
        )


def is_local(scope: Scope) -> bool:
    """Return whether a request came over a Unix socket."""
    server = scope.get("server")
    return server is not None and server[1] is None


async def _receive_by(receive: Receive, deadline: float) -> Message:
    try:
        return await asyncio.wait_for(receive(), deadline - time.monotonic())
    except asyncio.TimeoutError:
        raise _Refused(Refusal(408, "the body did not arrive in time")) from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receiver of a body that was read, and of what follows it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _send_refusal(
    refusal: Refusal, scope: Scope, receive: Receive, exchange: _Exchange
) -> None:
    response = failure_response(refusal.status, refusal.message, "Refused")
    # What is left of a body that was not read must not be taken for a request.
    response.headers.update({**refusal.headers, "connection": "close"})
    exchange.closed = False
    await response(scope, receive, exchange.send)


def _confine(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those that keep pages of other sites out."""
    own = list(headers)
    names = {name.lower() for name, _ in own}
    added = (*_CONFINING, _NO_FRAMES)
    return own + [header for header in added if header[0] not in names]


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message.get("headers", ())
    )


def _route(scope: Scope) -> str:
    """Return the path of the route that answered, so that ids do not multiply the metrics."""
    return str(getattr(scope.get("route"), "path", "other"))
