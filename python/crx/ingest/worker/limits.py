"""Limits on the worker process, which the kernel enforces.

The time limits are set anew for each file: CPU time by `RLIMIT_CPU`, and twice as much wall time by
a timer that runs only while a file is parsed, not while its documents wait to be taken.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import resource
import signal
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


@contextlib.contextmanager
def end_with_parent(pipe: int) -> Iterator[None]:
    """Let the kernel end this process when a pipe's other end is closed during the block.

    Nothing may be sent through the pipe meanwhile: that sends the same signal, `SIGIO`.
    """
    flags = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, flags | os.O_ASYNC)
    try:
        yield
    finally:
        fcntl.fcntl(pipe, fcntl.F_SETFL, flags)


@contextlib.contextmanager
def limit_time(limits: ReadLimits) -> Iterator[None]:
    """Let the kernel end this process when the block takes too long."""
    soft = math.ceil(time.process_time()) + limits.seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
    signal.setitimer(signal.ITIMER_REAL, limits.wall_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
