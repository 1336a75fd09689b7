"""Milvus Lite for tests: in the process of the test, or as a server of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

# Seconds that a busy machine may take: of a request, and of starting a server.
_PATIENT_S = 300


@dataclass
class MilvusProcess:
    """A server of Milvus Lite, which several processes can use as they use Milvus."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    def url(self, collection: str, *, timeout_s: int = _PATIENT_S) -> str:
        """Return the URL of an index."""
        return f"milvus://127.0.0.1:{self.port}?collection={collection}&timeout={timeout_s}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "milvus_lite", "server"),
                *("--data-dir", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + _PATIENT_S
        while self.process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)
        raise RuntimeError(f"Milvus Lite does not answer on port {self.port}")

    def kill(self) -> None:
        """Kill the server without warning."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def require_milvus_lite() -> None:
    """Skip the test if Milvus Lite is not installed."""
    if not all(map(importlib.util.find_spec, ("pymilvus", "milvus_lite"))):
        pytest.skip('no Milvus Lite (350 MB): pip install "crx[milvus]"')


@contextlib.contextmanager
def running_milvus(folder: Path) -> Iterator[MilvusProcess]:
    """Run a server for the body; skips the test if there is none."""
    require_milvus_lite()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = MilvusProcess(folder / "server.db", port)
    server.start()
    try:
        yield server
    finally:
        server.kill()
