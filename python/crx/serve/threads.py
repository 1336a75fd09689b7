"""Threads that run the searches of the server, bounded in number."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Returned = TypeVar("Returned")


class RequestThreads:
    """Runs functions in threads, so that the event loop goes on.

    A caller that gives up leaves a function that has begun to its thread: no more threads are made.
    """

    def __init__(self, *, count: int = 0) -> None:
        """Use at most `count` threads; 0: two for each core."""
        self._pool = ThreadPoolExecutor(
            count or 2 * (os.cpu_count() or 1), thread_name_prefix="crx-serve"
        )

    async def run(self, function: Callable[..., Returned], *args: Any) -> Returned:
        """Return what a function returns; raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)

    def close(self) -> None:
        """Drop the functions that have not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)
