"""Lines of a PDF page in reading order, as the core finds them from the positions of characters."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium_c  # type: ignore[import-untyped]

from crx import _native
from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.normal_text import normalize

_LIGATURES = str.maketrans({
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st",
})  # fmt: skip
# Of a page with fewer, some characters without a name do not make it unreadable.
_LEAST_UNKNOWN = 20

# The left, lower, right and upper edge in points; y grows upwards.
Rect = tuple[float, float, float, float]
# A text that is not drawn with the page, such as the value of a form field, and its box.
Field = tuple[str, Rect]


class PageLine(NamedTuple):
    """A line of a page.

    `size` is the height of its type in points; a `block` is a column, a table, or text between
    them; a paragraph begins with a line that `opens`. The cells of a row have tabs between them.
    """

    text: str
    rect: Rect
    size: float
    is_bold: bool
    is_row: bool
    opens: bool
    block: int


class PageLayer(NamedTuple):
    """The lines of a page in reading order, the number of characters that it draws, without the
    fields, and whether it has more than are read.
    """

    lines: list[PageLine]
    chars: int
    is_cut: bool


def page_label(pdf: Any, number: int) -> str:
    """Return the label of a page, whose number counts from 0: its own, else the number from 1."""
    return squeeze(pdf.get_page_label(number)) or str(number + 1)


def read_lines(page: Any, fields: Sequence[Field] = ()) -> PageLayer:
    """Return the lines of a page in reading order.

    A page has no lines if its fonts name no characters for most of what they draw. What is drawn
    outside of its box is not seen.
    """
    layer = page.get_textpage()
    try:
        handle = ctypes.cast(layer.raw, ctypes.c_void_p).value
        rows, chars, unknown, is_cut = _native.pdf_lines(
            _addresses(), handle or 0, page.get_bbox(), fields
        )
    finally:
        layer.close()
    if unknown > _LEAST_UNKNOWN and 2 * unknown > chars:
        return PageLayer([], 0, is_cut)
    return PageLayer([PageLine(_clean(row[0]), *row[1:]) for row in rows], chars, is_cut)


def read_plain_layer(page: Any) -> PageLayer:
    """Return the lines of a page as PDFium orders them, all of one size."""
    layer = page.get_textpage()
    try:
        text = _clean(layer.get_text_range())
    finally:
        layer.close()
    left, low, right, high = page.get_bbox()
    lines = text.splitlines()
    step = (high - low) / max(len(lines), 1)
    plain = [
        PageLine(
            line,
            (left, high - step * (number + 1), right, high - step * number),
            size=step,
            is_bold=False,
            is_row=False,
            opens=number == 0,
            block=0,
        )
        for number, line in enumerate(lines)
    ]
    return PageLayer(plain, len(text), is_cut=False)


def _clean(text: str) -> str:
    return normalize(text if text.isascii() else text.translate(_LIGATURES))


@cache
def _addresses() -> list[int]:
    """Return the addresses of PDFium's functions, whose library stays loaded."""
    return [
        ctypes.cast(getattr(pdfium_c, name), ctypes.c_void_p).value or 0
        for name in _native.PDFIUM_FUNCTIONS
    ]
