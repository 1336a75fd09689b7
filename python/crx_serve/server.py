"""The process of the server: its sockets, its signals and its end."""

from __future__ import annotations

import contextlib
import errno
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from crx.errors import UsageError
from crx_serve.connections import LimitedProtocol, report_requests

# Seconds that requests may go on after a signal to stop.
GRACE_S = 1
# Seconds after a signal in which the process must have ended.
END_S = 1.8


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; raises `UsageError` if that is not possible."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # Nagle's algorithm delays answers by 40 ms; asyncio turns it off if the protocol is named.
        bound = socket.socket(found[0][0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(found[0][4])
            bound.listen(128)
        except BaseException:
            bound.close()
            raise
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"{host}:{port}: in use by another process; stop it, or choose --port"
            ) from None
        raise UsageError(f"{host}:{port}: cannot listen there: {error.strerror}") from None
    return bound


def run_server(
    app: ASGIApp, sockets: Sequence[socket.socket], *, on_overdue: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT; requests in progress have a second to finish.

    `on_overdue` is called by a thread if the process still runs `END_S` after the signal.
    """
    make_server(app, on_overdue=on_overdue).run(list(sockets))


def make_server(
    app: ASGIApp,
    *,
    protocol: type[LimitedProtocol] = LimitedProtocol,
    on_overdue: Callable[[], None] | None = None,
) -> uvicorn.Server:
    """Return a server of an application; setting its `should_exit` ends it."""
    return _SignalledServer(
        on_overdue,
        uvicorn.Config(
            report_requests(app),
            log_config=None,
            log_level="error",
            access_log=False,
            lifespan="on",
            ws="none",
            http=protocol,
            loop="asyncio",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
        ),
    )


class _SignalledServer(uvicorn.Server):
    """A server for which a signal to stop is an orderly end and not a failure."""

    def __init__(self, on_overdue: Callable[[], None] | None, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._on_overdue = on_overdue

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self._stop) for each in handled}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        # A second signal does not wait for requests.
        self.force_exit = self.should_exit
        if self._on_overdue is not None and not self.should_exit:
            # What a thread does in a model or in Python cannot be interrupted.
            overdue = threading.Timer(END_S, self._on_overdue)
            overdue.daemon = True
            overdue.start()
        self.should_exit = True
