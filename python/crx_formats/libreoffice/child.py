"""The process that runs LibreOffice, and ends it with everything that it has written.

It answers `open` (the program) with `ready`, and `convert` (the suffixes of the document and of
what it becomes, and the number of the bytes that follow) with `converted`, or with `failed`. The
limits on memory are those of the process that started it; LibreOffice is killed, and the private
folder deleted, when that process is gone.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from functools import partial
from pathlib import Path

from crx.ingest._worker.messages import MOST_FILE_BYTES
from crx.workers.limits import limit_cpu, limit_process
from crx.workers.messages import Message
from crx.workers.parent import Parent, run_child
from crx_formats.libreoffice.program import (
    conversion_command,
    environment,
    make_profile,
)

# Seconds of the CPU for one document. Those who wait for it have limits of their own, lower ones by
# default.
_CPU_SECONDS = 600


def main() -> None:
    """Serve on the standard streams."""
    conversions = _Conversions()
    run_child(partial(_serve, conversions), at_end=conversions.end)


def _serve(conversions: _Conversions, parent: Parent) -> None:
    limit_process(file_bytes=MOST_FILE_BYTES)
    while (message := parent.receive()) is not None:
        if message["op"] == "open":
            conversions.program = message["program"]
            parent.send({"op": "ready"})
            continue
        data = parent.receive_bytes(message["size"])
        if data is None:
            return
        limit_cpu(_CPU_SECONDS)
        parent.send(conversions.convert(data, message["suffix"], message["target"]))


class _Conversions:
    """Runs LibreOffice in a private folder, which has its profile, for one document at a time."""

    def __init__(self) -> None:
        self.program = ""
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._ended = False

    def convert(self, data: bytes, suffix: str, target: str) -> Message:
        """Return the message with the converted document, or that there is none."""
        with self._lock:
            if self._ended:
                return {"op": "failed"}
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="crx-office-"))
                make_profile(self._folder)
        with tempfile.TemporaryDirectory(dir=self._folder) as work:
            document = Path(work, f"document{suffix}")
            document.write_bytes(data)
            self._run(document, target)
            try:
                converted = document.with_suffix(f".{target}").read_bytes()
            except OSError:
                return {"op": "failed"}
        return {"op": "converted", "data": base64.b64encode(converted).decode()}

    def end(self) -> None:
        """End LibreOffice and delete what it has written; nothing is converted after that."""
        with self._lock:
            self._ended = True
            self._kill()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, document: Path, target: str) -> None:
        """Run LibreOffice until it ends, then end whatever it has started."""
        assert self._folder is not None
        command = conversion_command(self.program, document, folder=self._folder, target=target)
        with self._lock:
            if self._ended:
                return
            self._process = subprocess.Popen(
                command,
                cwd=document.parent,
                env=environment(self.program, folder=self._folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._process.wait()
        with self._lock:
            self._kill()

    def _kill(self) -> None:
        """Kill the session of LibreOffice; its shell script starts the program proper."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process = None
