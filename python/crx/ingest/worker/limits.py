"""Limits on the worker process, which the kernel enforces.

The time limits are set anew for each file: CPU time by `RLIMIT_CPU`, and twice as much wall time by
a timer that runs only while a file is parsed, not while its documents wait to be taken.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import select
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

# Bytes that the worker may write to a file: its messages go through pipes.
_FILE_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may take: seconds of CPU time, and millions of bytes of memory."""

    seconds: int = 60
    memory_mb: int = 2000

    @property
    def wall_seconds(self) -> int:
        """Seconds of wall time, more than of CPU time, since other processes run too."""
        return 2 * self.seconds


DEFAULT_LIMITS = ReadLimits()


def limit_process(limits: ReadLimits) -> None:
    """Limit the memory of this process, and the files that it writes."""
    memory = limits.memory_mb * 1_000_000
    for kind, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # lower already, or not known here
            resource.setrlimit(kind, (most, most))


def end_with_parent(pipe: int) -> None:
    """End this process as soon as the other end of a pipe is closed, also while a file is parsed.

    A thread waits for it. Parser code that never lets other threads run is ended by the limits of
    time.
    """
    threading.Thread(target=_end_when_closed, args=(pipe,), daemon=True).start()


def _end_when_closed(pipe: int) -> None:
    waiting = select.poll()
    waiting.register(pipe, 0)  # no event but the end: what is sent stays unread
    while not waiting.poll():
        pass
    os._exit(0)


def restart_time(limits: ReadLimits) -> None:
    """Let the kernel end this process when what comes now takes too long."""
    soft = math.ceil(time.process_time()) + limits.seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
    signal.setitimer(signal.ITIMER_REAL, limits.wall_seconds)


@contextlib.contextmanager
def limit_time(limits: ReadLimits) -> Iterator[None]:
    """Let the kernel end this process when the block takes too long."""
    restart_time(limits)
    try:
        yield
    finally:
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
