"""The prompt of a chunk, or of a group of chunks, behind a prefix that others share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crx.context.ordering import Answers
from crx.types import Context

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
