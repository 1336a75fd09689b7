"""Order of contexts that arrive in any order."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator

from crx.errors import BudgetSpent, ModelError
from crx.types import Context

Answers = Generator[tuple[int, Context], None, None]


def restore_order(answers: Answers) -> Iterator[Context]:
    """Yield contexts by position, each as soon as all before it have arrived.

    When the run ends early, the positions that are missing before an arrived context yield a
    failed one, so that no arrived context is lost.
    """
    ready: dict[int, Context] = {}
    next_position = 0
    with contextlib.closing(answers):
        try:
            for at, context in answers:
                ready[at] = context
                while next_position in ready:
                    yield ready.pop(next_position)
                    next_position += 1
        except (ModelError, BudgetSpent) as error:
            for at in range(next_position, 1 + max(ready, default=-1)):
                yield ready.get(at, Context.failed(error))
            raise
