"""Where an answer is shown: the size of the screen, its styles, the folder that paths start in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from crx._cli.links import Links, link_url, links_of_terminal
from crx.types import Citation, Passage

# Of a terminal that does not tell.
_COLUMNS, _LINES = 80, 24
# Of a pipe, which has no screen: of the answers that the first three hits of a search have, 24
# lines show about six in seven, and these more than nine in ten.
_LINES_OF_A_PIPE = 30


class Screen(NamedTuple):
    """Columns and lines, and whether it is a terminal and shows bold and dim text.

    `link` returns the URL to which a citation is linked, "" for none.
    `folder` is the current folder: a path below it is shown relative to it.
    """

    columns: int
    lines: int
    is_terminal: bool
    is_styled: bool
    link: Callable[[Passage | Citation], str]
    folder: str


def make_screen(
    terminal: tuple[int, int] | None, *, environ: Mapping[str, str], folder: str
) -> Screen:
    """Return the screen of a standard output.

    `terminal` is its columns and lines, 0 if they are not known, and None if it is no terminal.
    The variables COLUMNS and LINES come first.
    """
    columns, lines = (0, _LINES_OF_A_PIPE) if terminal is None else terminal
    is_styled = terminal is not None and shows_styles(environ)
    links: Links = links_of_terminal(environ) if is_styled else "none"
    return Screen(
        columns=_count(environ.get("COLUMNS")) or columns or _COLUMNS,
        lines=_count(environ.get("LINES")) or lines or _LINES,
        is_terminal=terminal is not None,
        is_styled=is_styled,
        link=partial(link_url, links=links, environ=environ),
        folder=folder,
    )


def shows_styles(environ: Mapping[str, str]) -> bool:
    """Return whether a terminal with these variables is to show bold text, colors and links."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


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
