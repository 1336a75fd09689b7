"""Excerpts of passages: the rows that hold the words of the query, and where those words are."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from crx import _native
from crx.ingest.source_code import is_source_code
from crx.types import Passage

# Characters around the hit's chunk that are laid out to choose rows from.
LAID_OUT = 8000
# Rows of a fragment below which an excerpt is not split, and the fragments of one.
_FRAGMENT_ROWS = 4
_FRAGMENTS = 2
# What counts in the choice of rows, relative to the query's terms, each counted once: the rank of
# the rows' chunks, and each further occurrence of a term. A term of the title or of the outline is
# of the whole document and tells little of a row. All were chosen by the share of answers shown on
# seven question sets in five languages; half or twice each value changes it by five points at most.
_CHUNK_SHARE = 2.0
_OCCURRENCE_SHARE = 1.0
_DOCUMENT_TERM_WEIGHT = 0.25

_WORD = re.compile(r"[^\W_]+(?:['’_.-][^\W_]+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


@dataclass(frozen=True, slots=True)
class ExcerptRow:
    """A line of text, or a part of one, and the line of the passage it is from, counted from 0."""

    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRows:
    """Rows of a passage, in fragments, and whether others stand before and after them.

    The rows of a fragment follow each other; between two fragments others are left out.
    """

    fragments: tuple[tuple[ExcerptRow, ...], ...]
    cut_before: bool
    cut_after: bool

    @property
    def rows(self) -> tuple[ExcerptRow, ...]:
        """The rows of all fragments."""
        return tuple(row for fragment in self.fragments for row in fragment)


@dataclass(frozen=True, slots=True)
class _RowValues:
    """What is known of each row of a passage: the query's terms in it, and its chunk's value."""

    terms: Sequence[set[str]]
    weights: Mapping[str, float]
    chunks: Sequence[float]

    def held(self, rows: Iterable[int]) -> set[str]:
        """Return the terms of the query that some rows hold."""
        return set().union(*(self.terms[row] for row in rows))

    def score(self, rows: Sequence[int], *, shown: Set[str] = frozenset()) -> float:
        """Return the value of rows beside others that show some terms already."""
        total = sum(self.weights.values()) or 1.0
        held = self.held(rows) - shown
        occurrences = sum(self.weights[term] for row in rows for term in self.terms[row])
        chunks = sum(self.chunks[row] for row in rows)
        mean = (_CHUNK_SHARE * chunks + _OCCURRENCE_SHARE * occurrences / total) / len(rows)
        return round(sum(self.weights[term] for term in held) / total + mean, 6)


def find_excerpt(
    passage: Passage, *, query: str, count: int, width: int, visible: Callable[[str], str]
) -> ShownRows:
    """Return at most `count` rows of a passage, none of them blank.

    They are those that hold most of the query's terms, the rare ones of the passage above the
    others, in the chunks of the best hits. Of several such places it is the first. If there are
    rows enough, they are of two places, except in source code. `visible` returns the form in which
    a line is shown.
    """
    first, parts, chunk_values = _parts_by_hit(passage)
    first_line = passage.text.count("\n", 0, first)
    by_part = layout_rows(parts, width=width, visible=visible, first_line=first_line)
    placed = [
        (row, value)
        for part, value in zip(by_part, chunk_values, strict=True)
        for row in part
        if row.text
    ]
    rows = [row for row, _ in placed]
    values = _value_rows(
        rows, [value for _, value in placed], query=query, known=_document_terms(passage)
    )
    pieces = 1 if is_source_code("".join(parts)) else min(_FRAGMENTS, count // _FRAGMENT_ROWS)
    windows = _best_windows(values, count=count, pieces=max(1, pieces))
    return ShownRows(
        fragments=tuple(tuple(rows[window.start : window.stop]) for window in windows),
        cut_before=windows[0].start > 0,
        cut_after=windows[-1].stop < len(rows),
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


def _parts_by_hit(passage: Passage) -> tuple[int, list[str], list[float]]:
    """Return where the text around the best hit begins, its parts, and the value of each.

    A part ends where the chunk of a hit begins or ends. Its value is 1 / the rank in the passage of
    the best hit that it is of, 0 for others.
    """
    text = passage.text
    spans = [
        (max(0, hit.start - passage.start), min(len(text), hit.end - passage.start))
        for hit in passage.hits
    ]
    first = max(0, spans[0][0] - LAID_OUT)
    last = min(len(text), spans[0][0] + 2 * LAID_OUT)
    borders = sorted({first, last, *(at for span in spans for at in span if first < at < last)})
    parts = list(pairwise(borders))
    values = [
        max(
            (
                1 / rank
                for rank, (start, end) in enumerate(spans, start=1)
                if start <= at and stop <= end
            ),
            default=0.0,
        )
        for at, stop in parts
    ]
    return first, [text[at:stop] for at, stop in parts], values


def _value_rows(
    rows: Sequence[ExcerptRow], chunks: Sequence[float], *, query: str, known: Set[str]
) -> _RowValues:
    """Return the terms of the query in each row, and their weights; `known` ones weigh less."""
    asked = set(_native.analyze(query))
    terms = [asked.intersection(_native.analyze(row.text)) for row in rows]
    rows_with = Counter(term for held in terms for term in held)
    weights = {
        term: math.log(1 + len(rows) / count) * (_DOCUMENT_TERM_WEIGHT if term in known else 1)
        for term, count in rows_with.items()
    }
    return _RowValues(terms, weights, chunks)


def _document_terms(passage: Passage) -> set[str]:
    """Return the terms of the title, and of the outlines of the hits' chunks."""
    outlines = dict.fromkeys(hit.outline for hit in passage.hits)
    return set(_native.analyze(" ".join((passage.title, *outlines))))


def _best_windows(values: _RowValues, *, count: int, pieces: int) -> list[range]:
    """Return the windows of rows to show, `count` rows in all, in the order of the text.

    They are one window, unless several smaller ones have more value.
    """
    total = len(values.terms)
    if total <= count:
        return [range(total)]
    whole = _best_window(values, range(total - count + 1), size=count)
    parts: list[range] = []
    for piece in range(pieces):
        size = count // pieces + (piece < count % pieces)
        free = [
            at
            for at in range(total - size + 1)
            if all(at + size <= part.start or at >= part.stop for part in parts)
        ]
        shown = values.held(_rows_of(parts))
        parts += [_best_window(values, free, size=size, shown=shown)] if free else []
    if len(parts) < pieces or values.score(_rows_of(parts)) <= values.score(whole):
        return [whole]
    return _join(sorted(parts, key=lambda part: part.start))


def _rows_of(windows: Sequence[range]) -> list[int]:
    return [row for window in windows for row in window]


def _best_window(
    values: _RowValues, starts: Sequence[int], *, size: int, shown: Set[str] = frozenset()
) -> range:
    scores = {at: values.score(range(at, at + size), shown=shown) for at in starts}
    best = max(scores, key=lambda at: scores[at])
    last = best
    while scores.get(last + 1) == scores[best]:
        last += 1
    # Where several windows hold the same rows, what follows them is shown, after one row before.
    start = max(best, last - 1)
    return range(start, start + size)


def _join(windows: Sequence[range]) -> list[range]:
    """Return the windows with those joined that touch."""
    joined: list[range] = []
    for window in windows:
        if joined and joined[-1].stop == window.start:
            joined[-1] = range(joined[-1].start, window.stop)
        else:
            joined.append(window)
    return joined
