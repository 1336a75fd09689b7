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


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_child_leaves_no_core_file() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.read(4)
        assert resource.prlimit(child.pid, resource.RLIMIT_CORE) == (0, 0)
        child.kill()
