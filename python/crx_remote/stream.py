"""Results of a coroutine as an iterator, from a thread with its own event loop."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from crx.deadline import check_deadline, seconds_left

T = TypeVar("T")


def stream(
    produce: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]],
    *,
    slow_s: float = math.inf,
    on_slow: Callable[[float], None] = lambda seconds: None,
) -> Generator[T, None, None]:
    """Run a coroutine in a new thread and yield what it emits; closing cancels the coroutine.

    `on_slow` is called once with the seconds for which nothing was emitted, when these reach
    `slow_s`. At the deadline of the caller `BudgetSpent` is raised.

    A thread, because the caller may run an event loop of its own (a notebook, a server); a daemon
    thread, so that a request without an answer does not keep the process alive.
    """
    results: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
    started: SimpleQueue[Callable[[], object]] = SimpleQueue()

    async def main() -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        started.put(lambda: loop.call_soon_threadsafe(task.cancel))
        await produce(lambda item: results.put((item,)))

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            results.put(error)
        else:
            results.put(None)

    thread = threading.Thread(target=run, name="crx-remote", daemon=True)
    thread.start()
    cancel = started.get()
    try:
        while True:
            begun = time.monotonic()
            try:
                item = _receive(results, slow_s)
            except Empty:
                on_slow(time.monotonic() - begun)
                slow_s = math.inf
                item = _receive(results)
            if item is None:
                break
            if isinstance(item, BaseException):
                raise item
            yield item[0]
    finally:
        if thread.is_alive():
            _cancel(cancel)
            thread.join(timeout=1.0)


def _receive(results: SimpleQueue[T], within_s: float = math.inf) -> T:
    """Return the next result; `Empty` after so many seconds, `BudgetSpent` at the deadline."""
    timeout_s = min(within_s, seconds_left())
    try:
        return results.get(timeout=None if timeout_s == math.inf else timeout_s)
    except Empty:
        check_deadline()
        raise


def _cancel(cancel: Callable[[], object]) -> None:
    try:
        cancel()
    except RuntimeError:
        return  # the loop closed in the meantime, so there is nothing to cancel
