"""The text of a document as it is shown: rendered, in colours, or line by line."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote, urljoin, urlsplit

from markupsafe import Markup

from crx import _native
from crx._text.query_terms import marked_terms
from crx.types import Mark
from crx_serve.document_ids import make_document_id
from crx_serve.page.coloured_code import colour_code
from crx_serve.page.form import document_url
from crx_serve.page.locations import text_lang
from crx_serve.page.read_document import BESIDE, DocumentPage
from crx_serve.page.rendered_markdown import render_markdown
from crx_serve.page.rendered_text import TextLine, render_text
from crx_serve.page.text_pieces import Piece, split_words
from crx_serve.text_lines import Window

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

    `coloured` is the whole line of source code. `starts_cut` and `ends_cut` are true for a
    part of a long line that has text before it and after it.
    """

    number: int
    label: str
    dividers: Sequence[_Divider]
    before: str
    span: Sequence[Piece] | None
    is_first: bool
    after: str
    coloured: Markup | None
    starts_cut: bool
    ends_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentBody:
    """What is shown of a document: as rendered markup, or line by line."""

    window: Window
    rendered: Markup | None
    lines: Sequence[_ShownLine]
    is_code: bool
    lang: str | None


def make_body(page: DocumentPage, window: Window, *, store: _native.Store) -> DocumentBody:
    """Return a window as it is shown; Markdown from the start of its section.

    A window with a part of a long line is plain text.
    """
    rendered = None
    lines: Sequence[_ShownLine] = ()
    if window.is_cut or not page.is_rendered:
        lines = _show_lines(page, window)
    elif page.format == "markdown":
        window = _from_section_start(page, window)
        rendered = _render_markdown(page, window, store=store)
    else:
        rendered = render_text(_text_lines(page, window), terms=_terms(page))
    return DocumentBody(
        window=window,
        rendered=rendered,
        lines=lines,
        is_code=page.is_code,
        lang=text_lang(page.lines.text[window.start : window.end], document_lang=page.row.lang),
    )


def _from_section_start(page: DocumentPage, window: Window) -> Window:
    """Return a window from the heading of its first section: no block begins before."""
    starts = (mark.start for mark in page.marks if mark.kind == "heading")
    near = max((start for start in starts if start <= window.start), default=0)
    if window.start - near > _SECTION_CHARS:
        return window
    first = page.lines.line_at(near)
    return replace(window, first=first, start=page.lines.starts[first - 1])


def _terms(page: DocumentPage) -> set[str]:
    start, end = page.span or (0, 0)
    return marked_terms(page.query, page.lines.text[start:end])


def _span_lines(page: DocumentPage) -> tuple[int, int] | None:
    """Return the first and the last line of the span."""
    if page.span is None:
        return None
    return page.lines.line_at(page.span[0]), page.lines.line_at(page.span[1] - 1)


def _render_markdown(page: DocumentPage, window: Window, *, store: _native.Store) -> Markup:
    first, start, end = window.first, window.start, window.end
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


def _resolve(url: str, *, uri: str, index: str, store: _native.Store) -> str:
    """Return the URL of the document that a relative link of another one leads to, or ""."""
    if uri.startswith(("https://", "http://")):
        return urljoin(uri, url)
    if not uri.startswith("/"):
        return ""
    path = urlsplit(url).path
    row = store.document(posixpath.normpath(posixpath.join(posixpath.dirname(uri), unquote(path))))
    return document_url(make_document_id(index, row)) if row else ""


def _text_lines(page: DocumentPage, window: Window) -> list[TextLine]:
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
        for line in range(window.first, window.last + 1)
    ]


def _show_lines(page: DocumentPage, window: Window) -> list[_ShownLine]:
    dividers, beside = _marks_by_line(page, _DIVIDERS), _marks_by_line(page, BESIDE)
    terms = _terms(page)
    has_colours = page.is_code and not window.is_cut
    coloured = _colour(page, window, terms=terms) if has_colours else []
    lines = []
    for line in range(window.first, window.last + 1):
        label = str(line) if page.is_numbered else ""
        if marks := beside.get(line):
            label = marks[0].label
        lines.append(
            _show_line(
                page,
                line,
                window=window,
                label=label,
                dividers=[_divider(mark) for mark in dividers.get(line, ())],
                terms=terms,
                coloured=coloured[line - window.first] if coloured else None,
            )
        )
    return lines


def _colour(page: DocumentPage, window: Window, *, terms: set[str]) -> Sequence[Markup]:
    start, end = window.start, window.end
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
    window: Window,
    label: str,
    dividers: Sequence[_Divider],
    terms: set[str],
    coloured: Markup | None,
) -> _ShownLine:
    text = page.lines.text
    line_start, line_end = page.lines.starts[line - 1], page.lines.end(line)
    start, end = max(line_start, window.start), min(line_end, window.end)
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
        starts_cut=start > line_start,
        ends_cut=end < line_end,
    )
