"""Passages as `path:line:column:text`, which Vim and other editors read as a list of locations."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from crx._cli.output import display_path
from crx._cli.visible import visible_text
from crx._show.excerpt import find_excerpt, split_matches
from crx._show.row_choice import find_terms
from crx._text.query_terms import terms_for
from crx.ingest.paths import is_below, path_of
from crx.retrieve.operators import QueryPattern, compile_pattern
from crx.types import Passage

# Lines of a passage that are given at most.
_LINES = 3
# So wide that a line is one row.
_WIDTH = 1 << 40
# Of a file, to find a passage's column.
_MOST_BYTES = 64_000_000


def vimgrep_lines(passage: Passage, *, query: str, folder: str) -> Iterator[str]:
    """Yield the lines of a passage that answer, as `path:line:column:text`.

    They are the lines with most words of the query, a definition of its identifier first, or the
    line that most likely answers if none has any. Columns are counted in bytes, from 1, as Vim
    counts them. A passage without lines, as that of a PDF, yields nothing.
    """
    if passage.lines is None:
        return
    lines = passage.text.split("\n")
    terms = terms_for(query, passage.text)
    answering = {
        line: start
        for line in _best_lines(passage, lines, query)
        if (start := _first_match(lines[line], terms)) is not None
    }
    if not answering:
        found = find_excerpt(passage, query=query, counts=(1,), width=_WIDTH, visible=visible_text)
        answering = {found.rows[0].line: 0}
    yield from _located(passage, lines, answering, folder=folder)


def pattern_lines(passage: Passage, *, pattern: QueryPattern, folder: str) -> Iterator[str]:
    """Yield the lines of a passage in which a match of a pattern begins, as `vimgrep_lines`."""
    if passage.lines is None:
        return
    lines = passage.text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    first: dict[int, int] = {}
    for start, _ in compile_pattern(pattern).spans(passage.text):
        line = bisect_right(starts, start) - 1
        first.setdefault(line, start - starts[line])
    yield from _located(passage, lines, first, folder=folder)


def _located(
    passage: Passage, lines: Sequence[str], answering: Mapping[int, int], *, folder: str
) -> Iterator[str]:
    """Yield some lines of a passage, each with the character that answers, as Vim reads them."""
    assert passage.lines is not None, "a passage with lines"
    path = display_path(passage.uri, folder=folder)
    for line, start in answering.items():
        number = passage.lines[0] + line
        column = 1 + len(lines[line][:start].encode())
        if line == 0:
            column += _bytes_before(path_of(passage.uri), number, lines[0], folder=folder)
        yield f"{path}:{number}:{column}:{visible_text(lines[line])}"


def _best_lines(passage: Passage, lines: Sequence[str], query: str) -> list[int]:
    """Return the lines with most terms of the query, best first, those of better hits before."""
    terms = find_terms(lines, query=query, known=set())
    starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def rank(line: int) -> tuple[bool, float, int]:
        hits = (
            number
            for number, hit in enumerate(passage.hits)
            if hit.start < passage.start + starts[line + 1]
            and hit.end > passage.start + starts[line]
        )
        share = round(terms.share([terms.rows[line]]), 6)
        return line not in terms.defining, -share, next(hits, len(passage.hits))

    return [line for line in sorted(range(len(lines)), key=rank)[:_LINES] if terms.rows[line]]


def _first_match(line: str, terms: set[str]) -> int | None:
    """Return where the first word of the query starts in a line, None if there is none."""
    at = 0
    for piece, matches in split_matches(line, terms):
        if matches:
            return at
        at += len(piece)
    return None


def _bytes_before(file: str, number: int, text: str, *, folder: str) -> int:
    """Return how many bytes of a file's line stand before a text, 0 if it is not found there.

    A passage can begin within a line. The index names the file and may come from elsewhere, so only
    a regular file below the current folder is read, and no more of it than `_MOST_BYTES`.
    """
    resolved = os.path.realpath(file)
    if not is_below(resolved, os.path.realpath(folder or ".")) or not os.path.isfile(resolved):
        return 0
    try:
        with open(resolved, "rb") as opened:
            lines = opened.read(_MOST_BYTES).split(b"\n", number)
    except (OSError, ValueError):
        return 0
    return max(0, lines[number - 1].find(text.encode())) if len(lines) >= number else 0
