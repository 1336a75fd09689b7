"""Limits of connections: how many, how slowly a client may send its headers and read an answer."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

# Connections that are open at a time; a process may often have 1,024 files.
MAX_CONNECTIONS = 512
# Seconds in which the headers of a request must arrive.
HEADERS_S = 10.0
# Seconds for which a client may read nothing of an answer that waits.
UNREAD_S = 30.0


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 on one connection, which is cut when a limit is passed."""

    max_connections = MAX_CONNECTIONS
    headers_s = HEADERS_S
    unread_s = UNREAD_S

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._headers_timer = _Timer(self.loop, self.headers_s)
        self._unread_timer = _Timer(self.loop, self.unread_s)
        self._waiting = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            transport.abort()
        else:
            self._headers_timer.start(self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_timer.stop()
        self._unread_timer.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_answering():
            self._headers_timer.start(self.transport.abort)
        super().data_received(data)
        if self._is_answering():
            self._headers_timer.stop()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._waiting = self.transport.get_write_buffer_size()
        self._unread_timer.start(self._cut_unread)

    def resume_writing(self) -> None:
        self._unread_timer.stop()
        super().resume_writing()

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

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete


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
