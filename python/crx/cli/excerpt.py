"""Excerpts of passages: the rows of a terminal that hold the words of the query."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crx import _native
from crx.cli.visible import visible_text
from crx.types import Passage

# Characters around the hit's chunk that are laid out to choose rows from.
_LAID_OUT = 8000
# What a row of the best hit's chunk adds to a window, as a share of the weight of all terms. Small:
# it decides between windows that hold about the same terms.
_CHUNK_SHARE = 0.2

# Stands before and after the rows of a passage that is not shown whole.
_CUT = " ..."

_WORD = re.compile(r"[^\W_]+(?:['’_.-][^\W_]+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")

# The lines of a passage, and what was left out: "" if nothing was.
Body = tuple[list[str], str]


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the screen, and the line of the passage it is from, counted from 0."""

    text: str
    line: int


def excerpt(passage: Passage, *, query: str, count: int, width: int) -> Body:
    """Return at most `count` rows of a passage, and how much was left out.

    They are those that hold most of the query's terms, the rare ones of the passage above the
    others, with a preference for the best hit's chunk. Of several such places it is the first.
    """
    if len(passage.text) <= _LAID_OUT:
        rows = _rows([passage.text.strip("\n")], width)[0]
        if len(rows) <= count:
            return [row.text for row in rows], ""
    # Blank lines are left out of what is cut: the few lines there are hold text.
    # Each row leaves room for the mark of what was left out; a single row has two.
    marks = len(_CUT) * (2 if count == 1 else 1)
    parts = _rows(_around_hit(passage), width - marks)
    before, chunk, after = ([row for row in part if row.text] for part in parts)
    rows = [*before, *chunk, *after]
    in_chunk = range(len(before), len(before) + len(chunk))
    start = _best_start(rows, in_chunk=in_chunk, terms=set(_native.analyze(query)), count=count)
    shown = rows[start : start + count]
    lines = [row.text for row in shown]
    left = _left_out(passage, shown)
    if start:
        lines[0] = f"{_CUT.strip()} {lines[0]}"
    if start + count < len(rows):
        lines[-1] = lines[-1].rstrip() + _CUT
    return lines, left


def count_rows(passage: Passage, *, width: int) -> int:
    """Return how many rows a passage takes if nothing is left out."""
    if len(passage.text) > _LAID_OUT:
        return _LAID_OUT
    return len(_rows([passage.text.strip("\n")], width)[0])


def share_rows(needed: Sequence[int], *, total: int, least: int) -> list[int]:
    """Return the rows of each passage: shares that fall as 1 / rank, and what others leave."""
    whole = sum(1 / rank for rank in range(1, len(needed) + 1))
    shares = [
        max(least, min(rows, int(total / rank / whole)))
        for rank, rows in enumerate(needed, start=1)
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


def split_matches(row: str, terms: set[str]) -> list[tuple[str, bool]]:
    """Return the pieces of a row, each with whether it is a word of the query.

    `terms` are those of the query as `analyze` gives them.
    """
    spans = sorted(_find_matches(row, terms))
    pieces: list[tuple[str, bool]] = []
    end = 0
    for start, stop in spans:
        if stop <= end:
            continue
        pieces += [(row[end:start], False)] if start > end else []
        pieces.append((row[max(start, end) : stop], True))
        end = stop
    return [*pieces, (row[end:], False)] if end < len(row) else pieces


def _find_matches(row: str, terms: set[str]) -> Iterator[tuple[int, int]]:
    for word in _WORD.finditer(row):
        if not _UNSPACED.search(word.group()) and terms.intersection(_native.analyze(word.group())):
            yield word.span()
    for run in _UNSPACED.finditer(row):
        # Terms of such scripts are overlapping pairs of characters.
        for at in range(run.start(), run.end() - 1):
            if row[at : at + 2] in terms:
                yield at, at + 2


def _around_hit(passage: Passage) -> tuple[str, str, str]:
    """Return what stands before the best hit's chunk, the chunk, and what stands after it."""
    hit = passage.hits[0]
    start = max(0, hit.start - passage.start)
    end = max(start, hit.end - passage.start)
    text = passage.text
    return (
        text[max(0, start - _LAID_OUT) : start],
        text[start : min(end, start + _LAID_OUT)],
        text[end : end + _LAID_OUT],
    )


def _rows(parts: Sequence[str], width: int) -> list[list[_Row]]:
    """Return the rows of each part; a row names its line, counted over all parts."""
    found: list[list[_Row]] = []
    line = 0
    for part in parts:
        rows: list[_Row] = []
        for at, text in enumerate(part.split("\n")):
            line += at > 0
            rows += [_Row(row, line) for row in wrap(visible_text(text).expandtabs(4), width)]
        found.append(rows)
    return found


def _best_start(rows: Sequence[_Row], *, in_chunk: range, terms: set[str], count: int) -> int:
    """Return where the `count` rows begin that hold most of the terms, by weight."""
    found = [terms.intersection(_native.analyze(row.text)) for row in rows]
    rows_with = Counter(term for held in found for term in held)
    weight = {term: math.log(1 + len(rows) / held) for term, held in rows_with.items()}
    preference = _CHUNK_SHARE * sum(weight.values()) / count

    def score(at: int) -> float:
        window = range(at, min(at + count, len(rows)))
        held = set().union(*(found[row] for row in window))
        inside = sum(row in in_chunk for row in window)
        return round(sum(weight[term] for term in held) + preference * inside, 6)

    scores = [score(at) for at in range(max(0, len(rows) - count) + 1)]
    best = scores.index(max(scores))
    last = best
    while last + 1 < len(scores) and scores[last + 1] == scores[best]:
        last += 1
    # Where several windows hold the same rows, what follows them is shown, after one row before.
    return max(best, last - 1)


def _left_out(passage: Passage, shown: Sequence[_Row]) -> str:
    """Return what a cut passage has besides the rows that are shown."""
    total = sum(1 for line in whole_lines(passage) if line)
    lines = total - len({row.line for row in shown})
    if lines > 0:
        return f"(+{lines:,} line{'s' * (lines > 1)})"
    more = max(1, len(passage.text.strip()) - sum(len(row.text) for row in shown))
    return f"(+{more:,} characters)"


def whole_lines(passage: Passage) -> list[str]:
    """Return the lines of a passage."""
    return [line.rstrip() for line in passage.text.strip("\n").split("\n")]


def prefix(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most `width` columns."""
    taken = 0
    for at, character in enumerate(text):
        taken += _columns_of(character)
        if taken > width:
            return text[:at]
    return text


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrap(line: str, width: int) -> list[str]:
    """Return the rows of a line on a terminal.

    A row ends at a space if there is one in its second half.
    """
    line = line.rstrip()
    rows: list[str] = []
    start = column = space = 0
    for at, character in enumerate(line):
        wide = _columns_of(character)
        if column + wide > max(width, 2):
            end = space + 1 if space >= (start + at) // 2 else at
            rows.append(line[start:end].rstrip())
            start, column = end, columns(line[end:at])
        column += wide
        if character == " ":
            space = at
    return [*rows, line[start:]]
