"""Excerpts of passages on a terminal: how many rows each takes, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import NamedTuple

from crx import _native
from crx._cli.visible import visible_text
from crx._show.excerpt import (
    LAID_OUT,
    ExcerptRow,
    ShownRows,
    columns_of,
    find_excerpt,
    layout_of,
    layout_prose,
    layout_rows,
    shows_code,
    split_matches,
)
from crx._show.row_choice import count_code_rows
from crx._text.query_terms import terms_for
from crx.types import Passage

# The shares of the rows of a screen that the best five hits get in prose, as far as they go. Chosen
# on what is printed of wiki-fr, by words, on 30 lines of 80 columns: 84.0% of 150 answers, which is
# +4.0 [.7, 8.0] beside shares of three hits (.5, .35, .25). Elsewhere: wiki-en +2.5 [.0, 5.0] and
# wiki-vi .0 [-2.0, 2.0] (200 each), contracts +.7 [-2.7, 4.0] (150), wiki-zh -.5 [-1.5, .0] (200).
_SHARES = (0.5, 0.25, 0.2, 0.1, 0.1)
# Stands after a row before which or after which others are left out.
_CUT = " ..."


class Body(NamedTuple):
    """The lines of a passage, what was left out ("" if nothing was), and if any before them was."""

    lines: list[str]
    left: str
    cut_before: bool = False


def excerpt(
    passage: Passage,
    *,
    query: str,
    counts: Sequence[int],
    width: int,
    shown: Set[str] = frozenset(),
) -> Body:
    """Return rows of a passage, so many of each of its hits, and how much was left out.

    They are the whole passage if it fits, else those of `find_excerpt`, for which `shown` are the
    n-grams of the passages above.
    """
    if len(passage.text) <= LAID_OUT:
        rows = _whole(passage, width)
        if len(rows) <= sum(counts):
            return Body([row.text for row in rows], "")
    # Blank lines are left out of what is cut: the few lines there are hold text.
    found = find_excerpt(
        passage,
        query=query,
        counts=counts,
        width=width,
        visible=visible_text,
        shown=shown,
        reflow=True,
    )
    terms = terms_for(query, passage.text)
    lines: list[str] = []
    for fragment in found.fragments:
        if lines:
            lines[-1] = _mark_cut(lines[-1], width, terms)
        lines += [row.text for row in fragment]
    if found.cut_after:
        lines[-1] = _mark_cut(lines[-1], width, terms)
    return Body(lines, _left_out(passage, found), found.cut_before)


def best_row(passage: Passage, *, query: str, width: int, shown: Set[str]) -> str:
    """Return the row of a passage that most likely answers."""
    found = find_excerpt(
        passage, query=query, counts=(1,), width=width, visible=visible_text, shown=shown
    )
    return found.rows[0].text.strip()


def _mark_cut(row: str, width: int, terms: set[str]) -> str:
    """Return a row with the mark of what is left out after it, cut to the width.

    The mark is left off if it would take a word of the query away, of which `terms` are those.
    """
    cut = prefix(row.rstrip(), width - len(_CUT)).rstrip()
    return cut + _CUT if _matches(cut, terms) == _matches(row, terms) else row


def _matches(row: str, terms: set[str]) -> list[str]:
    return [piece for piece, is_match in split_matches(row, terms) if is_match]


def count_rows(passage: Passage, *, width: int) -> int:
    """Return how many rows a passage takes if nothing is left out."""
    return len(_whole(passage, width)) if len(passage.text) <= LAID_OUT else LAID_OUT


def share_rows(
    passages: Sequence[Passage], *, needed: Sequence[int], total: int, width: int
) -> list[list[int]]:
    """Return how many rows each hit of each passage gets of a total; passages may get none.

    The best hits get shares as `_SHARES` are, of source code `count_code_rows`. What is left
    completes them, then further hits, best first, then the text around them, up to the rows that
    each passage needs.
    """
    ranked = sorted(
        (-hit.score, at, number)
        for at, each in enumerate(passages)
        for number, hit in enumerate(each.hits)
    )
    ranked_hits = [(at, number) for _, at, number in ranked]
    shares = [[0] * len(each.hits) for each in passages]
    left = total

    def give(at: int, number: int, most: int) -> None:
        nonlocal left
        free = needed[at] - sum(shares[at])
        more = max(0, min(most - shares[at][number], free, left))
        shares[at][number] += more
        left -= more

    sizes = {hit: _rows_of_hit(passages[hit[0]], hit[1], width) for hit in ranked_hits}
    for (at, number), share in zip(ranked_hits, _SHARES, strict=False):
        rows = sizes[at, number]
        if shows_code(passages[at]):
            give(at, number, count_code_rows(rows))
        else:
            give(at, number, min(len(rows), math.ceil(share * total)))
    for at, number in ranked_hits:
        give(at, number, len(sizes[at, number]))
    for at, _ in ranked_hits:
        give(at, 0, needed[at])
    return shares


def _rows_of_hit(passage: Passage, number: int, width: int) -> list[str]:
    """Return the rows of a hit that are not blank."""
    text = passage.hits[number].text[:LAID_OUT]
    laid_out = layout_of(passage)([text], width=width, visible=visible_text)[0]
    rows = (row.text for row in laid_out)
    return [row for row in rows if row.strip()]


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


def shorten(text: str, width: int) -> str:
    """Return a line of at most `width` columns: a longer one is cut between words and marked."""
    if prefix(text, width) == text or width <= len(_CUT):
        return prefix(text, width)
    cut = prefix(text, width - len(_CUT))
    before, _, part = cut.rpartition(" ")
    # A long word is cut in two, and so is a text without blanks.
    is_within = not text[len(cut)].isspace()
    return (before if is_within and before and len(part) < width // 3 else cut).rstrip() + _CUT


def _whole(passage: Passage, width: int) -> list[ExcerptRow]:
    lay_out = layout_rows if _native.is_source_code(passage.text) else layout_prose
    return lay_out([passage.text.strip("\n")], width=width, visible=visible_text)[0]


def _left_out(passage: Passage, found: ShownRows) -> str:
    """Return what a passage has besides the rows that are shown, "" if they are all."""
    is_cut = found.cut_before or found.cut_after or len(found.fragments) > 1
    if len(passage.text) <= LAID_OUT and not is_cut:
        return ""
    filled = {at for at, line in enumerate(passage.text.split("\n")) if line.strip()}
    shown = {line for row in found.rows for line in range(row.line, row.last_line + 1)}
    if lines := len(filled - shown):
        return f"(+{lines:,} line{'s' * (lines > 1)})"
    more = max(1, len(passage.text.strip()) - sum(len(row.text) for row in found.rows))
    return f"(+{more:,} characters)"
