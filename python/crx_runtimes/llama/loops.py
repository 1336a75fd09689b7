"""Tokens that would continue a loop, which a small model falls into when it decodes greedily."""

from __future__ import annotations

from collections.abc import Sequence

# Tokens of a run that is not repeated: in a line of a form about five words, which validation would
# reject; in other answers, which may quote the same path or code twice, a long line of it.
RUN_OF_LINE = 6
RUN_OF_ANSWER = 24
# Tokens within which a repeated run is a loop.
SPAN = 64


def looping_tokens(tokens: Sequence[int], *, run: int) -> set[int]:
    """Return the tokens that followed the last `run` tokens when these occurred shortly before."""
    last, first = tokens[-run:], max(0, len(tokens) - run - SPAN)
    return {tokens[i + run] for i in range(first, len(tokens) - run) if tokens[i : i + run] == last}
