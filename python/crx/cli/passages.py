"""Passages as text: each cut to the lines that answer, so that all fit on a screen."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from crx import _native
from crx.cli.output import bold, dim, display_path, print_line
from crx.cli.visible import visible_line, visible_text
from crx.types import Citation, Hit, Passage

# Passages that are printed unless another number is asked for.
SHOWN = 5

_INDENT = "   "
# Lines of the screen for the shell's prompt and two notes.
_RESERVED_LINES = 3
_FEWEST_LINES = 2
# Lines of a passage above which a blank line follows it.
_SPACED_LINES = 4
# Characters around the hit's chunk that are laid out to choose lines from.
_LAID_OUT = 8000

# The lines of a passage, and what was left out: "" if nothing was.
Body = tuple[list[str], str]


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the screen, and the line of the passage it is from, counted from 0."""

    text: str
    line: int


def print_passages(
    passages: Sequence[Passage], *, query: str, full: bool = False, explain: bool = False
) -> bool:
    """Print passages, best first, whole or cut to a screen; return True if any was cut."""
    screen = shutil.get_terminal_size()
    height = (screen.lines - _RESERVED_LINES) // max(1, min(len(passages), SHOWN))
    spaced = full or explain or height - 2 >= _SPACED_LINES
    cut = False
    for rank, passage in enumerate(passages, start=1):
        place = f"{rank}. {location(passage)}"
        if full:
            body: Body = _whole_lines(passage), ""
        else:
            head = -(-columns(place) // screen.columns)
            count = max(_FEWEST_LINES, height - head - spaced)
            width = screen.columns - len(_INDENT)
            body = excerpt(passage, query=query, count=count, width=width)
        trail = visible_line(" > ".join(passage.headings) or passage.title)
        if not full and sys.stdout.isatty():
            trail = _cut(trail, screen.columns - columns(place) - 2)
        print_line(bold(place), *(("  ", dim(trail)) if trail else ()))
        for line in body[0]:
            print_line(f"{_INDENT}{line}".rstrip())
        if explain:
            for hit in passage.hits:
                print_line(dim(f"{_INDENT}{explanation(hit)}"))
        if spaced:
            print_line()
        cut = cut or bool(body[1])
    return cut


def location(passage: Passage | Citation) -> str:
    """Return where a passage stands: path:lines, path and pages, or the end of a page's URL."""
    path = display_path(passage.uri)
    if passage.pages:
        first, last = map(visible_line, passage.pages)
        return f"{path}, page {first}" if first == last else f"{path}, pages {first}-{last}"
    if passage.lines:
        return f"{path}:{passage.lines[0]}-{passage.lines[1]}"
    return path + passage.fragment


def explanation(hit: Hit) -> str:
    """Return the rank and score of a hit in each stage, and its context, in one line."""
    stages = ", ".join(
        f"{name} {stage.rank} ({stage.score:.3f})" for name, stage in hit.stages.items()
    )
    situated = " / ".join(" ".join(t.split()) for t in (hit.outline, hit.context) if t)
    return f"chunk {hit.ordinal}: score {hit.score:.4f}; {stages}; context: {situated or 'none'}"


def excerpt(passage: Passage, *, query: str, count: int, width: int) -> Body:
    """Return at most `count` lines of a passage, and how much was left out.

    They are those of its best hit's chunk that hold most terms of the query, the first ones if
    several hold as many.
    """
    if len(passage.text) <= _LAID_OUT:
        rows = _rows([passage.text.strip("\n")], width)[0]
        if len(rows) <= count:
            return [row.text for row in rows], ""
    # Blank lines are left out of what is cut: the few lines there are hold text.
    parts = _rows(_around_hit(passage), width)
    before, chunk, after = ([row for row in part if row.text] for part in parts)
    rows = [*before, *chunk, *after]
    start = len(before) + _best_start(chunk, query=query, count=count)
    start = max(0, min(start, len(rows) - count))
    shown = rows[start : start + count]
    lines = [row.text for row in shown]
    left = _left_out(passage, shown)
    if start:
        lines[0] = f"... {_prefix(lines[0], width - 4)}"
    end = f" ... {left}"
    lines[-1] = _prefix(lines[-1], width - len(end)).rstrip() + end
    return lines, left


def _whole_lines(passage: Passage) -> list[str]:
    return [line.rstrip() for line in passage.text.strip("\n").split("\n")]


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


def _best_start(rows: Sequence[_Row], *, query: str, count: int) -> int:
    """Return where the `count` rows begin that hold most terms of the query."""
    terms = set(_native.analyze(query))
    found = [terms.intersection(_native.analyze(row.text)) for row in rows]
    starts = range(max(0, len(found) - count) + 1)
    return max(starts, key=lambda at: len(set().union(*found[at : at + count])))


def _left_out(passage: Passage, shown: Sequence[_Row]) -> str:
    """Return what a cut passage has besides the rows that are shown."""
    total = sum(1 for line in _whole_lines(passage) if line)
    lines = total - len({row.line for row in shown})
    if lines > 0:
        return f"(+{lines:,} line{'s' * (lines > 1)})"
    more = max(1, len(passage.text.strip()) - sum(len(row.text) for row in shown))
    return f"(+{more:,} characters)"


def _cut(text: str, width: int) -> str:
    """Return the text cut to a width, with dots at its end if it was; "" if only dots fit."""
    if columns(text) <= width:
        return text
    return f"{_prefix(text, width - 3)}..." if width > 3 else ""


def _prefix(text: str, width: int) -> str:
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
