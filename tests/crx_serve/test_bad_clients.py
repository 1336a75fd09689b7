"""Clients that break off or attack, and indexes that change under the server."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import SETTINGS, Client, serving_app

import crx
from crx_serve.access import make_policy
from crx_serve.app import create_app
from crx_serve.guard import Guard
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

SCRIPT = "<script>alert(1)</script>"
JSON = {"Content-Type": "application/json"}
QUESTION = {"question": "what do whales eat", "index": "sea"}


class Slow:
    """A generator that says one word, waits, and notes that it was stopped."""

    fingerprint = "slow"

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.stopped = threading.Event()

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        try:
            yield "Krill "
            self.go_on.wait()
            yield "[1]."
        finally:
            self.stopped.set()

    def close(self) -> None:
        self.go_on.set()


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def guarded(sea: Path, kitchen: Path, slow: Slow) -> Iterator[Client]:
    """A client of both indexes behind the guard, whose answers are slow."""
    indexes = [ServedIndex(each.stem, each, settings=SETTINGS) for each in (sea, kitchen)]
    service = SearchService(indexes, generator=slow)
    policy = make_policy(host="127.0.0.1", token="")
    with serving_app(Guard(create_app(service), policy=policy, metrics=service.metrics)) as client:
        yield client
        slow.go_on.set()
    service.close()


def ask_and_leave(client: Client) -> None:
    """Ask a question, and close the connection after the first words of the answer."""
    body = b'{"question": "what do whales eat", "index": "sea"}'
    head = (
        "POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        connection.sendall(head.encode() + body)
        received = b""
        while b"Krill" not in received:
            received += connection.recv(65536)


def test_an_answer_whose_client_has_gone_is_stopped(guarded: Client, slow: Slow) -> None:
    ask_and_leave(guarded)
    slow.go_on.set()
    assert slow.stopped.wait(timeout=30)
    # The model is free for the next question.
    statuses = iter(lambda: guarded.post("/v1/ask", QUESTION).status, 200)
    assert set(statuses) <= {429}


def test_a_second_question_to_one_model_is_asked_to_come_again(guarded: Client, slow: Slow) -> None:
    body = b'{"question": "what do whales eat", "index": "sea"}'
    head = b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=30) as connection:
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        received = b""
        while b"Krill" not in received:
            received += connection.recv(65536)
        busy = guarded.post("/v1/ask", QUESTION)
        assert (busy.status, busy.headers["retry-after"]) == (429, "5")
        slow.go_on.set()
        while b"event: done" not in received:
            received += connection.recv(65536)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Host": "evil.example"}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=a"}, 415),
        ({}, 200),
    ],
)
def test_a_page_of_another_site_cannot_search(
    change: dict[str, str], status: int, guarded: Client
) -> None:
    body = b'{"query": "krill"}'
    answer = guarded.send("POST", "/v1/search", body=body, headers={**JSON, **change})
    assert answer.status == status
    assert "access-control-allow-origin" not in {name.lower() for name in answer.headers}
    assert (b"krill" in answer.body) == (status == 200)


@pytest.mark.parametrize(
    "path", ["..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "sea-1-%00"]
)
def test_a_path_is_no_document(path: str, guarded: Client) -> None:
    answer = guarded.get(f"/v1/documents/{path}")
    assert answer.status in (400, 404)
    assert b"root:" not in answer.body


def test_a_script_in_a_document_is_data(guarded: Client, sea: Path) -> None:
    hostile = crx.Document("mem:1", SCRIPT, SCRIPT, metadata={"author": SCRIPT})
    with crx.open(sea) as index:
        index.add_documents([hostile])
    found = guarded.post("/v1/search", {"query": "alert", "index": "sea"})
    document = found.json["passages"][0]["id"]
    for answer in (found, guarded.get("/v1/documents"), guarded.get(f"/v1/documents/{document}")):
        assert SCRIPT in answer.body.decode()
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_index_that_vanishes_is_one_line_and_comes_back(
    guarded: Client, sea: Path, tmp_path: Path
) -> None:
    sea.rename(tmp_path / "away")
    gone = guarded.post("/v1/search", {"query": "krill", "index": "sea"})
    assert gone.status == 503
    assert gone.json["error"]["message"] == (
        f"{sea}: the index sea is gone; put it back, or start the server without it"
    )
    both = guarded.post("/v1/search", {"query": "bread krill"}).json
    assert [each["index"] for each in both["passages"]] == ["kitchen"]
    assert both["notes"] == [gone.json["error"]["message"]]
    assert 'crx_index_up{index="sea"} 0' in guarded.get("/metrics").body.decode().splitlines()
    shutil.copytree(tmp_path / "away", sea)
    assert guarded.post("/v1/search", {"query": "krill", "index": "sea"}).json["passages"]


def test_a_search_beside_a_writer_of_another_process_sees_its_commits(
    guarded: Client, sea: Path
) -> None:
    code = """
import sys, crx
with crx.open(sys.argv[1]) as index:
    for number in range(20):
        index.add_documents([crx.Document(f"mem:{number}", f"Seals eat squid {number}.")])
        print(number, flush=True)
"""
    words = [sys.executable, "-c", code, str(sea)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            query = {"query": f"squid {line.strip()}", "index": "sea", "window": 0}
            assert guarded.post("/v1/search", query).status == 200
    assert writer.returncode == 0
    counts = guarded.get("/v1/status?index=sea").json["indexes"][0]["counts"]
    assert counts["documents"] == 21
    found = guarded.post("/v1/search", {"query": "squid 19", "index": "sea"}).json
    assert "mem:19" in {each["uri"] for each in found["passages"]}
