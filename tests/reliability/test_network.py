"""Index, search and serve in a network without devices: the same answers, and no network call."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_injection import corpus
from served import Client

DOCUMENTS = 4
QUERY = "heron nests"


def may_unshare() -> bool:
    if not shutil.which("unshare"):
        return False
    command = ["unshare", "-rn", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
needs_unshare = pytest.mark.skipif(not may_unshare(), reason="may not unshare the network here")


def run(*words: str, before: tuple[str, ...] = ()) -> str:
    """Run crx, in a process of its own, behind another program; returns what it prints."""
    command = [*before, sys.executable, "-m", "crx", *words]
    environ = {**os.environ, "CRX_EMBEDDER": "hashed"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def network_calls(trace: Path) -> list[str]:
    """Return the lines of a trace that open a socket of the internet or name an address of it."""
    return [each for each in trace.read_text(errors="replace").splitlines() if "AF_INET" in each]


def traced(trace: Path) -> tuple[str, ...]:
    calls = "trace=socket,connect,bind,sendto,sendmsg"
    return ("strace", "-f", "-qq", "-e", calls, "-o", str(trace))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    corpus.write_files(tmp_path / "docs", DOCUMENTS)
    return tmp_path / "docs"


@needs_unshare
def test_the_answers_are_the_same_without_a_network(docs: Path, tmp_path: Path) -> None:
    answers = []
    for name, before in (("with", ()), ("without", ("unshare", "-rn"))):
        index = str(tmp_path / f"{name}.crx")
        run("index", str(docs), "--index", index, before=before)
        found = json.loads(run("search", QUERY, "--json", "--index", index, before=before))
        answers.append(found["passages"])
    assert answers[0]
    assert answers[0] == answers[1]


@needs_strace
def test_index_and_search_make_no_network_call(docs: Path, tmp_path: Path) -> None:
    index, trace = str(tmp_path / "i.crx"), tmp_path / "trace.txt"
    for words in (("index", str(docs)), ("search", QUERY)):
        run(*words, "--index", index, before=traced(trace))
        assert network_calls(trace) == []


@contextlib.contextmanager
def serving(index: str, *before: str) -> Iterator[Client]:
    """Serve an index on a free port of 127.0.0.1."""
    command = [*before, sys.executable, "-m", "crx", "serve", index, "--port", "0"]
    # strace keeps signals for itself: the whole session is ended.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        else:
            raise AssertionError("the server did not say where it listens")
        yield Client(int(found[1]))
        os.killpg(server.pid, signal.SIGTERM)
        server.stdout.read()


@needs_strace
def test_a_server_uses_its_own_port_alone(docs: Path, tmp_path: Path) -> None:
    index, trace = str(tmp_path / "i.crx"), tmp_path / "trace.txt"
    run("index", str(docs), "--index", index)
    with serving(index, *traced(trace)) as client:
        assert client.post("/v1/search", {"query": QUERY}).status == 200
    calls = [call for call in network_calls(trace) if " socket(" not in call]
    assert len(calls) == 1, calls
    assert re.search(r"bind\(.*htons\(0\), sin_addr=inet_addr\(\"127\.0\.0\.1\"\)", calls[0])


@needs_strace
def test_the_harness_finds_a_look_up(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    program = (
        "import socket; out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
        "out.sendto(b'', ('127.0.0.1', 9))"
    )
    subprocess.run([*traced(trace), sys.executable, "-c", program], check=True)
    assert len(network_calls(trace)) == 2
