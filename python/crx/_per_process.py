"""Values that a forked child must make again: open files, models, locks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from crx.errors import UsageError

_Value = TypeVar("_Value")


class PerProcess(Generic[_Value]):
    """A value that is made on first use, and again on first use in a forked child.

    Any thread may ask for it; it is made once.
    """

    def __init__(self, make: Callable[[], _Value], *, made: _Value | None = None) -> None:
        """`made` is the value, where there is one already."""
        self._make = make
        self._lock = threading.RLock()
        self._value = made
        self._ended = ""
        _known.add(self)

    def get(self) -> _Value:
        """Return the value; raises what making it raises, and `UsageError` after `end`."""
        with self._lock:
            if self._ended:
                raise UsageError(self._ended)
            if self._value is None:
                self._value = self._make()
            return self._value

    def forget(self) -> None:
        """Let the next use make the value again."""
        with self._lock:
            self._value = None

    def end(self, message: str) -> _Value | None:
        """Return the value if there is one; from now on, `get` raises `UsageError` with a message.

        A second call returns None.
        """
        with self._lock:
            value, self._value, self._ended = self._value, None, message
            return value

    def _after_fork(self) -> None:
        _inherited.append(self._value)
        self._lock = threading.RLock()
        self._value = None


_known: WeakSet[PerProcess[Any]] = WeakSet()
# What forked children inherited: to close it would disturb the parent, so it is kept.
_inherited: list[object] = []


def _after_fork_in_child() -> None:
    for each in _known:
        each._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
