"""Reader of PDF: the text layer, page by page, and on request what is recognized without one.

Lines are in reading order: columns one after the other, footnotes after the text of their page, a
row of a table as one line with tabs between its cells. Running headers and footers are dropped.
Headings are the bookmarks or else lines in larger or bolder type.

Pages are separated by a blank line; each is a mark that ends at the start of the next. A word that
is hyphenated at a line's end is joined, since a search would not find its halves. The hyphen is
removed too, unless the document spells the word with it elsewhere or the next character is not a
small letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any

import numpy as np
import pypdfium2 as pdfium  # type: ignore[import-untyped]
from numpy.typing import NDArray

from crx.errors import InputError
from crx.ingest.readers import text as plain
from crx.ingest.readers.file_title import name_title, squeeze, written_title
from crx.ingest.readers.headings import Heading, in_order, sections
from crx.ingest.readers.pdf_footnotes import move_footnotes
from crx.ingest.readers.pdf_furniture import drop_furniture
from crx.ingest.readers.pdf_headings import HeadingFinder, body_size
from crx.ingest.readers.pdf_page import PageLine, page_label, read_lines
from crx.ingest.readers.pdf_tables import Table, repeat_names
from crx.ingest.readers.scan import HOW, Recognize
from crx.ingest.readers.text import is_title
from crx.types import Document, Mark, Scalar

# Characters of the page in which its title is looked for.
_TITLE_CHARS = 4000
# How much larger than the page's smallest type a title is.
_LARGER = 1.15
# Heights of one size of type differ by rounding.
_STEP = 0.5
_LARGEST_STEP = 0.06  # shares of the height within one paragraph
_LETTERS = 4
_LONGEST = 200  # characters of a title


def largest_line(lines: Sequence[PageLine]) -> str:
    """Return the first lines in the largest type of a page, or "".

    Lines that are no title (see `text.is_title`) are passed over: the next size is tried. A page
    with one size of type has no title, nor one whose largest type is that of its body.
    """
    lettered = [line for line in _opening(lines) if sum(map(str.isalpha, line.text)) >= _LETTERS]
    smallest = min(map(_height_of, lettered), default=0.0)
    for height in sorted(set(map(_height_of, lettered)), reverse=True):
        if height < _LARGER * smallest:
            return ""
        together = next(list(run) for size, run in groupby(lettered, _height_of) if size == height)
        title = " ".join(squeeze(line.text) for line in together if is_title(squeeze(line.text)))
        if title:
            return title if len(title) <= _LONGEST else ""
    return ""


def _opening(lines: Sequence[PageLine]) -> Iterator[PageLine]:
    chars = 0
    for line in lines:
        if chars > _TITLE_CHARS:
            return
        chars += len(line.text)
        yield line


def _height_of(line: PageLine) -> float:
    return round(line.size / _STEP) * _STEP


extensions = (".pdf",)

PDFIUM = Lock()  # PDFium is not thread-safe, not even across documents
_BREAK = "\n\n"
# Of a page that is recognized: what scanners give text, and the longer side of A4 at twice that.
_DPI, _MOST_PIXELS = 200, 4700
_PASSWORD = 4  # FPDF_ERR_PASSWORD
# A word has at most 100 characters, so that the time grows with a line's length and not its square.
# PDFium's character for a hyphen at a line's end, by version: U+0002 or U+FFFE; or a soft hyphen.
_HYPHEN = re.compile("(\\w{0,100})[\x02\ufffe\xad][ \\t]*\\n?(\\w+)")
_BROKEN = re.compile("(\\w{0,100})(?:[\x02\ufffe\xad][ \\t]*|(?<=[^\\W\\d_])[-\u2010])$")
_LINE_END_HYPHENS = frozenset("\x02\ufffe\xad")
_HYPHENS = ("\x02", "\ufffe", "\xad", "-", "\u2010")
_WORD = re.compile(r"\w*")
_HYPHENATED = re.compile(r"(?<!\w)\w{1,100}-\w{1,100}")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document's text with its pages and its outline's headings."""
    yield from read_scanned(data, name=name, recognize=None)


def read_scanned(data: bytes, *, name: str, recognize: Recognize | None) -> Iterator[Document]:
    """Yield the document likewise; pages without text are recognized if there is an engine."""
    with PDFIUM:
        document = _document(data, name, recognize)
    yield document


def _document(data: bytes, name: str, recognize: Recognize | None) -> Document:
    pdf = open_pdf(data)
    metadata: dict[str, Scalar | list[Scalar]] = {"format": "pdf"}
    try:
        lines, labels, cut = _read_pages(pdf)
        size = body_size(lines)
        pages = _write_pages(lines, size)
        layers = [page.text for page in pages]
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
        outline = _outline(pdf, texts, starts)
        written: dict[str, str] = pdf.get_metadata_dict(skip_empty=True)
        opening: Sequence[PageLine] = next(filter(None, lines), [])
        title = _written_title(written) or largest_line(opening) or plain.title(text)
        if not title and (title := name_title(name)):
            metadata["title_from"] = "name"
    except pdfium.PdfiumError as failed:
        raise InputError(f"is a damaged PDF: {str(failed).lower()}") from failed
    finally:
        pdf.close()
    ends = [*starts[1:], len(text)]
    marks = [
        Mark("page", start, end, label)
        for start, end, label in zip(starts, ends, labels, strict=True)
        if start < end
    ]
    metadata["pages"] = len(texts)
    if blank := sum(not text.strip() for text in texts):
        metadata["pages_without_text"] = blank
    if cut:
        metadata["pages_cut"] = cut
    if author := squeeze(written.get("Author", "")):
        metadata["author"] = author
    return Document(
        uri=name,
        text=text,
        title=title,
        metadata=metadata,
        marks=in_order((*marks, *_sections(outline, pages, starts, size=size, text=text))),
    )


def open_pdf(data: bytes) -> Any:
    """Open a PDF; raises `InputError` if it is damaged or encrypted."""
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as failed:
        if getattr(failed, "err_code", None) == _PASSWORD:
            raise InputError("is encrypted; save a copy without its password") from failed
        raise InputError("is a damaged PDF") from failed


def _read_pages(pdf: Any) -> tuple[list[list[PageLine]], list[str], int]:
    """Return the lines and the label of each page, and on how many pages characters are left."""
    pages: list[list[PageLine]] = []
    labels: list[str] = []
    cut = 0
    for number in range(len(pdf)):
        page = pdf[number]
        layer = page.get_textpage()
        read, is_cut = read_lines(layer)
        pages.append(read)
        cut += is_cut
        labels.append(page_label(pdf, number))
        layer.close()
        page.close()
    return pages, labels, cut


@dataclass(frozen=True, slots=True)
class _WrittenPage:
    """The text of a page, and its lines with the position of each in the text."""

    text: str
    lines: Sequence[PageLine]
    starts: Sequence[int]


def _write_pages(pages: Sequence[list[PageLine]], size: float) -> list[_WrittenPage]:
    """Return the text of each page: without what is no text, tables with the names of columns."""
    written: list[_WrittenPage] = []
    table: Table | None = None
    spelled = {
        word.lower()
        for lines in pages
        for line in lines
        if "-" in line.text
        for word in _HYPHENATED.findall(line.text)
    }
    for lines in drop_furniture(pages, body_size=size):
        ordered, table = repeat_names(move_footnotes(lines, body_size=size), table)
        written.append(_write_page(ordered, spelled))
    return written


def _write_page(lines: Sequence[PageLine], spelled: Set[str]) -> _WrittenPage:
    kept: list[PageLine] = []
    starts: list[int] = []
    parts: list[str] = []
    length = 0
    for line in lines:
        own = line.text
        if not _LINE_END_HYPHENS.isdisjoint(own):
            own = _HYPHEN.sub(lambda match: _joined(match[1], match[2], spelled), own)
        if not own.strip():
            continue
        if parts:
            gap = _BREAK if line.opens and not _goes_on(kept[-1], line) else "\n"
            ending = parts[-1].rstrip()[-1:]
            if ending in _HYPHENS and (broken := _BROKEN.search(parts[-1])):
                # The hyphen at the end of the line before is all that parts the two.
                first, word = broken[1], _WORD.match(own)
                whole = _joined(first, word[0] if word else "", spelled)
                hyphen = whole[len(first) : len(first) + 1] == "-"
                parts[-1] = parts[-1][: broken.end(1)]
                length -= len(broken[0]) - len(first)
                gap = "-" if hyphen else ""
            parts.append(gap)
            length += len(gap)
        starts.append(length)
        kept.append(line)
        parts.append(own)
        length += len(own)
    return _WrittenPage("".join(parts).rstrip(), kept, starts)


def _joined(first: str, second: str, spelled: Set[str]) -> str:
    """Return the word of which a line's end leaves two halves."""
    hyphenated = f"{first}-{second}"
    keep = not second[:1].islower() or hyphenated.lower() in spelled
    return hyphenated if keep else first + second


def _goes_on(before: PageLine, line: PageLine) -> bool:
    """Return whether a sentence goes on, as from one column to the next."""
    return (
        not (before.is_row or line.is_row)
        and abs(before.size - line.size) < _LARGEST_STEP * line.size
        and before.text[-1:] not in ".!?:;"
        and line.text[:1].islower()
    )


def _sections(
    outline: Sequence[Heading],
    pages: Sequence[_WrittenPage],
    starts: Sequence[int],
    *,
    size: float,
    text: str,
) -> tuple[Mark, ...]:
    """Return the sections of the bookmarks, else those of the type or of the text's numbering."""
    if outline:
        return sections(outline, end=len(text))
    finder = HeadingFinder([page.lines for page in pages], size=size)
    found = [
        heading
        for page, start in zip(pages, starts, strict=True)
        for heading in finder.headings(page.lines, [start + at for at in page.starts])
    ]
    numbered = plain.headings(text)
    return sections(found, end=len(text)) if len(found) >= len(numbered) else numbered


def _render(pdf: Any, number: int) -> NDArray[np.uint8]:
    """Return the pixels of a page, whose longer side is at most `_MOST_PIXELS`."""
    page = pdf[number]
    try:
        scale = min(_DPI / 72, _MOST_PIXELS / max(page.get_size()))
        pixels: NDArray[np.uint8] = page.render(scale=scale).to_numpy().copy()
    finally:
        page.close()
    return pixels


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
