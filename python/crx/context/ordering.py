"""Contexts as they come, in the order of their chunks."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator

from crx.errors import BudgetSpent, ModelError
from crx.types import Context

Answers = Generator[tuple[int, Context], None, None]


def restore_order(answers: Answers) -> Iterator[Context]:
    """Yield contexts by position, each as soon as all before it have come.

    When the run ends early, a chunk that others overtook is failed, so that those are not lost.
    """
    ready: dict[int, Context] = {}
    told = 0
    with contextlib.closing(answers):
        try:
            for at, context in answers:
                ready[at] = context
                while told in ready:
                    yield ready.pop(told)
                    told += 1
        except (ModelError, BudgetSpent) as error:
            for at in range(told, 1 + max(ready, default=-1)):
                yield ready.get(at, Context.failed(error))
            raise
