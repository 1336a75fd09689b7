"""The deadline of a run, which requests and child processes below it keep."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from crx.errors import BudgetSpent


class _Deadline(NamedTuple):
    end: float
    budget_s: float


_CURRENT: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(budget_s: float, *, began: float | None = None) -> Iterator[None]:
    """Within the block, waits of this thread end with `BudgetSpent` after so many seconds.

    They count from `began`, a time of `time.monotonic`, or from now on.
    """
    start = time.monotonic() if began is None else began
    before = _CURRENT.set(_Deadline(start + budget_s, budget_s))
    try:
        yield
    finally:
        _CURRENT.reset(before)


def seconds_left() -> float:
    """Return the seconds until the deadline, at least 0; infinity without one."""
    current = _CURRENT.get()
    return math.inf if current is None else max(0.0, current.end - time.monotonic())


def check_deadline() -> None:
    """Raise `BudgetSpent` if the deadline has passed."""
    current = _CURRENT.get()
    if current is not None and time.monotonic() >= current.end:
        raise BudgetSpent(f"the budget of {current.budget_s:g} s is spent")
