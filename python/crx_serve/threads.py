"""Threads that run the searches of the server, bounded in number."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from crx import _native

Returned = TypeVar("Returned")


class RequestThreads:
    """Runs functions in threads, so that the event loop goes on.

    A caller that gives up interrupts the searches of its function, and so frees the thread.
    """

    def __init__(self, *, count: int = 0) -> None:
        """Use at most `count` threads; 0: two for each core."""
        self._pool = ThreadPoolExecutor(
            count or 2 * (os.cpu_count() or 1), thread_name_prefix="crx-serve"
        )
        self._interrupts: set[_native.Interrupt] = set()

    async def run(self, function: Callable[..., Returned], *args: Any) -> Returned:
        """Return what a function returns; raises what it raises."""
        interrupt = _native.Interrupt()
        self._interrupts.add(interrupt)
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, run_under, interrupt, function, *args
            )
        finally:
            interrupt.set()
            self._interrupts.discard(interrupt)

    def close(self) -> None:
        """Drop the functions that have not begun, and interrupt the others."""
        for interrupt in self._interrupts:
            interrupt.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


def run_under(
    interrupt: _native.Interrupt | None, function: Callable[..., Returned], *args: Any
) -> Returned:
    """Return what a function returns whose searches an interrupt ends, in this thread."""
    with interrupt or contextlib.nullcontext():
        return function(*args)
