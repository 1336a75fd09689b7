"""Bounded concurrency with ordered results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from crx.errors import BudgetSpent, CrxError
from crx.types import Context

Item = TypeVar("Item")

# Answers, in widths, that may wait to be told behind one that takes long.
_AHEAD = 4


class OrderedPool(Generic[Item]):
    """Items done side by side and told in order.

    `admit` is called before an item is begun, in order; when it raises `BudgetSpent` the item
    waits for one under way to end, and ends the run if there is none. With `warm_first`, items go
    one at a time until one was answered. `width` bounds how many are under way, and what may run
    ahead of a slow one: answers that wait behind it are lost if the process is killed.
    """

    def __init__(
        self,
        do: Callable[[Item], Awaitable[Context]],
        *,
        admit: Callable[[Item], None],
        width: int,
        warm_first: bool,
    ) -> None:
        self._do = do
        self._admit = admit
        self._width = width
        self._cold = warm_first
        self._running: dict[asyncio.Task[Context], int] = {}
        self._done: dict[int, Context | CrxError] = {}
        self._stop: CrxError | None = None

    async def run(self, items: Sequence[Item], tell: Callable[[Context], None]) -> None:
        """Do the items. What ends the run is raised after what was answered has been told."""
        begun = told = 0
        try:
            while self._running or begun < len(items):
                begun = self._begin(items, begun, told)
                if not self._running:
                    break
                await self._wait()
                while isinstance(context := self._done.get(told), Context):
                    tell(context)
                    told += 1
        finally:
            await self._abandon()
        for at in range(told, 1 + max(self._answered(), default=-1)):
            result = self._done[at]
            tell(result if isinstance(result, Context) else Context.failed(result))
        if self._stop is not None:
            raise self._stop

    def _begin(self, items: Sequence[Item], begun: int, told: int) -> int:
        room = 1 if self._cold else self._width
        last = min(len(items), told + _AHEAD * self._width)
        while begun < last and self._stop is None and len(self._running) < room:
            try:
                self._admit(items[begun])
            except BudgetSpent as spent:
                if not self._running:
                    self._stop = spent
                break
            self._running[asyncio.ensure_future(self._do(items[begun]))] = begun
            begun += 1
        return begun

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

    def _answered(self) -> list[int]:
        return [at for at, result in self._done.items() if isinstance(result, Context)]

    async def _abandon(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
