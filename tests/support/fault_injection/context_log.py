"""The chunks that the contextualizer `fake:` is asked for, and a fault to plant in a run."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from crx._context.run import ContextRun
from crx.types import Chunk, Context
from crx_contexts.validate import ContextValidator
from crx_runtimes.fake.contextualizer import Fake


def log_requests(log: Path) -> None:
    """Have each request written to a file, before it is answered."""
    situate = Fake._situate
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def logged(self: Fake, head: str, chunk: Chunk, validator: ContextValidator) -> Context:
        os.write(descriptor, f"{chunk.text!r}\n".encode())
        return situate(self, head, chunk, validator)

    Fake._situate = logged  # type: ignore[method-assign]


def requests_in(log: Path) -> list[str]:
    """Return the logged requests."""
    return log.read_text().splitlines() if log.exists() else []


def store_late(log: Path) -> None:
    """Plant a fault: contexts are stored when the run ends, and not one by one."""
    log_requests(log)
    store_context, publish = ContextRun._store_context, ContextRun._publish
    waiting: list[partial[None]] = []

    def keep(self: ContextRun, *arguments: object) -> None:
        waiting.append(partial(store_context, self, *arguments))  # type: ignore[arg-type]

    def store_and_publish(self: ContextRun) -> None:
        while waiting:
            waiting.pop(0)()
        publish(self)

    ContextRun._store_context = keep  # type: ignore[assignment]
    ContextRun._publish = store_and_publish  # type: ignore[method-assign]
