"""Title of a PDF: its first page's lines in the largest type."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pypdfium2.raw as pdfium_c  # type: ignore[import-untyped]

from crx.ingest.readers.decode import normalize
from crx.ingest.readers.text import is_title

# Characters of the page that are looked at.
_CHARS = 4000
# How much larger than the page's smallest type a title is.
_LARGER = 1.15
# Heights of one size of type differ by rounding.
_STEP = 0.5
_TURNED = 0.1  # radians above which a character is not upright
_ENDS = "\0\r\n"
_LETTERS = 4
_LONGEST = 200  # characters of a title


@dataclass(frozen=True, slots=True)
class _Line:
    """A line and the height of most of its characters, in points."""

    text: str
    height: float


def largest_line(page_text: Any) -> str:
    """Return the first lines in the largest type of a page's text layer, or "".

    Lines that are no title (see `text.is_title`) are passed over: the next size is tried. A page
    with one size of type has no title, nor one whose largest type is that of its body.
    """
    lines = [line for line in _lines(page_text) if sum(map(str.isalpha, line.text)) >= _LETTERS]
    smallest = min((line.height for line in lines), default=0.0)
    for height in sorted({line.height for line in lines}, reverse=True):
        if height < _LARGER * smallest:
            return ""
        together = next(list(run) for size, run in groupby(lines, _height_of) if size == height)
        title = " ".join(line.text for line in together if is_title(line.text))
        if title:
            return title if len(title) <= _LONGEST else ""
    return ""


def _height_of(line: _Line) -> float:
    return line.height


def _lines(page_text: Any) -> Iterator[_Line]:
    """Yield the lines of a page's first upright characters."""
    characters: list[str] = []
    heights: list[float] = []
    # A character past the end of the page is a 0.
    for at in range(min(page_text.count_chars(), _CHARS) + 1):
        character = chr(pdfium_c.FPDFText_GetUnicode(page_text, at))
        if character in _ENDS:
            if heights:
                text = " ".join(normalize("".join(characters)).split())
                yield _Line(text, statistics.mode(heights))
            characters, heights = [], []
        elif not character.strip() or not character.isprintable():
            characters.append(" ")
        elif abs(pdfium_c.FPDFText_GetCharAngle(page_text, at)) <= _TURNED:
            characters.append(character)
            heights.append(_height(page_text, at))


def _height(page_text: Any, at: int) -> float:
    box = pdfium_c.FS_RECTF()
    pdfium_c.FPDFText_GetLooseCharBox(page_text, at, ctypes.byref(box))
    height = float(abs(box.top - box.bottom))
    return round(height / _STEP) * _STEP
