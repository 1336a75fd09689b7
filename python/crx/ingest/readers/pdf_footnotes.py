"""Footnotes of a PDF: those of a column are read after the text of the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crx.ingest.readers.pdf_page import PageLine

# How much smaller than the text a footnote is, and the lower share of the page where it stands.
_SMALLER = 0.92
_LOWER = 0.35
_MARK = re.compile(r"[\d⁰¹²³⁴-⁹*∗†‡§¶]{1,3}[.)]?\s?\S")


def move_footnotes(lines: Sequence[PageLine], *, body_size: float) -> list[PageLine]:
    """Return the lines with the footnotes of all columns but the last at the end."""
    if not lines or lines[0].block == lines[-1].block:
        return list(lines)
    low = min(line.rect[1] for line in lines)
    high = max(line.rect[3] for line in lines)
    below = low + _LOWER * (high - low)
    kept: list[PageLine] = []
    notes: list[PageLine] = []
    start = 0
    for at in range(1, len(lines) + 1):
        if at < len(lines) and lines[at].block == lines[start].block:
            continue
        block = lines[start:at]
        cut = _notes_from(block, body_size, below) if at < len(lines) else len(block)
        kept += block[:cut]
        notes += block[cut:]
        start = at
    return kept + notes


def _notes_from(block: Sequence[PageLine], body_size: float, below: float) -> int:
    """Return where the footnotes at the end of a column begin, its length if it has none."""
    first = len(block)
    while first > 0:
        line = block[first - 1]
        if line.is_row or line.size > _SMALLER * body_size or line.rect[1] > below:
            break
        first -= 1
    while first < len(block) and not (block[first].opens and _MARK.match(block[first].text)):
        first += 1
    return first if first > 0 else len(block)
