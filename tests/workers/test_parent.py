"""A child process from within: its end with its parent."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

BUSY = """
import sys, time
from crx.workers.parent import run_child

def serve(parent):
    parent.send({"op": "ready"})
    while True:
        time.sleep(3600)

run_child(serve)
"""


def test_a_child_that_never_reads_ends_with_its_parent() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.read(4) == b"\0\0\0\x0f"
        child.stdin.close()
        assert child.wait(timeout=60) == 0


ENDING = """
import sys, threading, time
from crx.workers.parent import run_child

ending = threading.Lock()

def at_end():
    with ending:
        time.sleep(1)
        print("ended", file=sys.stderr, flush=True)

def serve(parent):
    parent.send({"op": "ready"})
    if sys.argv[1:]:
        raise OSError("cannot be run")
    while True:
        parent.send({"op": "x" * 100_000})

run_child(serve, at_end=at_end)
"""


@pytest.mark.parametrize("words", [[], ["fails"]], ids=["parent is gone", "function fails"])
def test_a_child_that_fails_or_cannot_send_does_first_what_it_does_at_its_end(
    words: list[str],
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDING, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(4)
        if not words:
            child.stdout.close()
            child.stdin.close()
        assert b"ended" in child.stderr.read()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_child_leaves_no_core_file() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.read(4)
        assert resource.prlimit(child.pid, resource.RLIMIT_CORE) == (0, 0)
        child.kill()
