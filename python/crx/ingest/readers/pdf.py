"""Reader of PDF: the text layer, page by page, and on request what is recognized without one.

Pages are separated by a blank line; each is a mark that ends at the start of the next. A word that
is hyphenated at a line's end is joined, since a search would not find its halves. The hyphen is
removed too, unless the document spells the word with it elsewhere or the next character is not a
small letter.
"""

from __future__ import annotations

import ctypes
import re
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any

import numpy as np
import pypdfium2 as pdfium  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium_c  # type: ignore[import-untyped]
from numpy.typing import NDArray

from crx.errors import InputError
from crx.ingest.readers import text as plain
from crx.ingest.readers.decode import normalize
from crx.ingest.readers.file_title import name_title, squeeze, written_title
from crx.ingest.readers.headings import Heading, in_order, sections
from crx.ingest.readers.scan import HOW, Recognize
from crx.ingest.readers.text import is_title
from crx.types import Document, Mark, Scalar

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


extensions = (".pdf",)

_PDFIUM = Lock()  # PDFium is not thread-safe, not even across documents
_BREAK = "\n\n"
# Of a page that is recognized: what scanners give text, and the longer side of A4 at twice that.
_DPI, _MOST_PIXELS = 200, 4700
_PASSWORD = 4  # FPDF_ERR_PASSWORD
# PDFium's character for a hyphen at a line's end, by version: U+0002 or U+FFFE, without a newline.
_HYPHEN = re.compile("(\\w*)[\x02\ufffe][ \\t]*\\n?(\\w*)")
_HYPHENATED = re.compile(r"\w+-\w+")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document's text with its pages and its outline's headings."""
    yield from read_scanned(data, name=name, recognize=None)


def read_scanned(data: bytes, *, name: str, recognize: Recognize | None) -> Iterator[Document]:
    """Yield the document likewise; pages without text are recognized if there is an engine."""
    with _PDFIUM:
        document = _document(data, name, recognize)
    yield document


def _document(data: bytes, name: str, recognize: Recognize | None) -> Document:
    pdf = _open(data)
    metadata: dict[str, Scalar | list[Scalar]] = {"format": "pdf"}
    try:
        layers, labels = _pages(pdf)
        texts = [
            text or (recognize(_render(pdf, number)).rstrip() if recognize else "")
            for number, text in enumerate(layers)
        ]
        if not any(text.strip() for text in texts):
            raise InputError(
                "has no text that can be recognized" if recognize else f"has no text: a scan; {HOW}"
            )
        if texts != layers:
            metadata["ocr"] = True
        starts = _starts(texts)
        text = _BREAK.join(texts)
        ends = [*starts[1:], len(text)]
        pages = [
            Mark("page", start, end, label)
            for start, end, label in zip(starts, ends, labels, strict=True)
            if start < end
        ]
        outline = _outline(pdf, texts, starts)
        written: dict[str, str] = pdf.get_metadata_dict(skip_empty=True)
        title = _written_title(written) or _largest_line(pdf, layers) or plain.title(text)
        if not title and (title := name_title(name)):
            metadata["title_from"] = "name"
    except pdfium.PdfiumError as failed:
        raise InputError(f"is a damaged PDF: {str(failed).lower()}") from failed
    finally:
        pdf.close()
    headings = sections(outline, end=len(text)) if outline else plain.headings(text)
    metadata["pages"] = len(texts)
    if blank := sum(not text.strip() for text in texts):
        metadata["pages_without_text"] = blank
    if author := squeeze(written.get("Author", "")):
        metadata["author"] = author
    return Document(
        uri=name,
        text=text,
        title=title,
        metadata=metadata,
        marks=in_order((*pages, *headings)),
    )


def _open(data: bytes) -> Any:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as failed:
        if getattr(failed, "err_code", None) == _PASSWORD:
            raise InputError("is encrypted; save a copy without its password") from failed
        raise InputError("is a damaged PDF") from failed


def _pages(pdf: Any) -> tuple[list[str], list[str]]:
    """Return the text and the label of each page."""
    texts: list[str] = []
    labels: list[str] = []
    for number in range(len(pdf)):
        page = pdf[number]
        layer = page.get_textpage()
        texts.append(normalize(layer.get_text_range()).rstrip())
        labels.append(squeeze(pdf.get_page_label(number)) or str(number + 1))
        layer.close()
        page.close()
    return _join_hyphenated(texts), labels


def _render(pdf: Any, number: int) -> NDArray[np.uint8]:
    """Return the pixels of a page, whose longer side is at most `_MOST_PIXELS`."""
    page = pdf[number]
    try:
        scale = min(_DPI / 72, _MOST_PIXELS / max(page.get_size()))
        pixels: NDArray[np.uint8] = page.render(scale=scale).to_numpy().copy()
    finally:
        page.close()
    return pixels


def _join_hyphenated(texts: list[str]) -> list[str]:
    """Return the texts without the hyphens of the layout at the ends of lines."""
    spelled = {word.lower() for text in texts for word in _HYPHENATED.findall(text)}

    def join(match: re.Match[str]) -> str:
        before, after = match.groups()
        keep = not after[:1].islower() or f"{before}-{after}".lower() in spelled
        return f"{before}-{after}" if keep else before + after

    return [_HYPHEN.sub(join, text) for text in texts]


def _starts(texts: list[str]) -> list[int]:
    starts: list[int] = []
    at = 0
    for text in texts:
        starts.append(at)
        at += len(text) + len(_BREAK)
    return starts


def _written_title(written: Mapping[str, str]) -> str:
    """Return the title in the document's information, unless a program wrote it."""
    title = written_title(written.get("Title", ""))
    return title if plain.is_title(title) else ""


def _largest_line(pdf: Any, texts: list[str]) -> str:
    """Return the title in the largest type of the first page that has text."""
    number = next((number for number, text in enumerate(texts) if text.strip()), None)
    if number is None:
        return ""
    page = pdf[number]
    layer = page.get_textpage()
    try:
        return largest_line(layer)
    finally:
        layer.close()
        page.close()


def _outline(pdf: Any, texts: list[str], starts: list[int]) -> list[Heading]:
    """Return the bookmarks as headings, at their label on the page or else at the page's start."""
    found: list[Heading] = []
    for bookmark in pdf.get_toc():
        dest = bookmark.get_dest()
        number = dest.get_index() if dest else None
        label = squeeze(bookmark.get_title())
        if number is None or not 0 <= number < len(texts) or not label:
            continue
        match = re.search(r"\s+".join(map(re.escape, label.split())), texts[number], re.IGNORECASE)
        found.append(
            Heading(starts[number] + (match.start() if match else 0), label, bookmark.level + 1)
        )
    found.sort(key=lambda heading: heading.start)
    return found
