"""Rows of an excerpt of Markdown, as they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from crx._show.excerpt import ExcerptRow
from crx._show.reflow import fenced_lines

_HEADING_SIGN = re.compile(r"^\s*#{1,6}\s+")
_ITEM_SIGN = re.compile(r"^(\s*)[-*+]\s+")
# The first or last row of a block of code.
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*[\w+-]*\s*")
# The last row of one, joined to the row before.
_JOINED_FENCE = re.compile(r"\s+(?:`{3,}|~{3,})$")
# Code within a line, as it is, or bold text, whose stars touch it and no letter outside.
_CODE_OR_BOLD = re.compile(
    r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|(?<![A-Za-z0-9_*])\*\*(?=[^\s*])(?P<bold>(?:(?!\*\*).)+)(?<=[^\s*])\*\*(?![A-Za-z0-9_*])",
    re.DOTALL,
)


def read_markdown(text: str, rows: Sequence[ExcerptRow]) -> Iterator[ExcerptRow]:
    """Yield rows of a text without its signs of headings and bold text, and with bullets.

    Blocks of code stay as they are, without the rows that begin and end them.
    """
    fenced = fenced_lines(text.split("\n"))
    shown = [row for row in rows if not _FENCE.fullmatch(row.text)]
    for is_code, group in groupby(shown, key=lambda row: fenced[row.line]):
        block = list(group)
        if is_code:
            read = [_JOINED_FENCE.sub("", row.text) for row in block]
        else:
            unsigned = "\n".join(_without_sign(row.text) for row in block)
            read = _CODE_OR_BOLD.sub(_inner, unsigned).split("\n")
        for row, read_text in zip(block, read, strict=True):
            yield row._replace(text=read_text)


def _without_sign(text: str) -> str:
    return _ITEM_SIGN.sub(r"\1• ", _HEADING_SIGN.sub("", text))


def _inner(found: re.Match[str]) -> str:
    return found["bold"] or found[0]
