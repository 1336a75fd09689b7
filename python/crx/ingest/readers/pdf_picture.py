"""Pictures of PDF pages, with the lines of a passage marked."""

from __future__ import annotations

import ctypes
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pypdfium2 as pdfium  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium_c  # type: ignore[import-untyped]
from numpy.typing import NDArray

from crx.errors import InputError
from crx.ingest.page_values import PagePicture, PageRequest
from crx.ingest.readers.pdf import PDFIUM, open_pdf
from crx.ingest.readers.pdf_page import PageLine, Rect, page_label, read_lines

# Pixels of a side, whatever the page says of its size.
_MOST_PIXELS = 3000
# Blue, green and red of the marked lines.
_MARK = (120, 240, 255)
_MARGIN = 1.5  # points around a line
# Letters of a line below which it is marked only beside another one.
_LEAST_LETTERS = 6
# Pages of one label whose text is compared.
_MOST_CANDIDATES = 50


def draw_page(data: bytes, request: PageRequest) -> PagePicture:
    """Draw a page of a PDF; raises `InputError` if there is none of that label."""
    with PDFIUM:
        pdf = open_pdf(data)
        try:
            return _draw(pdf, request)
        except pdfium.PdfiumError as failed:
            raise InputError(f"is a damaged PDF: {str(failed).lower()}") from failed
        finally:
            pdf.close()


def _draw(pdf: Any, request: PageRequest) -> PagePicture:
    number = _find_page(pdf, request)
    page = pdf[number]
    try:
        marked = _marked_lines(read_lines(page)[0], request.marked)
        width, height = page.get_size()
        scale = min(request.width / max(width, 1), _MOST_PIXELS / max(width, height, 1))
        pixels: NDArray[np.uint8] = page.render(scale=scale).to_numpy()[..., :3].copy()
        for line in marked:
            _mark(page, pixels, line.rect)
    finally:
        page.close()
    return PagePicture(
        png=_encode_png(pixels), label=request.label, number=number + 1, pages=len(pdf)
    )


def _find_page(pdf: Any, request: PageRequest) -> int:
    """Return the number of the page, from 0."""
    found = [number for number in range(len(pdf)) if page_label(pdf, number) == request.label]
    if not found:
        raise InputError(f"has no page {request.label}; it has {len(pdf)} pages")
    if len(found) == 1 or not request.text:
        return found[0]
    wanted = _letters(request.text)

    def likeness(number: int) -> int:
        page = pdf[number]
        try:
            lines = [_letters(line.text) for line in read_lines(page)[0]]
        finally:
            page.close()
        return sum(len(line) for line in lines if line in wanted)

    return max(found[:_MOST_CANDIDATES], key=likeness)


def _marked_lines(lines: Sequence[PageLine], marked: str) -> list[PageLine]:
    """Return the lines of which a text has all letters; short ones only beside such a line.

    The text may begin and end within a line.
    """
    text = _letters(marked)
    if not text:
        return []
    found = [False] * len(lines)
    letters = [_letters(line.text) for line in lines]
    for at, own in enumerate(letters):
        found[at] = len(own) >= _LEAST_LETTERS and (own in text or text in own)
    if not any(found):
        return []
    for at, own in enumerate(letters):
        beside = any(found[max(at - 1, 0) : at + 2])
        begins = at + 1 < len(lines) and found[at + 1] and _overlap(own, text)
        ends = at > 0 and found[at - 1] and _overlap(text, own)
        found[at] = found[at] or (bool(own) and beside and own in text) or begins or ends
    return [line for line, is_found in zip(lines, found, strict=True) if is_found]


def _overlap(first: str, second: str) -> bool:
    """Return whether the end of one text is the beginning of another."""
    most = min(len(first), len(second))
    return any(first.endswith(second[:size]) for size in range(_LEAST_LETTERS, most + 1))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _mark(page: Any, pixels: NDArray[np.uint8], rect: Rect) -> None:
    """Colour a part of a page; dark pixels stay dark."""
    left, low, right, high = rect
    first = _pixel(page, pixels, left - _MARGIN, high + _MARGIN)
    second = _pixel(page, pixels, right + _MARGIN, low - _MARGIN)
    (x0, x1), (y0, y1) = (sorted(pair) for pair in zip(first, second, strict=True))
    part = pixels[max(y0, 0) : max(y1, 0), max(x0, 0) : max(x1, 0)]
    np.minimum(part, np.array(_MARK, dtype=np.uint8), out=part)


def _pixel(page: Any, pixels: NDArray[np.uint8], x: float, y: float) -> tuple[int, int]:
    """Return the column and the row of a point of a page."""
    height, width = pixels.shape[:2]
    column, row = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(
        page.raw, 0, 0, width, height, 0, x, y, ctypes.byref(column), ctypes.byref(row)
    )
    return column.value, row.value


def _encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Return rows of blue, green and red pixels as a PNG file."""
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    rows[:, 1:] = pixels[..., ::-1].reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 3)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
