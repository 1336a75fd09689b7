"""Requests to a model over HTTP: one ahead, the rest side by side, tried again, told in order.

Whatever an SDK raises is one of three things: the moment's trouble (`Again`), the chunk's
(`Failed`) or the run's (`ModelError`). The first is tried again with growing waits, the second
costs one chunk its context, the third ends the run after what was paid for has been handed out.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from types import ModuleType
from typing import Any, Generic, TypeVar

from crx.errors import BudgetSpent, CrxError, ModelError, Offline, UsageError
from crx.types import Context

T = TypeVar("T")
Item = TypeVar("Item")

NO_PROTOCOL = "the answer is not what the protocol says"
BROKE_OFF = "the answer broke off"

_AGAIN = frozenset({408, 409, 429})
_LONGEST_WAIT_S = 300.0
_MOST_IN_A_ROW = 8
# Answers, in widths, that may wait to be told behind one that takes long.
_AHEAD = 4
# As Claude, vLLM and OpenAI, llama-server, and LM Studio put it.
_TOO_LONG = ("too long", "context length", "context size", "context window")


class Again(Exception):
    """A moment's trouble. `lost`: the request may have been served, and charged."""

    def __init__(
        self, why: str, *, after_s: float = 0.0, lost: bool = False, unreachable: bool = False
    ) -> None:
        super().__init__(why)
        self.after_s = after_s
        self.lost = lost
        self.unreachable = unreachable


class Failed(Exception):
    """One chunk's trouble, as a short text. `document`: no other chunk of it would fare better."""

    def __init__(self, why: str, *, document: bool = False) -> None:
        super().__init__(why)
        self.document = document


class Exhausted(Failed):
    """The moment's trouble lasted through all tries."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait before each further try, in seconds, and what to wait with."""

    waits_s: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def keep(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until there is an answer; `Exhausted` or `ModelError` when the tries are used up."""
        for wait_s in self.waits_s:
            try:
                return await ask()
            except Again as again:
                # Requests that were turned away together must not come back together.
                own_s = wait_s * random.uniform(1.0, 1.25)
                await self.sleep(min(max(own_s, again.after_s), _LONGEST_WAIT_S))
        try:
            return await ask()
        except Again as again:
            raise (ModelError if again.unreachable else Exhausted)(str(again)) from None


class Outage:
    """Ends a run when a service has had no answer for so many chunks in a row, in all their tries.

    Those that went side by side count as one: a minute's trouble is not the end of a night's run.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._row = 0

    async def watch(self, asked: Awaitable[T]) -> T:
        """Return what was asked for; `ModelError` where the service seems to be out."""
        before = self._row
        try:
            answer = await asked
        except Exhausted as why:
            self._row += self._row == before
            if self._row < _MOST_IN_A_ROW:
                raise
            raise ModelError(
                f"{self._service}: {why} (all tries of {self._row} chunks in a row); "
                f"check the account, or go on later by the same command"
            ) from None
        self._row = 0
        return answer


def refuse_below(least: int, given: int | None, *, what: str) -> None:
    """Raise `UsageError` where an option is given and too small."""
    if given is not None and given < least:
        raise UsageError(f"{what}={given}: too small; give {least} or more")


def refuse_bad_key(key: str, *, variable: str, service: str) -> None:
    """Raise `ModelError` for a key that no request can carry; the SDKs' own words would show it."""
    if not (key.isascii() and key.isprintable()):
        raise ModelError(
            f"{service}: {variable} holds what no key does, such as a line end; set it anew"
        )


def refuse_offline(what: str) -> None:
    """Raise `Offline` when `CRX_OFFLINE` is set."""
    if os.environ.get("CRX_OFFLINE", "0") not in ("", "0"):
        raise Offline(f"{what}: needs the network, and CRX_OFFLINE is set; unset it to go on")


@contextmanager
def translated(sdk: ModuleType, *, service: str, model: str, key: str) -> Iterator[None]:
    """Turn what the SDK raises into `Again`, `Failed` or `ModelError`."""
    try:
        yield
    except sdk.APIStatusError as error:
        raise _of_status(error, service=service, model=model, key=key) from None
    except sdk.APIConnectionError as error:
        # By name: the SDKs moved from one HTTP library to another that kept the names.
        cause = type(error.__cause__).__name__
        unreachable = cause in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol")
        why = f"{service}: cannot be reached" if unreachable else BROKE_OFF
        hint = "; is it running, and is the address right?" if unreachable else ""
        raise Again(why + hint, lost=not unreachable, unreachable=unreachable) from None
    except (sdk.APIResponseValidationError, json.JSONDecodeError):
        raise Again(NO_PROTOCOL, lost=True) from None
    except sdk.APIError as error:  # told in the middle of an answer
        raise Again(_message(error), lost=True) from None
    except Exception as error:
        # Between two pieces of an answer, an SDK lets its HTTP library's own errors through.
        if not any(kind.__name__ == "TransportError" for kind in type(error).__mro__):
            raise
        raise Again(BROKE_OFF, lost=True) from None


def _of_status(error: Any, *, service: str, model: str, key: str) -> Exception:
    status, said = error.status_code, _message(error)
    if status == 200:  # told in the middle of an answer
        return Again(said, lost=True)
    if status in (401, 403):
        return ModelError(f"{service}: refuses the key ({status}: {said}); check {key}")
    if status == 402 or "credit balance is too low" in said:  # Claude says it with a 400
        return ModelError(f"{service}: refuses for want of payment ({said}); check the account")
    if status == 404:
        return ModelError(f"{service}: no model {model} (404: {said}); check the name and address")
    if status in _AGAIN or status >= 500:
        return Again(f"{status}: {said}", after_s=_retry_after_s(error))
    return Failed(f"{status}: {said}", document=status == 413 or is_too_long(said))


def is_too_long(said: str) -> bool:
    """Does a service say that a prompt is longer than what it reads at once?"""
    return any(words in said for words in _TOO_LONG)


def _message(error: Any) -> str:
    """Return what the server said, as one short line."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    said = inner.get("message", "") if isinstance(inner, dict) else inner
    return " ".join(str(said or error.message).split())[:200]


def _retry_after_s(error: Any) -> float:
    try:
        return float(error.response.headers.get("retry-after", 0))
    except ValueError:
        return 0.0  # a date: our own waits will do


class Spread(Generic[Item]):
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
            tell(result if isinstance(result, Context) else Context("", f"failed:{result}"))
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
                self._cold = self._cold and task.result().outcome.startswith("failed:")

    def _answered(self) -> list[int]:
        return [at for at, result in self._done.items() if isinstance(result, Context)]

    async def _abandon(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def stream(produce: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]]) -> Iterator[T]:
    """Run a coroutine in a thread of its own and yield what it tells; closing cancels it.

    A thread, because the caller may have an event loop of its own (a notebook, a server), and a
    daemon, so that a request that hangs does not keep the process.
    """
    told: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
    started: SimpleQueue[Callable[[], object]] = SimpleQueue()

    async def main() -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        started.put(lambda: loop.call_soon_threadsafe(task.cancel))
        await produce(lambda item: told.put((item,)))

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            told.put(error)
        else:
            told.put(None)

    thread = threading.Thread(target=run, name="crx-remote", daemon=True)
    thread.start()
    cancel = started.get()
    try:
        while (item := told.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item[0]
    finally:
        if thread.is_alive():
            _cancel(cancel)
            thread.join(timeout=1.0)


def _cancel(cancel: Callable[[], object]) -> None:
    try:
        cancel()
    except RuntimeError:
        return  # the loop closed in between: there is nothing left to cancel
