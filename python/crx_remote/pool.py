"""Bounded concurrency with ordered results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from crx.errors import BudgetSpent, CrxError
from crx.types import Context

Item = TypeVar("Item")

# Results that may wait behind a slow item, in multiples of the pool's width.
_LOOKAHEAD = 4


class OrderedPool(Generic[Item]):
    """A pool that processes items concurrently and emits their contexts in order.

    `admit` is called in order before an item starts. If it raises `BudgetSpent`, the item waits
    until a running one ends; if none is running, the run ends. With `warm_first`, items run one at
    a time until the first success. `width` bounds the number of running items, and also how many
    results may wait behind a slow item: waiting results are lost if the process is killed.
    """

    def __init__(
        self,
        work: Callable[[Item], Awaitable[Context]],
        *,
        admit: Callable[[Item], None],
        width: int,
        warm_first: bool,
    ) -> None:
        self._work = work
        self._admit = admit
        self._width = width
        self._cold = warm_first
        self._running: dict[asyncio.Task[Context], int] = {}
        self._done: dict[int, Context | CrxError] = {}
        self._stop: CrxError | None = None

    async def run(self, items: Sequence[Item], emit: Callable[[Context], None]) -> None:
        """Process the items; the error that ends the run is raised after the last result."""
        started = emitted = 0
        try:
            while self._running or started < len(items):
                started = self._start(items, started, emitted)
                if not self._running:
                    break
                await self._wait()
                while isinstance(context := self._done.get(emitted), Context):
                    emit(context)
                    emitted += 1
        finally:
            await self._cancel_running()
        for at in range(emitted, 1 + max(self._succeeded(), default=-1)):
            result = self._done[at]
            emit(result if isinstance(result, Context) else Context.failed(result))
        if self._stop is not None:
            raise self._stop

    def _start(self, items: Sequence[Item], started: int, emitted: int) -> int:
        width = 1 if self._cold else self._width
        last = min(len(items), emitted + _LOOKAHEAD * self._width)
        while started < last and self._stop is None and len(self._running) < width:
            try:
                self._admit(items[started])
            except BudgetSpent as spent:
                if not self._running:
                    self._stop = spent
                break
            self._running[asyncio.ensure_future(self._work(items[started]))] = started
            started += 1
        return started

    async def _wait(self) -> None:
        ended, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        for task in sorted(ended, key=self._running.__getitem__):
            at = self._running.pop(task)
            try:
                self._done[at] = task.result()
            except CrxError as error:
                self._done[at] = error
                self._stop = self._stop or error
            else:
                self._cold = self._cold and task.result().status == "failed"

    def _succeeded(self) -> list[int]:
        return [at for at, result in self._done.items() if isinstance(result, Context)]

    async def _cancel_running(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
