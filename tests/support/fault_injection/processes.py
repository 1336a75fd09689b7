"""Processes of their own for calls and commands, forked from a server that has imported crx.

A fork takes milliseconds where a new interpreter takes half a second, so a thousand commands can be
killed in minutes. The server runs nothing of crx itself: a fork has no thread and no open file of
another command.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PRELOADED = [
    "crx_runtimes.fake.contextualizer",
    "crx._backends.hashed",
    "crx._cli.contextualize",
    "crx._cli.index",
    "crx._context.run",
    "crx._index.handle",
    "crx.ingest.indexer",
    "fault_injection.corpus",
    # What the modules of the tests import, and the script that runs them.
    "hypothesis.stateful",
    "pytest",
]
# Every call is much shorter, also on a busy machine; a process that hangs is a failure.
TIMEOUT_S = 600.0

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(_PRELOADED)


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended: its exit code (below 0: the signal), its value and its output."""

    code: int
    value: Any
    output: str


class Process:
    """A call in a process of its own, which may be killed at any moment."""

    def __init__(self, call: Callable[[], object], *, folder: Path) -> None:
        self._answer = folder / f"answer-{time.monotonic_ns()}"
        self._output = self._answer.with_suffix(".txt")
        environ = {name: text for name, text in os.environ.items() if name.startswith("CRX_")}
        arguments = (call, environ, self._answer, self._output)
        self._process = _forks.Process(target=_serve, args=arguments)
        self._process.start()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process.pid is not None
        return self._process.pid

    def is_running(self) -> bool:
        """Return whether it has not ended."""
        return self._process.is_alive()

    def kill_after(self, seconds: float) -> Ended:
        """Wait for the end at most so long, then send SIGKILL."""
        self._process.join(seconds)
        self._process.kill()
        return self.wait()

    def wait(self, timeout_s: float = TIMEOUT_S) -> Ended:
        """Wait for the end."""
        self._process.join(timeout_s)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            self._process.join()
            raise TimeoutError(f"the process did not end within {timeout_s:g} s")
        value = None
        with contextlib.suppress(OSError):
            value = json.loads(self._answer.read_text())
        output = self._output.read_text(errors="replace") if self._output.exists() else ""
        for path in (self._answer, self._answer.with_suffix(".new"), self._output):
            path.unlink(missing_ok=True)
        self._process.close()
        return Ended(code, value, output)


def call(function: Callable[[], object], *, folder: Path) -> Ended:
    """Call a function in a process of its own; it returns what JSON can hold."""
    return Process(function, folder=folder).wait()


@dataclass(frozen=True, slots=True)
class Command:
    """A command line; `before` changes its process first, to log something or to plant a fault."""

    arguments: tuple[str, ...]
    before: Callable[[], object] | None = None

    def __call__(self) -> object:
        """Run it; ends this process with its exit code."""
        from crx._cli import run

        if self.before is not None:
            self.before()
        sys.exit(run(list(self.arguments)))


def _serve(
    function: Callable[[], object], environ: dict[str, str], answer: Path, out: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("CRX_")]:
        del os.environ[name]
    os.environ.update(environ)
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    # As an interpreter opens them: with a buffer, whatever PYTHONUNBUFFERED says here.
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    value = function()
    # A process that is killed here leaves no half of an answer.
    written = answer.with_suffix(".new")
    written.write_text(json.dumps(value))
    written.replace(answer)
