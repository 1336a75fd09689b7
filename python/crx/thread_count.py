"""The number of threads a model runs on: `CRX_THREADS`, else one per physical core."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from crx.errors import UsageError


def thread_count() -> int:
    """Return the number of threads for a model, at least 1.

    Raises `UsageError` for an invalid `CRX_THREADS`.
    """
    requested = os.environ.get("CRX_THREADS", "")
    if not requested:
        return _physical_cores()
    if not requested.isdecimal() or int(requested) < 1:
        raise UsageError(f"CRX_THREADS={requested}: not a number of threads; set it to 1 or more")
    return int(requested)


@cache
def _siblings(cpu: int) -> str:
    """Return the hardware threads of a core, which is read once: each reranked search asks."""
    path = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    return Path(path).read_text()


def _physical_cores() -> int:
    """Count the cores this process may use. On Linux, hardware threads of a core count once."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    try:
        return len(set(map(_siblings, allowed)))
    except OSError:
        return len(allowed)
