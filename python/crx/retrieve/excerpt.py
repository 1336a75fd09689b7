"""Excerpts of passages: the rows that hold the words of the query, and where those words are."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from crx import _native
from crx.types import Passage

# Characters around the hit's chunk that are laid out to choose rows from.
LAID_OUT = 8000
# What a row of the best hit's chunk adds to a window, as a share of the weight of all terms. Small:
# it decides between windows that hold about the same terms.
_CHUNK_SHARE = 0.2

_WORD = re.compile(r"[^\W_]+(?:['’_.-][^\W_]+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


@dataclass(frozen=True, slots=True)
class ExcerptRow:
    """A line of text, or a part of one, and the line of the passage it is from, counted from 0."""

    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRows:
    """Rows of a passage that follow each other, and whether others stand before and after them."""

    rows: tuple[ExcerptRow, ...]
    cut_before: bool
    cut_after: bool


def find_excerpt(
    passage: Passage, *, query: str, count: int, width: int, visible: Callable[[str], str]
) -> ShownRows:
    """Return at most `count` rows of a passage, none of them blank.

    They are those that hold most of the query's terms, the rare ones of the passage above the
    others, with a preference for the best hit's chunk. Of several such places it is the first.
    `visible` returns the form in which a line is shown.
    """
    first, *around = _around_hit(passage)
    first_line = passage.text.count("\n", 0, first)
    parts = layout_rows(around, width=width, visible=visible, first_line=first_line)
    before, chunk, after = ([row for row in part if row.text] for part in parts)
    rows = [*before, *chunk, *after]
    in_chunk = range(len(before), len(before) + len(chunk))
    start = _best_start(rows, in_chunk=in_chunk, terms=set(_native.analyze(query)), count=count)
    return ShownRows(
        rows=tuple(rows[start : start + count]),
        cut_before=start > 0,
        cut_after=start + count < len(rows),
    )


def layout_rows(
    parts: Sequence[str], *, width: int, visible: Callable[[str], str], first_line: int = 0
) -> list[list[ExcerptRow]]:
    """Return the rows of each part; a row names its line, counted over all parts."""
    found: list[list[ExcerptRow]] = []
    line = first_line
    for part in parts:
        rows: list[ExcerptRow] = []
        for at, text in enumerate(part.split("\n")):
            line += at > 0
            rows += [ExcerptRow(row, line) for row in wrap(visible(text).expandtabs(4), width)]
        found.append(rows)
    return found


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


def columns(text: str) -> int:
    """Return how many columns a text takes; wide characters take two."""
    return len(text) if text.isascii() else sum(map(columns_of, text))


def columns_of(character: str) -> int:
    """Return how many columns a character takes: 0, 1 or 2."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrap(line: str, width: int) -> list[str]:
    """Return the rows of a line, each of at most `width` columns.

    A row ends at a space if there is one in its second half.
    """
    line = line.rstrip()
    if len(line) <= width and line.isascii():
        return [line]
    rows: list[str] = []
    start = column = space = 0
    for at, character in enumerate(line):
        wide = columns_of(character)
        if column + wide > max(width, 2):
            end = space + 1 if space >= (start + at) // 2 else at
            rows.append(line[start:end].rstrip())
            start, column = end, columns(line[end:at])
        column += wide
        if character == " ":
            space = at
    return [*rows, line[start:]]


def _find_matches(row: str, terms: set[str]) -> Iterator[tuple[int, int]]:
    for word in _WORD.finditer(row):
        if not _UNSPACED.search(word.group()) and terms.intersection(_native.analyze(word.group())):
            yield word.span()
    for run in _UNSPACED.finditer(row):
        # Terms of such scripts are overlapping pairs of characters.
        for at in range(run.start(), run.end() - 1):
            if row[at : at + 2] in terms:
                yield at, at + 2


def _around_hit(passage: Passage) -> tuple[int, str, str, str]:
    """Return what stands before the best hit's chunk and where that begins, the chunk, the rest."""
    hit = passage.hits[0]
    start = max(0, hit.start - passage.start)
    end = max(start, hit.end - passage.start)
    text = passage.text
    first = max(0, start - LAID_OUT)
    return (
        first,
        text[first:start],
        text[start : min(end, start + LAID_OUT)],
        text[end : end + LAID_OUT],
    )


def _best_start(rows: Sequence[ExcerptRow], *, in_chunk: range, terms: set[str], count: int) -> int:
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
