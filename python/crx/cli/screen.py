"""Where an answer is shown: the size of the screen, its styles, the folder that paths start in."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

# Of a pipe, or of a terminal that does not tell.
_COLUMNS, _LINES = 80, 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Columns and lines, and whether it is a terminal and shows bold and dim text.

    `folder` is the current folder: a path below it is shown relative to it.
    """

    columns: int
    lines: int
    is_terminal: bool
    is_styled: bool
    folder: str


def make_screen(
    terminal: tuple[int, int] | None, *, environ: Mapping[str, str], folder: str
) -> Screen:
    """Return the screen of a standard output.

    `terminal` is its columns and lines, 0 if they are not known, and None if it is no terminal.
    The variables COLUMNS and LINES come first.
    """
    columns, lines = terminal or (0, 0)
    return Screen(
        columns=_count(environ.get("COLUMNS")) or columns or _COLUMNS,
        lines=_count(environ.get("LINES")) or lines or _LINES,
        is_terminal=terminal is not None,
        is_styled=terminal is not None and not environ.get("NO_COLOR"),
        folder=folder,
    )


def own_screen() -> Screen:
    """Return the screen of this process."""
    terminal = None
    if sys.stdout.isatty():
        try:
            size = os.get_terminal_size(sys.stdout.fileno())
            terminal = size.columns, size.lines
        except (OSError, ValueError):
            terminal = 0, 0
    return make_screen(terminal, environ=os.environ, folder=os.getcwd())


def _count(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
