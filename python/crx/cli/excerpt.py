"""Excerpts of passages on a terminal: how many rows each takes, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence, Set

from crx.cli.visible import visible_text
from crx.ingest.source_code import is_source_code
from crx.retrieve.excerpt import (
    LAID_OUT,
    ExcerptRow,
    columns_of,
    find_excerpt,
    layout_code,
    layout_rows,
)
from crx.retrieve.row_choice import count_code_rows
from crx.types import Passage

# Stands before and after the rows of a passage that is not shown whole.
_CUT = " ..."

# The lines of a passage, and what was left out: "" if nothing was.
Body = tuple[list[str], str]


def excerpt(
    passage: Passage, *, query: str, count: int, width: int, shown: Set[str] = frozenset()
) -> Body:
    """Return at most `count` rows of a passage, and how much was left out.

    They are the whole passage if it fits, else those of `find_excerpt`, for which `shown` are the
    n-grams of the passages above.
    """
    if len(passage.text) <= LAID_OUT:
        rows = _whole(passage, width)
        if len(rows) <= count:
            return [row.text for row in rows], ""
    # Blank lines are left out of what is cut: the few lines there are hold text.
    # Each row leaves room for the mark of what was left out; a single row has two.
    marks = len(_CUT) * (2 if count == 1 else 1)
    found = find_excerpt(
        passage,
        query=query,
        count=count,
        width=width - marks,
        visible=visible_text,
        shown=shown,
    )
    lines: list[str] = []
    for fragment in found.fragments:
        if lines:
            lines[-1] = lines[-1].rstrip() + _CUT
        lines += [row.text for row in fragment]
    if found.cut_before:
        lines[0] = f"{_CUT.strip()} {lines[0]}"
    if found.cut_after:
        lines[-1] = lines[-1].rstrip() + _CUT
    return lines, _left_out(passage, found.rows)


def count_rows(passage: Passage, *, width: int) -> int:
    """Return how many rows a passage takes if nothing is left out."""
    return len(_whole(passage, width)) if len(passage.text) <= LAID_OUT else LAID_OUT


def share_rows(
    needed: Sequence[int], *, weights: Sequence[float], total: int, least: int
) -> list[int]:
    """Return the rows of each passage: shares as the weights are, and what others leave."""
    whole = sum(weights)
    shares = [
        max(least, min(rows, int(total * weight / whole)))
        for rows, weight in zip(needed, weights, strict=True)
    ]
    left = total - sum(shares)
    for at, rows in enumerate(needed):
        more = max(0, min(rows - shares[at], left))
        shares[at] += more
        left -= more
    while left < 0 and max(shares) > least:
        shares[shares.index(max(shares))] -= 1
        left += 1
    return shares


def weigh_passages(passages: Sequence[Passage]) -> list[float]:
    """Return the weight of each passage: the sum of 1 / rank over its hits, of all passages."""
    ranked = sorted((-hit.score, at) for at, each in enumerate(passages) for hit in each.hits)
    weights = [0.0] * len(passages)
    for rank, (_, at) in enumerate(ranked, start=1):
        weights[at] += 1 / rank
    return weights


def share_code_rows(
    passages: Sequence[Passage],
    *,
    shares: Sequence[int],
    needed: Sequence[int],
    width: int,
    least: int,
) -> list[int]:
    """Return the rows of each passage after those of source code have shared theirs anew.

    A passage of source code gets the rows of the parts that are shown of the best hits, as far as
    all shares of source code go, since half of a definition tells more than a line of each.
    """
    code = [at for at, passage in enumerate(passages) if is_source_code(passage.text)]
    total = sum(shares[at] for at in code)
    counts = dict.fromkeys(code, 0)

    def taken() -> int:
        return sum(min(needed[at], max(count, least)) for at, count in counts.items())

    ranked = sorted(
        (-hit.score, at, number) for at in code for number, hit in enumerate(passages[at].hits)
    )
    for _, at, number in ranked:
        rows = layout_code([passages[at].hits[number].text], width=width, visible=visible_text)[0]
        part = count_code_rows([row.text for row in rows])
        counts[at] += part
        if taken() > total:
            counts[at] -= part
    shared = list(shares)
    for at, count in counts.items():
        shared[at] = min(needed[at], max(count, least))
    left = total - sum(shared[at] for at in code)
    for at in code:
        more = max(0, min(needed[at] - shared[at], left))
        shared[at] += more
        left -= more
    return shared


def whole_lines(passage: Passage) -> list[str]:
    """Return the lines of a passage."""
    return [line.rstrip() for line in passage.text.strip("\n").split("\n")]


def prefix(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most `width` columns."""
    taken = 0
    for at, character in enumerate(text):
        taken += columns_of(character)
        if taken > width:
            return text[:at]
    return text


def _whole(passage: Passage, width: int) -> list[ExcerptRow]:
    return layout_rows([passage.text.strip("\n")], width=width, visible=visible_text)[0]


def _left_out(passage: Passage, shown: Sequence[ExcerptRow]) -> str:
    """Return what a cut passage has besides the rows that are shown."""
    total = sum(1 for line in whole_lines(passage) if line)
    lines = total - len({row.line for row in shown})
    if lines > 0:
        return f"(+{lines:,} line{'s' * (lines > 1)})"
    more = max(1, len(passage.text.strip()) - sum(len(row.text) for row in shown))
    return f"(+{more:,} characters)"
