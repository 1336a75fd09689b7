"""The text of a document as it is shown: rendered, in colours, or line by line."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote, urljoin

from markupsafe import Markup

from crx import _native
from crx.serve.document_ids import make_document_id
from crx.serve.page.coloured_code import colour_code
from crx.serve.page.form import document_url
from crx.serve.page.locations import text_lang
from crx.serve.page.read_document import BESIDE, DocumentPage
from crx.serve.page.rendered_markdown import render_markdown
from crx.serve.page.rendered_text import TextLine, render_text
from crx.serve.page.text_pieces import Piece, marked_terms, split_words
from crx.types import Mark

# Marks that stand above the text that they begin.
_DIVIDERS = ("page", "slide", "chapter", "sheet")
_FRONT_MATTER = re.compile(r"---\n(?:.*\n){0,200}?(?:---|\.\.\.)(?:\n|$)")
# A section of Markdown that begins so many characters earlier is shown from its beginning.
_SECTION_CHARS = 6000


@dataclass(frozen=True, slots=True)
class _Divider:
    """A page, slide, chapter or sheet that begins."""

    anchor: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownLine:
    """A line: what is before the marked span, in it and after it; `span` is None outside of it.

    `coloured` is the whole line of source code.
    """

    number: int
    label: str
    dividers: Sequence[_Divider]
    before: str
    span: Sequence[Piece] | None
    is_first: bool
    after: str
    coloured: Markup | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentBody:
    """The lines (first, last) of a document: as rendered markup, or one by one."""

    first: int
    last: int
    rendered: Markup | None
    lines: Sequence[_ShownLine]
    is_code: bool
    lang: str | None


def make_body(page: DocumentPage, window: tuple[int, int], *, store: _native.Store) -> DocumentBody:
    """Return the lines of a window as they are shown; Markdown from the start of its section."""
    first, last = window
    if page.is_rendered and page.format == "markdown":
        first = _section_start(page, first)
    start, end = page.lines.span(first, last)
    rendered = None
    lines: Sequence[_ShownLine] = ()
    if not page.is_rendered:
        lines = _show_lines(page, first, last)
    elif page.format == "markdown":
        rendered = _render_markdown(page, first, last, store=store)
    else:
        rendered = render_text(_text_lines(page, first, last), terms=_terms(page))
    return DocumentBody(
        first=first,
        last=last,
        rendered=rendered,
        lines=lines,
        is_code=page.is_code,
        lang=text_lang(page.lines.text[start:end], document_lang=page.row.lang),
    )


def _section_start(page: DocumentPage, line: int) -> int:
    """Return the line of the heading of the section that a line is in: no block begins before."""
    offset = page.lines.starts[line - 1]
    starts = (mark.start for mark in page.marks if mark.kind == "heading")
    near = max((start for start in starts if start <= offset), default=0)
    return page.lines.line_at(near) if offset - near <= _SECTION_CHARS else line


def _terms(page: DocumentPage) -> set[str]:
    start, end = page.span or (0, 0)
    return marked_terms(page.query, page.lines.text[start:end])


def _span_lines(page: DocumentPage) -> tuple[int, int] | None:
    """Return the first and the last line of the span."""
    if page.span is None:
        return None
    return page.lines.line_at(page.span[0]), page.lines.line_at(page.span[1] - 1)


def _render_markdown(page: DocumentPage, first: int, last: int, *, store: _native.Store) -> Markup:
    start, end = page.lines.span(first, last)
    if first == 1 and (front := _FRONT_MATTER.match(page.lines.text)):
        start = min(front.end(), end)
        first = page.lines.line_at(start)
    span = _span_lines(page)
    return render_markdown(
        page.lines.text[start:end],
        lines=(span[0] - first, span[1] - first) if span else None,
        terms=_terms(page),
        resolve=partial(_resolve, uri=page.row.uri, index=page.index, store=store),
    )


def _resolve(path: str, *, uri: str, index: str, store: _native.Store) -> str:
    """Return the URL of the document that a relative link of another one leads to, or ""."""
    if uri.startswith(("https://", "http://")):
        return urljoin(uri, path)
    if not uri.startswith("/"):
        return ""
    row = store.document(posixpath.normpath(posixpath.join(posixpath.dirname(uri), unquote(path))))
    return document_url(make_document_id(index, row)) if row else ""


def _text_lines(page: DocumentPage, first: int, last: int) -> list[TextLine]:
    levels = {
        page.lines.line_at(mark.start): max(1, mark.level)
        for mark in page.marks
        if mark.kind == "heading" and mark.label
    }
    dividers = _marks_by_line(page, _DIVIDERS)
    span = _span_lines(page)
    return [
        TextLine(
            text=page.lines.text[page.lines.starts[line - 1] : page.lines.end(line)],
            level=levels.get(line, 0),
            is_span=bool(span and span[0] <= line <= span[1]),
            divider=", ".join(_divider(mark).label for mark in dividers.get(line, ())),
        )
        for line in range(first, last + 1)
    ]


def _show_lines(page: DocumentPage, first: int, last: int) -> list[_ShownLine]:
    dividers, beside = _marks_by_line(page, _DIVIDERS), _marks_by_line(page, BESIDE)
    terms = _terms(page)
    coloured = _colour(page, first, last, terms=terms) if page.is_code else []
    lines = []
    for line in range(first, last + 1):
        label = str(line) if page.is_numbered else ""
        if marks := beside.get(line):
            label = marks[0].label
        lines.append(
            _show_line(
                page,
                line,
                label=label,
                dividers=[_divider(mark) for mark in dividers.get(line, ())],
                terms=terms,
                coloured=coloured[line - first] if coloured else None,
            )
        )
    return lines


def _colour(page: DocumentPage, first: int, last: int, *, terms: set[str]) -> Sequence[Markup]:
    start, end = page.lines.span(first, last)
    span_start, span_end = page.span or (0, 0)
    return colour_code(
        page.lines.text[start:end],
        language=page.format,
        span=(span_start - start, span_end - start),
        terms=terms,
    )


def _marks_by_line(page: DocumentPage, kinds: Sequence[str]) -> dict[int, list[Mark]]:
    found: dict[int, list[Mark]] = {}
    for mark in page.marks:
        if mark.kind in kinds:
            found.setdefault(page.lines.line_at(mark.start), []).append(mark)
    return found


def _divider(mark: Mark) -> _Divider:
    anchor = re.sub(r"\W+", "-", f"{mark.kind}-{mark.label}")
    return _Divider(anchor, f"{mark.kind} {mark.label}")


def _show_line(
    page: DocumentPage,
    line: int,
    *,
    label: str,
    dividers: Sequence[_Divider],
    terms: set[str],
    coloured: Markup | None,
) -> _ShownLine:
    text = page.lines.text
    start, end = page.lines.starts[line - 1], page.lines.end(line)
    span_start, span_end = page.span or (-1, -1)
    if not (span_start < max(end, start + 1) and span_end > start):
        # The line lies outside of the span.
        before, span, after = text[start:end], None, ""
    else:
        first, last = max(start, span_start), min(end, span_end)
        before, after = text[start:first], text[last:end]
        span = split_words(text[first:last], terms)
    return _ShownLine(
        number=line,
        label=label,
        dividers=dividers,
        before=before,
        span=span,
        is_first=span_start >= start,
        after=after,
        coloured=coloured,
    )
