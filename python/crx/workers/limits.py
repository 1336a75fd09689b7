"""Limits on a child process, which the kernel enforces.

Those of time are set anew for each piece of work: CPU time by `RLIMIT_CPU`, and wall time by a
timer.
"""

from __future__ import annotations

import contextlib
import math
import resource
import signal
import time
from collections.abc import Iterator


def limit_process(*, memory_bytes: int = 0, file_bytes: int = 0, child_file_bytes: int = 0) -> None:
    """Limit the memory of this process and the size of files that it writes; 0 is no limit.

    A process that it starts may allow itself files of `child_file_bytes`, by default no larger
    ones. A crash leaves no core file.
    """
    _limit(resource.RLIMIT_CORE, 0)
    if memory_bytes:
        _limit(resource.RLIMIT_DATA, memory_bytes)
    if file_bytes:
        _limit(resource.RLIMIT_FSIZE, file_bytes, hard=child_file_bytes)


def restart_time(*, cpu_s: int, wall_s: int) -> None:
    """Let the kernel end this process when what comes now takes too long.

    A lower limit that the user has set for all processes holds, too.
    """
    limit_cpu(cpu_s)
    signal.setitimer(signal.ITIMER_REAL, wall_s)


def limit_cpu(seconds: int) -> None:
    """Let the kernel end this process, or one that it starts, after seconds of the CPU from now.

    A lower limit that the user has set for all processes holds, too.
    """
    soft = math.ceil(time.process_time()) + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


@contextlib.contextmanager
def limit_time(*, cpu_s: int, wall_s: int) -> Iterator[None]:
    """Let the kernel end this process when the block takes too long."""
    restart_time(cpu_s=cpu_s, wall_s=wall_s)
    try:
        yield
    finally:
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))


def _limit(kind: int, most: int, *, hard: int = 0) -> None:
    with contextlib.suppress(ValueError, OSError):  # lower already, or not known here
        resource.setrlimit(kind, (most, hard or most))
