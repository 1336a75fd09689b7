"""A server of indexes in a thread of this process, and a client of it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp

from crx_serve.connections import LimitedProtocol
from crx_serve.server import bind, make_server

# Of an index that is made and asked without a model.
SETTINGS = {"embedder": "hashed", "generator": "fake:"}
# Of a server that wants one.
TOKEN = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Answered:
    """The status, headers and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """The server-sent events: name and data."""
        blocks = self.body.decode().strip().split("\n\n")
        pairs = [block.split("\n", 1) for block in blocks]
        return [(n.removeprefix("event: "), json.loads(d.removeprefix("data: "))) for n, d in pairs]


@dataclass(frozen=True)
class Client:
    """Sends requests to a server on 127.0.0.1, with a token if it is given one."""

    port: int
    token: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> Answered:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, body: object, **headers: str) -> Answered:
        sent = {"Content-Type": "application/json", **headers}
        return self.send("POST", path, body=json.dumps(body).encode(), headers=sent)

    def send(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str]
    ) -> Answered:
        """Send one request; `_` in the name of a header stands for `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.token:
                sent.setdefault("Authorization", f"Bearer {self.token}")
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            return Answered(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()


@contextmanager
def serving_app(
    app: ASGIApp, *, protocol: type[LimitedProtocol] = LimitedProtocol
) -> Iterator[Client]:
    """Serve an application on a free port of 127.0.0.1."""
    listening = bind("127.0.0.1", 0)
    port = listening.getsockname()[1]
    server = make_server(app, protocol=protocol)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield Client(port)
    finally:
        server.should_exit = True
        thread.join()
