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
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from threading import Lock
from typing import Any

import numpy as np
import pypdfium2 as pdfium  # type: ignore[import-untyped]
from numpy.typing import NDArray

from crx.errors import InputError, NothingToRead
from crx.ingest.formats import suffix
from crx.ingest.readers import reader_for
from crx.ingest.readers import text as plain
from crx.ingest.readers.file_title import name_title, squeeze
from crx.ingest.readers.headings import Heading, in_order, sections
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.pdf_annotations import (
    Annotations,
    draw_stamps,
    open_form,
    read_annotations,
)
from crx.ingest.readers.pdf_attachments import Attached, attached_files, read_attached
from crx.ingest.readers.pdf_footnotes import move_footnotes
from crx.ingest.readers.pdf_furniture import drop_furniture
from crx.ingest.readers.pdf_headings import HeadingFinder, body_size
from crx.ingest.readers.pdf_page import (
    Field,
    PageLayer,
    PageLine,
    page_label,
    read_lines,
    read_plain_layer,
)
from crx.ingest.readers.pdf_tables import Table, repeat_names
from crx.ingest.readers.pdf_titles import information_title, largest_line
from crx.ingest.readers.scan import HOW, Recognize
from crx.types import Document, Mark, Scalar

extensions = (".pdf",)

PDFIUM = Lock()  # PDFium is not thread-safe, not even across documents
_BREAK = "\n\n"
# Of a page that is recognized: what scanners give text, and the longer side of A4 at twice that.
_DPI, _MOST_PIXELS = 200, 4700
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_LARGEST_STEP = 0.06  # shares of the height of type within one paragraph
# A word has at most 100 characters, so that the time grows with a line's length and not its square.
# PDFium's character for a hyphen at a line's end, by version: U+0002 or U+FFFE; or a soft hyphen.
_HYPHEN = re.compile("(\\w{0,100})[\x02\ufffe\xad][ \\t]*\\n?(\\w+)")
_BROKEN = re.compile("(\\w{0,100})(?:[\x02\ufffe\xad][ \\t]*|(?<=[^\\W\\d_])[-\u2010])$")
_LINE_END_HYPHENS = frozenset("\x02\ufffe\xad")
_HYPHENS = ("\x02", "\ufffe", "\xad", "-", "\u2010")
_WORD = re.compile(r"\w*")
_HYPHENATED = re.compile(r"(?<!\w)\w{1,100}-\w{1,100}")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the text with its pages and headings, and the documents of the attached files."""
    yield from read_scanned(data, name=name, recognize=None)


def read_scanned(data: bytes, *, name: str, recognize: Recognize | None) -> Iterator[Document]:
    """Yield the documents likewise; pages without text are recognized if there is an engine."""
    left_out = LeftOut()
    document, refusal, files = _read_pdf(data, name, recognize, left_out)
    attached = read_attached(
        files,
        name=name,
        part_of=document.title if document else "",
        read=_read_file,
        left_out=left_out,
    )
    if document:
        yield replace(document, metadata={**document.metadata, **left_out.metadata()})
    yield from attached
    if refusal and not attached:
        raise refusal


def _read_file(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the documents of an attached file; what is attached to an attached PDF is not read."""
    if suffix(name) not in extensions:
        reader = reader_for(suffix(name))
        yield from reader.read(data, name=name) if reader else ()
        return
    left_out = LeftOut()
    document, refusal, _ = _read_pdf(data, name, None, left_out)
    if not document:
        raise refusal or InputError("has no text")
    yield replace(document, metadata={**document.metadata, **left_out.metadata()})


def _read_pdf(
    data: bytes, name: str, recognize: Recognize | None, left_out: LeftOut
) -> tuple[Document | None, InputError | None, list[Attached]]:
    """Return the document of a PDF, or why it has none, and the attached files."""
    with PDFIUM:
        pdf = open_pdf(data)
        try:
            files = left_out.attempt(
                "attached files", lambda: attached_files(pdf, left_out), plain=[]
            )
            return _document(pdf, name, recognize, left_out), None, files
        except InputError as refusal:
            return None, refusal, files
        finally:
            pdf.close()


def _document(pdf: Any, name: str, recognize: Recognize | None, left_out: LeftOut) -> Document:
    pages = _read_pages(pdf, left_out)
    size = body_size([page.lines for page in pages])
    written = _write_pages(pages, size, left_out)
    layers = [page.text for page in written]
    lacking = [page.is_scan or not text.strip() for page, text in zip(pages, layers, strict=True)]
    recognized = [
        _recognize(pdf, number, recognize, left_out) if lacks_text else ""
        for number, lacks_text in enumerate(lacking)
    ]
    texts = [_BREAK.join(filter(None, both)) for both in zip(layers, recognized, strict=True)]
    if not any(text.strip() for text in texts):
        if left_out:
            raise InputError(f"is a damaged PDF: {left_out.describe()}")
        if not any(pdfium.raw.FPDFPage_CountObjects(page) for page in pdf):
            raise NothingToRead("has blank pages alone")
        raise InputError(
            "has no text that can be recognized" if recognize else f"has no text: a scan; {HOW}"
        )
    starts = _starts(texts)
    outline = left_out.attempt("bookmarks", lambda: _outline(pdf, texts, starts), plain=[])
    information: dict[str, str] = left_out.attempt(
        "properties", lambda: pdf.get_metadata_dict(skip_empty=True), plain={}
    )
    text = _BREAK.join(texts)
    opening = next((page.lines for page in pages if page.lines), ())
    title = left_out.attempt(
        "title",
        lambda: information_title(information) or largest_line(opening) or plain.title(text),
        plain="",
    )
    metadata: dict[str, Scalar | list[Scalar]] = {"format": "pdf"}
    if not title and (title := name_title(name)):
        metadata["title_from"] = "name"
    if texts != layers:
        metadata["ocr"] = True
    metadata["pages"] = len(texts)
    unread = zip(lacking, recognized, strict=True)
    if blank := sum(lacks_text and not text.strip() for lacks_text, text in unread):
        metadata["pages_without_text"] = blank
    if cut := sum(page.is_cut for page in pages):
        metadata["pages_cut"] = cut
    if author := squeeze(information.get("Author", "")):
        metadata["author"] = author
    found = left_out.attempt(
        "headings", lambda: _sections(outline, written, starts, size=size, text=text), plain=()
    )
    return Document(
        uri=name,
        text=text,
        title=title,
        metadata=metadata,
        marks=in_order((*_page_marks(pages, starts, len(text)), *found)),
    )


def open_pdf(data: bytes) -> Any:
    """Open a PDF; raises `InputError` if it is damaged or encrypted."""
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as failed:
        if getattr(failed, "err_code", None) == _PASSWORD:
            raise InputError("is encrypted; save a copy without its password") from failed
        raise InputError("is a damaged PDF") from failed


@dataclass(frozen=True, slots=True)
class _ReadPage:
    """The lines of a page, its notes and its label.

    A page `is_scan` if it draws no text and has no values; it is cut if it has more than is read.
    """

    lines: list[PageLine]
    notes: tuple[str, ...]
    label: str
    is_scan: bool
    is_cut: bool


def _read_pages(pdf: Any, left_out: LeftOut) -> list[_ReadPage]:
    """Return the pages; one that cannot be read has no lines."""
    with ExitStack() as stack:
        form = left_out.attempt(
            "form values", lambda: stack.enter_context(open_form(pdf)), plain=None
        )
        return [_read_page(pdf, number, form, left_out) for number in range(len(pdf))]


def _read_page(pdf: Any, number: int, form: Any, left_out: LeftOut) -> _ReadPage:
    label = left_out.attempt("page labels", lambda: page_label(pdf, number), plain=str(number + 1))

    def read() -> _ReadPage:
        page = pdf[number]
        try:
            beside = left_out.attempt(
                "form values and notes", lambda: read_annotations(page, form), plain=Annotations()
            )
            layer = _read_layer(page, beside.fields, left_out)
        finally:
            page.close()
        lines = layer.lines
        if beside.stamps:
            lines = left_out.attempt(
                "stamps", lambda: _lines_with_stamps(pdf, number, beside), plain=lines
            )
        is_scan = not (layer.chars or beside.fields)
        return _ReadPage(lines, beside.notes, label, is_scan, layer.is_cut)

    unread = _ReadPage([], (), label, is_scan=True, is_cut=False)
    return left_out.attempt(f"page {label}", read, plain=unread)


def _lines_with_stamps(pdf: Any, number: int, beside: Annotations) -> list[PageLine]:
    """Return the lines of a page and its stamps."""
    page = pdf[number]
    try:
        draw_stamps(page, beside.stamps)
    finally:
        page.close()
    page = pdf[number]
    try:
        return read_lines(page, beside.fields).lines
    finally:
        page.close()


def _read_layer(page: Any, fields: Sequence[Field], left_out: LeftOut) -> PageLayer:
    return left_out.attempt(
        "reading order", lambda: read_lines(page, fields), plain=None
    ) or read_plain_layer(page)


def _recognize(pdf: Any, number: int, recognize: Recognize | None, left_out: LeftOut) -> str:
    """Return the text that is recognized in the picture of a page, "" without an engine."""
    if recognize is None:
        return ""
    return left_out.attempt(
        f"recognition of page {number + 1}",
        lambda: recognize(_render(pdf, number)).rstrip(),
        plain="",
    )


@dataclass(frozen=True, slots=True)
class _WrittenPage:
    """The text of a page, and its lines with the position of each in the text."""

    text: str
    lines: Sequence[PageLine]
    starts: Sequence[int]


def _write_pages(pages: Sequence[_ReadPage], size: float, left_out: LeftOut) -> list[_WrittenPage]:
    """Return the text of each page: without what is no text, tables with the names of columns."""
    plain_pages = [page.lines for page in pages]
    kept = left_out.attempt(
        "headers and footers",
        lambda: drop_furniture(plain_pages, body_size=size),
        plain=plain_pages,
    )
    spelled = {
        word.lower()
        for lines in kept
        for line in lines
        if "-" in line.text
        for word in _HYPHENATED.findall(line.text)
    }
    written: list[_WrittenPage] = []
    table: Table | None = None
    for page, lines in zip(pages, kept, strict=True):
        ordered, table = _improve(lines, table, size, left_out)
        ordered += map(_as_line, page.notes)
        written.append(
            left_out.attempt(
                "words parted by hyphens",
                partial(_write_page, ordered, spelled),
                plain=None,
            )
            or _write_plain(ordered)
        )
    return written


def _improve(
    lines: list[PageLine], table: Table | None, size: float, left_out: LeftOut
) -> tuple[list[PageLine], Table | None]:
    """Return the lines of a page in their order, and the table that may go on after it."""
    lines = left_out.attempt(
        "footnotes", lambda: move_footnotes(lines, body_size=size), plain=lines
    )
    return left_out.attempt(
        "names of columns", lambda: repeat_names(lines, table), plain=(lines, None)
    )


def _as_line(note: str) -> PageLine:
    """Return a note as a line of its own at the end of a page."""
    return PageLine(note, (0, 0, 0, 0), 0, is_bold=False, is_row=False, opens=True, block=-1)


def _write_plain(lines: Sequence[PageLine]) -> _WrittenPage:
    texts = [line.text for line in lines]
    starts = accumulate((len(text) + 1 for text in texts), initial=0)
    return _WrittenPage("\n".join(texts).rstrip(), lines, [*starts][:-1])


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


def _page_marks(pages: Sequence[_ReadPage], starts: Sequence[int], end: int) -> Iterator[Mark]:
    for page, start, following in zip(pages, starts, [*starts[1:], end], strict=True):
        if start < following:
            yield Mark("page", start, following, page.label)


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
