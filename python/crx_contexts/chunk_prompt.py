"""Prompts of chunks behind a prefix that others share, and the order of their answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

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


# The text of an answer and whether it ended before its token limit, to a context.
Validate = Callable[[str, bool], Context]


@dataclass(frozen=True, slots=True)
class ChunkPrompt:
    """What follows the prefix for one chunk; behind an empty prefix, the whole prompt.

    `firmer` is sent instead of `suffix` after an answer that `validate` rejected; without it, the
    chunk is asked for once. `grammar` (GBNF) is the form of the answer, "" for any.
    """

    suffix: str
    firmer: str | None
    validate: Validate
    grammar: str = ""


# Answers to prompts, each with its position. Prompts that are added to the sequence while answers
# arrive are answered, too.
Ask = Callable[[Sequence[ChunkPrompt]], Answers]
