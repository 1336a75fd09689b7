"""Limits, metrics and the access log of requests over HTTP."""

from __future__ import annotations

import asyncio
import json
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from served import Client, serving_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from crx_serve.access import make_policy
from crx_serve.app import create_app
from crx_serve.connections import LimitedProtocol
from crx_serve.guard import AccessEntry, Guard, Limits
from crx_serve.metrics import Metrics
from crx_serve.service import SearchService

TOKEN = "0123456789abcdef0123456789abcdef"
JSON = {"Content-Type": "application/json"}


class Stops:
    """An application with a route that waits, one that streams, and one that echoes."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.go_on = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/wait", self._wait),
                Route("/stream", self._stream),
                Route("/echo", self._echo, methods=["POST"]),
                Route("/health", self._health),
            ]
        )

    async def _wait(self, request: Request) -> Response:
        self.entered.release()
        await self.go_on.wait()
        return Response("waited")

    async def _stream(self, request: Request) -> Response:
        async def pieces() -> Iterator[bytes]:  # type: ignore[misc]
            self.entered.release()
            yield b"data: 1\n\n"
            await self.go_on.wait()

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def _echo(self, request: Request) -> Response:
        self.go_on.set()
        return Response(await request.body())

    async def _health(self, request: Request) -> Response:
        return Response("well")


@contextmanager
def guarded(
    limits: Limits, *, log: list[AccessEntry] | None = None
) -> Iterator[tuple[Client, Stops]]:
    stops = Stops()
    policy = make_policy(host="127.0.0.1", token="")
    on_access = None if log is None else log.append
    guard = Guard(stops.app, policy=policy, metrics=Metrics(), limits=limits, on_access=on_access)
    with serving_app(guard) as client:
        yield client, stops


def in_thread(client: Client, path: str, answers: list[int]) -> threading.Thread:
    thread = threading.Thread(target=lambda: answers.append(client.get(path).status))
    thread.start()
    return thread


def test_a_request_that_goes_on_when_the_server_ends_is_answered_503() -> None:
    begun = threading.Event()
    sent: list[Message] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def ask() -> None:
        guard = Guard(
            application, policy=make_policy(host="127.0.0.1", token=""), metrics=Metrics()
        )
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Message:
            if messages:
                return messages.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/status",
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")],
            "server": ("127.0.0.1", 8000),
        }
        task = asyncio.ensure_future(guard(scope, receive, send))
        while not begun.is_set():
            await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(ask())
    assert sent[0]["status"] == 503
    assert b"the server ends; try again" in sent[1]["body"]


def test_a_body_that_is_too_long_is_refused_and_one_that_fits_is_not() -> None:
    with guarded(Limits(body_bytes=100)) as (client, _):
        long = client.send("POST", "/echo", body=b"x" * 101, headers=JSON)
        assert (long.status, long.json["error"]["message"]) == (
            413,
            "the body has more than 100 bytes",
        )
        assert client.send("POST", "/echo", body=b"x" * 100, headers=JSON).status == 200


def chunk(size: int) -> bytes:
    return b"%x\r\n" % size + b"x" * size + b"\r\n"


def test_a_body_without_a_length_is_counted_as_it_arrives() -> None:
    with guarded(Limits(body_bytes=100)) as (client, _):
        head = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        body = b"Transfer-Encoding: chunked\r\n\r\n" + chunk(50) + chunk(60) + b"0\r\n\r\n"
        assert talk(client, head + body).startswith(b"HTTP/1.1 413")


def talk(client: Client, sent: bytes) -> bytes:
    """Send bytes and return what comes back until the server closes."""
    with open_connection(client) as connection:
        connection.sendall(sent)
        received = b""
        while data := connection.recv(65536):
            received += data
            if b"error" in received:
                break
        return received


def test_a_body_that_never_arrives_is_given_up() -> None:
    with guarded(Limits(body_s=0.05)) as (client, _):
        head = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        assert talk(client, head + b"Content-Length: 10\r\n\r\nx").startswith(b"HTTP/1.1 408")


def test_an_answer_that_never_begins_is_given_up() -> None:
    with guarded(Limits(answer_s=0.05)) as (client, _):
        answer = client.get("/wait")
        assert (answer.status, answer.json["error"]["type"]) == (504, "Refused")
        assert client.send("POST", "/echo", body=b"1", headers=JSON).status == 200
        assert client.get("/wait").body == b"waited"


def test_too_many_requests_at_a_time_are_asked_to_come_again() -> None:
    with guarded(Limits(requests=1)) as (client, stops):
        answers: list[int] = []
        thread = in_thread(client, "/wait", answers)
        stops.entered.acquire()
        refused = client.get("/wait")
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert client.get("/health").status == 200
        stops.go_on._loop.call_soon_threadsafe(stops.go_on.set)  # type: ignore[attr-defined]
        thread.join()
        assert answers == [200]
        assert client.get("/wait").status == 200


def test_an_open_stream_does_not_keep_others_out() -> None:
    with guarded(Limits(requests=1)) as (client, _), open_connection(client) as connection:
        connection.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        receive_until(connection, b"data: 1")
        assert client.send("POST", "/echo", body=b"1", headers=JSON).status == 200


def open_connection(client: Client) -> socket.socket:
    return socket.create_connection(("127.0.0.1", client.port), timeout=10)


def receive_until(connection: socket.socket, wanted: bytes) -> None:
    received = b""
    while wanted not in received:
        data = connection.recv(65536)
        assert data, received
        received += data


def test_a_line_of_the_access_log_holds_no_query_and_no_body() -> None:
    log: list[AccessEntry] = []
    with guarded(Limits(), log=log) as (client, _):
        client.send("POST", "/echo?secret=1", body=b'"secret"', headers=JSON)
        client.get("/health", Host="evil.example")
    first, second = log
    assert (first.method, first.path, first.status, first.bytes) == ("POST", "/echo", 200, 8)
    assert (second.path, second.status, second.client) == ("/health", 400, "127.0.0.1")
    assert "secret" not in json.dumps([str(each) for each in log])


class _Impatient(LimitedProtocol):
    headers_s = 0.05
    unread_s = 0.2
    max_connections = 2


@pytest.fixture
def impatient() -> Iterator[Client]:
    """A server that cuts slow connections soon, with an answer that fills every buffer."""

    async def large(request: Request) -> Response:
        return Response(b"x" * 50_000_000)

    routes = [Route("/large", large)]
    with serving_app(Starlette(routes=routes), protocol=_Impatient) as client:
        yield client


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: lo"])
def test_headers_that_never_arrive_end_the_connection(sent: bytes, impatient: Client) -> None:
    assert talk(impatient, sent) == b""


def test_the_headers_of_a_second_request_on_a_connection_must_arrive_too(impatient: Client) -> None:
    with open_connection(impatient) as connection:
        connection.settimeout(4)  # without a request, uvicorn closes a connection after 5 seconds
        connection.sendall(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        receive_until(connection, b"\r\n\r\nNot Found")
        connection.sendall(b"GET / HTTP/1.1\r\nHo")
        assert connection.recv(1) == b""


def test_two_hundred_slow_clients_are_cut_while_another_is_answered() -> None:
    class Patient(_Impatient):
        headers_s = 0.5
        max_connections = 256

    async def hello(request: Request) -> Response:
        return Response(b"hello")

    app = Starlette(routes=[Route("/hello", hello)])
    with serving_app(app, protocol=Patient) as client, ExitStack() as opened:
        slow = [opened.enter_context(open_connection(client)) for _ in range(200)]
        for connection in slow:
            connection.sendall(b"GET /hello HTTP/1.1\r\nHost: lo")
        assert client.get("/hello").body == b"hello"
        assert {connection.recv(1) for connection in slow} == {b""}


def test_a_client_that_never_reads_is_cut_off(impatient: Client) -> None:
    with open_connection(impatient) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        # The other end resets the connection: there is an error to be read, without waiting.
        assert wait_for_reset(connection)
    assert len(impatient.get("/large").body) == 50_000_000


def wait_for_reset(connection: socket.socket) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLERR | select.POLLHUP)
    return bool(poll.poll(10_000))


def test_connections_above_the_limit_are_closed(impatient: Client) -> None:
    with open_connection(impatient), open_connection(impatient):
        assert talk(impatient, b"") == b""


def test_metrics_count_requests_stages_sizes_and_caches(service: SearchService) -> None:
    policy = make_policy(host="127.0.0.1", token="")
    guard = Guard(create_app(service), policy=policy, metrics=service.metrics)
    with serving_app(guard) as client:
        for _ in range(2):
            client.post("/v1/search", {"query": "krill", "index": "sea"})
        client.get("/v1/documents/sea-1-00000000")
        lines = client.get("/metrics").body.decode().splitlines()
    for line in (
        'crx_requests_total{method="POST",route="/v1/search",status="200"} 2',
        'crx_requests_total{method="GET",route="/v1/documents/{id}",status="404"} 1',
        'crx_request_seconds_count{method="POST",route="/v1/search"} 2',
        'crx_stage_seconds_count{index="sea",stage="retrieve"} 2',
        'crx_index_documents{index="sea"} 1',
        'crx_index_lag_changes{index="kitchen"} 0',
        'crx_index_up{index="sea"} 1',
        'crx_cache_hits_total{index="sea",cache="query_vectors"} 1',
        "crx_requests_in_progress 1",
    ):
        assert line in lines
    assert all(line.startswith(("#", "crx_")) for line in lines)


def test_a_token_is_asked_for_everywhere_but_for_health(service: SearchService) -> None:
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    guard = Guard(create_app(service), policy=policy, metrics=service.metrics)
    with serving_app(guard) as client:
        for path in ("/v1/status", "/v1/documents", "/metrics", "/openapi.json", "/nothing"):
            assert client.get(path).status == 401
        assert client.get("/health").status == 200
        assert client.get("/v1/status", Authorization=f"Bearer {TOKEN}").status == 200
        assert client.post("/v1/search", {"query": "krill"}).status == 401
