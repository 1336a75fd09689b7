"""Passages as a list of files, each with its best lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crx._show.excerpt import find_excerpt
from crx.types import Passage

# Lines of a file, and of one of its passages.
FILE_LINES = 3
_PASSAGE_LINES = 2
# So wide that a line is one row.
_WIDTH = 1 << 40


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file; its number counts from 1, None if the text was extracted from the file."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class MatchingFile:
    """A file that answers a query: its best score, how many chunks were found, its best lines."""

    uri: str
    title: str
    score: float
    hits: int
    lines: tuple[FileLine, ...]


def group_by_file(
    passages: Iterable[Passage], *, query: str, lines: int = FILE_LINES
) -> list[MatchingFile]:
    """Return the files of passages, in the order of the first passage of each."""
    by_uri: dict[str, list[Passage]] = {}
    for passage in passages:
        by_uri.setdefault(passage.uri, []).append(passage)
    return [describe_file(found, query=query, lines=lines) for found in by_uri.values()]


def describe_file(
    passages: Sequence[Passage], *, query: str, lines: int = FILE_LINES
) -> MatchingFile:
    """Return the file of passages, which are given best first.

    Its lines are those of its best passages that most likely answer the query, in the order of the
    file.
    """
    return MatchingFile(
        uri=passages[0].uri,
        title=passages[0].title,
        score=passages[0].score,
        hits=sum(len(passage.hits) for passage in passages),
        lines=_best_lines(passages, query=query, most=lines),
    )


def _best_lines(passages: Sequence[Passage], *, query: str, most: int) -> tuple[FileLine, ...]:
    """Return the best lines of the passages of a file, best passage first, in order."""
    chosen: dict[tuple[int, int], FileLine] = {}
    for passage in passages:
        if len(chosen) >= most:
            break
        texts = passage.text.split("\n")
        wanted = min(_PASSAGE_LINES, most - len(chosen))
        rows = find_excerpt(passage, query=query, counts=(wanted,), width=_WIDTH, visible=str).rows
        for row in rows:
            number = passage.lines[0] + row.line if passage.lines else None
            at = (passage.start, row.line) if number is None else (number, 0)
            chosen.setdefault(at, FileLine(number, texts[row.line].strip()))
    return tuple(chosen[at] for at in sorted(chosen)[:most])
