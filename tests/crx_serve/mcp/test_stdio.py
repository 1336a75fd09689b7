"""`crx mcp` as a client starts it: a process that speaks through standard input and output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

# The command, with models that print as they are loaded, to Python's stream and to the descriptor,
# also from a child process. A search for "hold" lasts until one for "release".
NOISY = """
import os, subprocess, sys, threading
from crx_serve.service import SearchService
released = threading.Event()
search = SearchService.search
def search_held(self, request, **more):
    if request.query == "hold":
        released.wait()
    if request.query == "release":
        released.set()
    return search(self, request, **more)
SearchService.search = search_held
from crx._backends import hashed
load = hashed.load_embedder
def loud(rest):
    print("loading the model")
    os.write(1, b"half a line")
    subprocess.run(["echo", "a child speaks"])
    return load(rest)
hashed.load_embedder = loud
from crx._cli import main
main()
"""


@pytest.fixture
def server(folders: tuple[Path, Path]) -> Iterator[subprocess.Popen[str]]:
    """A process of the command for both indexes."""
    words = [sys.executable, "-c", NOISY, "mcp"]
    for folder in folders:
        words += ["--index", str(folder)]
    # A client's Python buffers its output, as it does unless told otherwise.
    environ = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        words,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def exchange(server: subprocess.Popen[str], *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Send messages, each after the answer to the one before; return the answers."""
    assert server.stdin is not None
    assert server.stdout is not None
    answers = []
    for message in messages:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        if "id" in message:
            answers.append(json.loads(server.stdout.readline()))
    return answers


def handshake(revision: str) -> tuple[dict[str, Any], dict[str, Any]]:
    client = {"name": "test", "version": "1"}
    parameters = {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}
    return (
        {"id": 0, "method": "initialize", "params": parameters},
        {"method": "notifications/initialized"},
    )


def search(number: int, *, query: str = "krill") -> dict[str, Any]:
    parameters = {"name": "search", "arguments": {"query": query}}
    return {"id": number, "method": "tools/call", "params": parameters}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
def test_every_line_on_standard_output_is_of_the_protocol_while_models_are_loaded(
    revision: str, server: subprocess.Popen[str]
) -> None:
    greeting, found = exchange(server, *handshake(revision), search(1))
    assert greeting["result"]["protocolVersion"] == revision
    assert greeting["result"]["serverInfo"]["name"] == "crx"
    assert "Blue whales eat krill." in found["result"]["content"][0]["text"]
    out, err = server.communicate(timeout=60)
    assert server.returncode == 0
    assert out == ""
    assert "loading the model" in err
    assert "a child speaks" in err


def test_the_sdks_client_starts_the_command_and_negotiates_the_newest_revision(
    folders: tuple[Path, Path],
) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "crx", "mcp", "--index", str(folders[0]), "--allow-write"],
        env={"CRX_HOME": os.environ["CRX_HOME"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )

    async def run() -> tuple[str, list[str], Any]:
        async with Client(parameters) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            status = await client.call_tool("status", {})
            return client.protocol_version, names, status.structured_content

    revision, names, status = anyio.run(run)
    assert revision == "2026-07-28"
    reading = ["search", "fetch", "outline", "references", "related", "list", "status"]
    assert names == [*reading, "refresh"]
    assert [(each["name"], each["documents"]) for each in status["indexes"]] == [("sea", 1)]


def test_a_call_that_a_client_cancels_is_never_answered_and_holds_up_no_other(
    server: subprocess.Popen[str],
) -> None:
    exchange(server, *handshake("2025-11-25"))
    assert server.stdin is not None
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    for message in (search(1, query="hold"), cancelled):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()
    after = [search(2), search(3, query="release"), *map(search, range(4, 9))]
    answers = exchange(server, *after)
    assert "krill" in answers[0]["result"]["content"][0]["text"]
    assert [answer["id"] for answer in answers] == [2, 3, 4, 5, 6, 7, 8]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_it_waits_for_a_request(
    number: signal.Signals, server: subprocess.Popen[str]
) -> None:
    exchange(server, *handshake("2025-11-25"))
    server.send_signal(number)
    assert server.wait(timeout=20) == 130


def test_a_line_that_is_not_json_does_not_end_it(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    server.stdin.write("this is no JSON\n")
    (greeting, found) = exchange(server, *handshake("2025-11-25"), search(1))
    assert found["id"] == 1
    assert greeting["id"] == 0


def test_without_an_index_it_says_so_and_ends(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "crx", "mcp", "--index", str(tmp_path / "none.crx")],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "none.crx" in done.stderr
