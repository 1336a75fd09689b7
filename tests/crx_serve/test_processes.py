"""`crx serve` as a process: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import process, run_process
from served import Client


@contextmanager
def crx_serve(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """Run a server on a free port; yield its process once it listens."""
    words = process("serve", "--port", 0, *arguments)
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        try:
            assert run.stderr is not None
            line = run.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            assert found, line
            yield run, Client(int(found[1]))
        finally:
            run.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_in_order(number: signal.Signals, sea: Path) -> None:
    with crx_serve(sea) as (run, client):
        assert client.post("/v1/search", {"query": "krill"}).json["passages"]
        run.send_signal(number)
        out, err = run.communicate(timeout=20)
    access, last = err.splitlines()
    logged = json.loads(access)
    assert (logged["method"], logged["path"], logged["status"]) == ("POST", "/v1/search", 200)
    assert (out, last, run.returncode) == ("", "crx: stopped", 0)


def test_several_indexes_are_served_by_name(sea: Path, kitchen: Path) -> None:
    with crx_serve(sea, "--index", f"food={kitchen}", "--quiet") as (_, client):
        names = [each["name"] for each in client.get("/v1/status").json["indexes"]]
    assert names == ["sea", "food"]


def test_a_port_in_use_is_one_line(sea: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_process("serve", sea, "--port", port)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"crx: 127.0.0.1:{port}: in use by another process; stop it, or choose --port\n"
    )


@pytest.mark.parametrize(
    ("arguments", "token", "code", "fact"),
    [
        (["--host", "0.0.0.0"], "", 2, "0.0.0.0: other machines could search there without a tok"),
        ([], "short", 2, "the token has 5 characters; use at least 20"),
        (["--token-file", "nowhere"], "", 2, "nowhere: the token cannot be read"),
        (["--host", "256.0.0.1"], "x" * 20, 2, "256.0.0.1:8000: cannot listen there"),
        (["no-such-index"], "", 2, "no-such-index"),
        (["a b=.crx"], "", 2, "a name has letters, digits and ._- only"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    arguments: list[str], token: str, code: int, fact: str, sea: Path
) -> None:
    indexes = [] if any("=" in each or "index" in each for each in arguments) else [sea]
    done = run_process("serve", *indexes, *arguments, env={"CRX_TOKEN": token})
    assert (done.code, done.out) == (code, "")
    assert fact in done.err
    assert len(done.err.splitlines()) == 1
