"""How many threads a model runs on: `CRX_THREADS`, else one a physical core."""

from __future__ import annotations

import os
from pathlib import Path

from crx.errors import UsageError


def threads() -> int:
    """Return the threads a model runs on, at least 1; `UsageError` for a bad `CRX_THREADS`."""
    asked = os.environ.get("CRX_THREADS", "")
    if not asked:
        return _physical_cores()
    if not asked.isdecimal() or int(asked) < 1:
        raise UsageError(f"CRX_THREADS={asked}: not a number of threads; give 1 or more")
    return int(asked)


def _physical_cores() -> int:
    """Count the cores this process may use; two threads of one core count once, on Linux."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    try:
        return len({Path(topology.format(cpu)).read_text() for cpu in allowed})
    except OSError:
        return len(allowed)
