"""Passages as locations, a line each, for agents and scripts that read the files themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crx._cli.output import display_path
from crx._cli.passages import location
from crx._cli.visible import visible_text
from crx._show.best_line import find_best_line
from crx.retrieve.operators import QueryPattern, compile_pattern
from crx.types import Passage

# Columns of the line that answers: with a path of usual length, a location is under 40 tokens.
_WIDTH = 80
# Characters before the match of a pattern, in a line that is cut.
_BEFORE_MATCH = 20


def location_lines(
    passages: Sequence[Passage], *, query: str, pattern: QueryPattern | None, folder: str
) -> Iterator[str]:
    """Yield `path:line: text` of each passage: the line of it that most likely answers, cut.

    What has no lines, as a PDF, has its page, slide or cell instead.
    """
    for passage in passages:
        at, text = _matching_line(passage, pattern) if pattern else _best_line(passage, query)
        where = location(replace(passage, fragment=""), folder=folder)
        if passage.lines:
            where = f"{display_path(passage.uri, folder=folder)}:{passage.lines[0] + at}"
        yield f"{where}: {' '.join(text.split())}"


def file_lines(passages: Sequence[Passage], *, folder: str) -> Iterator[str]:
    """Yield the path of each document of the passages once, the best first."""
    for uri in dict.fromkeys(passage.uri for passage in passages):
        yield display_path(uri, folder=folder)


def _best_line(passage: Passage, query: str) -> tuple[int, str]:
    """Return the line of a passage that most likely answers, counted from 0, and its text."""
    row = find_best_line(
        passage.text,
        start=passage.start,
        best=passage.hits[0],
        query=query,
        width=_WIDTH,
        visible=visible_text,
    )
    return row.line, row.text


def _matching_line(passage: Passage, pattern: QueryPattern) -> tuple[int, str]:
    """Return the line in which a pattern first matches, counted from 0, and its text."""
    spans = compile_pattern(pattern).spans(passage.text)
    start = spans[0][0] if spans else 0
    first = passage.text.rfind("\n", 0, start) + 1
    first = max(first, start - _BEFORE_MATCH)
    line = visible_text(passage.text[first:].split("\n", 1)[0])
    return passage.text.count("\n", 0, start), line[:_WIDTH]
