"""Requests of a fuzzer to the server: bytes of a connection, HTTP requests and messages of MCP.

The server is the one of `crx serve`, with every extension, in an event loop of its own and without
sockets.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types
from mcp.shared._context_streams import ContextReceiveStream, create_context_streams
from mcp.shared.message import SessionMessage
from starlette.applications import Starlette
from starlette.types import Message
from uvicorn.config import Config
from uvicorn.server import ServerState

from crx_serve.access import make_policy
from crx_serve.app import create_app
from crx_serve.commands.serve import load_extensions
from crx_serve.connections import LimitedProtocol, report_requests
from crx_serve.guard import Guard
from crx_serve.mcp.server import create_server
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

Returned = TypeVar("Returned")

# Seconds of one input: the answer of the slowest is a matter of milliseconds.
MOST_S = 30.0
# Codes of errors that are a fault of the server: the SDK's for any exception, and JSON-RPC's own.
UNEXPECTED = (0, -32603)
# Seconds in which messages are answered; one that cancels another is answered by nothing.
ANSWERED_S = 2.0
# Seconds for which a client that has sent a part of a request stays.
UNFINISHED_S = 0.5
# Seconds for which a client reads a stream.
STREAM_S = 0.2
HOST = (b"host", b"localhost")
# What a client of MCP sends first.
HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"a","version":"1"}}}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
)


class FuzzedServer:
    """A server of one index, whose connections and messages are the inputs of a fuzzer."""

    def __init__(self, index: Path) -> None:
        self._service = SearchService(
            [ServedIndex("i", index, settings={"reranker": ""})], generator="fake:"
        )
        policy = make_policy(host="127.0.0.1", token="")
        app = create_app(self._service, extensions=load_extensions(self._service, policy, None))
        self._app = Guard(app, policy=policy, metrics=self._service.metrics)
        self._loop = asyncio.new_event_loop()
        self._is_over = asyncio.Event()
        self._mcp = create_server(self._service, allow_write=True)
        self._config = Config(
            report_requests(self._app),
            ws="none",
            proxy_headers=False,
            log_config=None,
            access_log=False,
        )
        self._config.load()
        is_ready = asyncio.Event()
        self._lifespan = self._loop.create_task(self._live(app, is_ready))
        self._run(is_ready.wait())

    def close(self) -> None:
        """End the threads and close the index."""
        self._is_over.set()
        self._loop.run_until_complete(self._lifespan)
        self._loop.close()
        self._service.close()

    def connect(self, data: bytes) -> None:
        """Send bytes over a connection of HTTP/1.1, which then ends."""
        self._run(self._connect(data))

    def request(self, data: bytes) -> None:
        """Send one request: a line of the method and the target, lines of headers, and a body."""
        head, _, body = data.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        method, _, target = first.partition(b" ")
        path, _, query = target.partition(b"?")
        pairs = [line.partition(b":")[::2] for line in lines]
        headers = [(name.strip().lower(), value.strip()) for name, value in pairs]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method.decode("latin-1").upper(),
            "scheme": "http",
            "path": path.decode("utf-8", "replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": headers if any(name == b"host" for name, _ in headers) else [HOST, *headers],
            "server": ("127.0.0.1", 8000),
            "client": ("127.0.0.1", 1),
        }
        self._run(self._request(scope, body))

    def converse(self, data: bytes) -> None:
        """Send each line as a message of MCP."""
        self._run(self._converse(data.split(b"\n")))

    async def _live(self, app: Starlette, is_ready: asyncio.Event) -> None:
        async with app.router.lifespan_context(app):
            is_ready.set()
            await self._is_over.wait()

    def _run(self, work: Coroutine[Any, Any, Returned]) -> Returned:
        return self._loop.run_until_complete(asyncio.wait_for(work, MOST_S))

    async def _request(self, scope: dict[str, Any], body: bytes) -> None:
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        statuses: list[int] = []

        begun, ended = asyncio.Event(), asyncio.Event()

        async def receive() -> Message:
            if messages:
                return messages.pop()
            await begun.wait()
            # A stream of events may have no end, until the client has gone.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(ended.wait(), STREAM_S)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                begun.set()
            elif not message.get("more_body", False):
                ended.set()

        await self._app(scope, receive, send)
        assert [status for status in statuses if 100 <= status < 500] == statuses, statuses
        assert len(statuses) == 1

    async def _connect(self, data: bytes) -> None:
        state = ServerState()
        protocol = LimitedProtocol(self._config, state, {}, self._loop)
        transport = _Transport()
        protocol.connection_made(transport)
        # In two parts, as the network may deliver it.
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            if not transport.is_closing() and part:
                protocol.data_received(part)
                await asyncio.sleep(0)
        # A request whose body is not whole waits for the rest, until the client has gone.
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=UNFINISHED_S)
        protocol.connection_lost(None)
        while state.tasks:
            await asyncio.wait(state.tasks)
        answers = bytes(transport.written).split(b"HTTP/1.1 ")[1:]
        assert not any(answer.startswith(b"5") for answer in answers), answers

    async def _converse(self, lines: list[bytes]) -> None:
        to_server, from_client = create_context_streams[SessionMessage | Exception](0)
        to_client, from_server = create_context_streams[SessionMessage](0)
        messages = [_read_message(line) for line in (*HELLO, *lines)]
        answers = _Answers(messages)
        options = self._mcp.create_initialization_options()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._mcp.run, from_client, to_client, options)
            tasks.start_soon(answers.read, from_server)
            async with to_server:
                for message in messages:
                    await to_server.send(message)
                # A server whose input has ended gives up what it has not answered.
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(answers.are_complete.wait(), ANSWERED_S)
        assert answers.faults == []


def _read_message(line: bytes) -> SessionMessage | Exception:
    """Return a message, or why it is none, as the server on standard input does."""
    try:
        text = line.decode(errors="replace")
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:
        return error


class _Answers:
    """The answers to messages, and those of handlers that raised what they should not."""

    def __init__(self, messages: Sequence[SessionMessage | Exception]) -> None:
        sent = [each.message for each in messages if isinstance(each, SessionMessage)]
        self._missing = sum(isinstance(each, mcp_types.JSONRPCRequest) for each in sent)
        self.faults: list[object] = []
        self.are_complete = asyncio.Event()

    async def read(self, answers: ContextReceiveStream[SessionMessage]) -> None:
        """Read answers until the server has ended."""
        async with answers:
            async for answer in answers:
                error = getattr(answer.message, "error", None)
                if error is not None and error.code in UNEXPECTED:
                    self.faults.append(error)
                self._missing -= hasattr(answer.message, "id")
                if not self._missing:
                    self.are_complete.set()


class _Transport(asyncio.Transport):
    """Takes what a server writes; nobody waits to read it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 8000)})
        self.written = bytearray()
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True

    def abort(self) -> None:
        self._closing = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        pass
