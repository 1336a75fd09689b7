"""Limits of connections: how many, how slowly a client may send its headers and read an answer.

They stand around the HTTP protocol of uvicorn, and know of it what asyncio and ASGI define: the
methods of a protocol, and the call of the application for each request.
"""

from __future__ import annotations

import asyncio
import contextvars
import socket
import struct
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

# Connections that are open at a time; a process may often have 1,024 files.
MAX_CONNECTIONS = 512
# Seconds in which the headers of a request must arrive. uvicorn closes a connection on which no
# request has begun for 5 seconds.
HEADERS_S = 10.0
# Seconds for which a client may read nothing of an answer that waits.
UNREAD_S = 30.0

# The connection whose data is being read; the tasks of its requests copy it.
_connection: contextvars.ContextVar[LimitedProtocol] = contextvars.ContextVar("connection")


class LimitedProtocol(asyncio.Protocol):
    """HTTP/1.1 on one connection, which is cut when a limit is passed.

    The application must be wrapped by `report_requests`.
    """

    max_connections = MAX_CONNECTIONS
    headers_s = HEADERS_S
    unread_s = UNREAD_S

    transport: asyncio.Transport

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._http = H11Protocol(config, server_state, app_state, _loop)
        self._connections = server_state.connections
        loop = _loop or asyncio.get_running_loop()
        self._headers_timer = _Timer(loop, self.headers_s)
        self._unread_timer = _Timer(loop, self.unread_s)
        self._waiting = 0
        # Those that the application has begun and not ended.
        self._requests = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self._http.connection_made(transport)
        if len(self._connections) > self.max_connections:
            transport.abort()
        else:
            self._headers_timer.start(transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_timer.stop()
        self._unread_timer.stop()
        self._http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._requests:
            self._headers_timer.start(self.transport.abort)
        before = _connection.set(self)
        try:
            self._http.data_received(data)
        finally:
            _connection.reset(before)

    def eof_received(self) -> None:
        self._http.eof_received()

    def pause_writing(self) -> None:
        self._http.pause_writing()
        self._waiting = self.transport.get_write_buffer_size()
        self._unread_timer.start(self._cut_unread)

    def resume_writing(self) -> None:
        self._unread_timer.stop()
        self._http.resume_writing()

    def begin_request(self) -> None:
        """Note that the headers of a request have arrived."""
        self._requests += 1
        self._headers_timer.stop()

    def end_request(self) -> None:
        """Note that the application is done with a request."""
        self._requests -= 1

    def _cut_unread(self) -> None:
        """Reset the connection if the client has read nothing since the timer was started."""
        self._unread_timer.stop()
        waiting = self.transport.get_write_buffer_size()
        if waiting < self._waiting:
            self._waiting = waiting
            self._unread_timer.start(self._cut_unread)
            return
        # What was not read must not wait in the kernel either.
        reset = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, reset
        )
        self.transport.abort()


def report_requests(app: ASGIApp) -> ASGIApp:
    """Return an application that tells the `LimitedProtocol` of each request when it runs."""

    async def reporting(scope: Scope, receive: Receive, send: Send) -> None:
        connection = _connection.get(None)
        if connection is None or scope["type"] != "http":
            await app(scope, receive, send)
            return
        connection.begin_request()
        try:
            await app(scope, receive, send)
        finally:
            connection.end_request()

    return reporting


class _Timer:
    """Calls a function after some seconds, unless it is stopped before."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._handle: asyncio.TimerHandle | None = None

    def start(self, call: Callable[[], None]) -> None:
        """Start, unless it runs already."""
        if self._handle is None:
            self._handle = self._loop.call_later(self._seconds, call)

    def stop(self) -> None:
        """Stop, if it runs."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
