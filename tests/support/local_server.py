"""Faults, tokens and HTTP on 127.0.0.1, shared by the local services of the tests."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Generic, TypeVar

Service = TypeVar("Service")

_PIECE = re.compile(r"\w{1,4}|[^\w\s]|\s+")


def tokens(text: str) -> list[str]:
    """Return pieces of words of up to four letters, signs and runs of white space."""
    return _PIECE.findall(text)


@cache
def count_tokens(text: str) -> int:
    return len(tokens(text))


@dataclass(frozen=True)
class Fault:
    """A status to answer with, or a damaged answer: `cut` in half, or `garbage` of a type."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "a fault"
    cut: bool = False
    garbage: tuple[str, bytes] | None = None


class JsonHandler(BaseHTTPRequestHandler, Generic[Service]):
    protocol_version = "HTTP/1.1"

    @property
    def service(self) -> Service:
        return self.server.service  # type: ignore[attr-defined, no-any-return]

    def body(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers["content-length"] or 0))
        return json.loads(raw) if raw else {}

    def send(
        self,
        status: int,
        body: Any,
        headers: dict[str, str] | None = None,
        *,
        fault: Fault | None = None,
    ) -> None:
        if fault and fault.garbage:
            kind, raw = fault.garbage
            self.send_bytes(status, raw, kind)
        else:
            cut = fault is not None and fault.cut
            self.send_bytes(status, json.dumps(body).encode(), "application/json", headers, cut=cut)

    def send_events(self, events: list[dict[str, Any]], *, fault: Fault | None = None) -> None:
        """Send server-sent events, each named by its type; `cut` ends them in the middle."""
        if fault and fault.garbage:
            return self.send_bytes(200, fault.garbage[1], "text/event-stream")
        cut = fault is not None and fault.cut
        sent = [f"event: {e.get('type', 'message')}\ndata: {json.dumps(e)}\n\n" for e in events]
        self.send_bytes(200, "".join(sent).encode(), "text/event-stream", cut=cut)
        return None

    def send_bytes(
        self,
        status: int,
        body: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def log_message(self, format: str, *args: object) -> None:
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    service: object

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect, as some tests do; report every other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving_with(handler: type[JsonHandler[Service]], service: Service) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1; yield the address."""
    server = _Server(("127.0.0.1", 0), handler)
    server.service = service
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
