"""Searches for patterns, in threads of their own, so that no pattern holds up other searches."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from crx import _native
from crx.errors import Busy
from crx_serve.threads import run_under

Returned = TypeVar("Returned")

# How nice a thread is, on Linux, where each has a priority of its own.
_NICENESS = 15


class PatternThreads:
    """Runs searches for patterns at a low priority, few at a time.

    Half of the cores search for patterns, and as many searches wait. Each ends by its own limit of
    time. Callers wait in their threads, of which there are more than searches are let in.
    """

    def __init__(self, *, count: int = 0) -> None:
        """Use `count` threads; 0: one for two cores."""
        threads = count or max(1, (os.cpu_count() or 1) // 2)
        self._free = threading.BoundedSemaphore(2 * threads)
        self._pool = ThreadPoolExecutor(
            threads, thread_name_prefix="crx-pattern", initializer=_step_back
        )

    def run(self, search: Callable[[], Returned]) -> Returned:
        """Return what a search returns; raises what it raises, and `Busy` if too many run."""
        if not self._free.acquire(blocking=False):
            raise Busy("too many searches for patterns at a time; try again, or search for words")
        try:
            return self._pool.submit(run_under, _native.current_interrupt(), search).result()
        finally:
            self._free.release()

    def close(self) -> None:
        """Drop the searches that have not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _step_back() -> None:
    """Have this thread work alone, and after those of other searches."""
    _native.work_alone()
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
