"""A document: its text with lines, pages and a marked span, its outline and its contexts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson
from markupsafe import Markup

from crx import _native
from crx.index.handle import Index
from crx.ingest.formats import LANGUAGES, is_as_written
from crx.retrieve.marks import read_marks
from crx.serve.page.form import SearchForm, document_url
from crx.serve.page.locations import text_lang
from crx.serve.page.templates import render
from crx.serve.page.text_lines import TextLines
from crx.serve.page.text_pieces import Piece, marked_terms, split_words
from crx.types import Mark

_MAX_OUTLINE = 400
_MAX_CONTEXTS = 100
_ACCEPTED = ("ok", "retried")
# Marks that stand above the text that they begin, and marks that stand beside a line.
_DIVIDERS = ("page", "slide", "chapter", "sheet")
_BESIDE = ("row", "cell", "time", "message")
_OWN_METADATA = ("path", "format", "as_written", "title_from", "ext")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """A document that is shown, with the span that the page is scrolled to, if there is one."""

    id: str
    index: str
    row: _native.DocumentRow
    metadata: Mapping[str, object]
    lines: TextLines
    marks: tuple[Mark, ...]
    span: tuple[int, int] | None
    query: str

    @property
    def shown(self) -> tuple[int, int]:
        """The first and the last line that are shown."""
        return self.lines.around(self.span[0] if self.span else 0)

    @property
    def title(self) -> str:
        """The title, else the last part of the URI."""
        return self.row.title or self.row.uri.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading of the outline, and where it leads."""

    label: str
    level: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkContext:
    """What situates a chunk; `rejected` is why a model's context was not taken, or ""."""

    number: int
    line: int
    rejected: str
    outline: str
    context: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contexts:
    """The contexts of the chunks that are shown, and how many of all chunks have one."""

    covered: int
    total: int
    is_cut: bool
    chunks: Sequence[_ChunkContext]


@dataclass(frozen=True, slots=True)
class _Divider:
    """A page, slide, chapter or sheet that begins."""

    anchor: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownLine:
    """A line: what is before the marked span, in it and after it; `span` is None outside of it."""

    number: int
    label: str
    dividers: Sequence[_Divider]
    before: str
    span: Sequence[Piece] | None
    is_first: bool
    after: str


def read_document(
    document_id: str,
    *,
    found: tuple[str, Index, _native.DocumentRow],
    span: tuple[int, int] | None,
    line_span: tuple[int, int] | None,
    query: str,
) -> DocumentPage:
    """Return a document of an index; `line_span` is used if there is no `span`."""
    name, index, row = found
    lines = TextLines.of(index.store.text(row.doc))
    if span is None and line_span is not None:
        span = lines.span(*line_span)
    if span is not None and not 0 <= span[0] < span[1] <= len(lines.text):
        span = None  # the document has changed since the link was made
    return DocumentPage(
        id=document_id,
        index=name,
        row=row,
        metadata=orjson.loads(row.metadata),
        lines=lines,
        marks=tuple(read_marks(index.store.marks(row.doc))),
        span=span,
        query=query,
    )


def render_document(page: DocumentPage, *, store: _native.Store) -> Markup:
    """Return the main part of the page of a document."""
    uri, chunk_count = page.row.uri, page.row.chunks
    first, last = page.shown
    facts = [str(page.metadata.get("format", "")), page.row.lang]
    facts += [f"{chunk_count:,} chunk{'s' * (chunk_count != 1)}"]
    sections = [mark for mark in page.marks if mark.is_section and mark.label]
    text = page.lines.text[page.lines.span(first, last)[0] :]
    values = {
        "uri": uri,
        "is_web_page": uri.startswith(("https://", "http://")),
        "title": page.title,
        "lang": page.row.lang,
        "query": page.query,
        "back_url": SearchForm(query=page.query).url(),
        "facts": [fact for fact in facts if fact],
        "metadata": [
            (name, _describe_value(value))
            for name, value in page.metadata.items()
            if name not in _OWN_METADATA
        ],
        "contexts": _read_contexts(page, store),
        "section_count": len(sections),
        "outline": _outline(page, sections) if len(sections) > 1 else [],
        "is_code": page.metadata.get("format") in LANGUAGES.values(),
        "text_lang": text_lang(text, document_lang=page.row.lang),
        "lines": _show_lines(page),
        "earlier_url": _line_url(page, first - 1) if first > 1 else "",
        "later_url": _line_url(page, last + 1) if last < len(page.lines.starts) else "",
    }
    return render("document.html", values)


def _describe_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _read_contexts(page: DocumentPage, store: _native.Store) -> _Contexts | None:
    chunks = store.chunks(store.chunk_keys(page.row.doc))
    if not chunks:
        return None
    start, end = page.lines.span(*page.shown)
    here = [each for each in chunks if each.start < end and each.end > start]
    return _Contexts(
        covered=sum(each.outcome in _ACCEPTED for each in chunks),
        total=len(chunks),
        is_cut=len(here) < len(chunks) or len(here) > _MAX_CONTEXTS,
        chunks=[
            _ChunkContext(
                number=each.ordinal + 1,
                line=page.lines.line_at(each.start),
                # A chunk that no model was asked about has no outcome.
                rejected="" if each.outcome in _ACCEPTED else each.outcome,
                outline=each.outline,
                context=each.context,
            )
            for each in here[:_MAX_CONTEXTS]
        ],
    )


def _outline(page: DocumentPage, sections: Sequence[Mark]) -> list[_Section]:
    return [
        _Section(mark.label, min(mark.level, 4), _line_url(page, page.lines.line_at(mark.start)))
        for mark in sections[:_MAX_OUTLINE]
    ]


def _line_url(page: DocumentPage, line: int) -> str:
    first, last = page.shown
    if first <= line <= last:
        return f"#L{line}"
    start, end = page.lines.span(line, line)
    return document_url(page.id, start=start, end=max(end, start + 1), query=page.query)


def _show_lines(page: DocumentPage) -> list[_ShownLine]:
    first, last = page.shown
    numbered = is_as_written(page.row.uri, page.metadata)
    dividers, beside = _marks_by_line(page)
    start, end = page.span or (0, 0)
    terms = marked_terms(page.query, page.lines.text[start:end])
    lines = []
    for line in range(first, last + 1):
        label = str(line) if numbered else ""
        if marks := beside.get(line):
            label = marks[0].label
        above = [_divider(mark) for mark in dividers.get(line, ())]
        lines.append(_show_line(page, line, label=label, dividers=above, terms=terms))
    return lines


def _marks_by_line(page: DocumentPage) -> tuple[dict[int, list[Mark]], dict[int, list[Mark]]]:
    dividers: dict[int, list[Mark]] = {}
    beside: dict[int, list[Mark]] = {}
    for mark in page.marks:
        if mark.kind in _DIVIDERS:
            dividers.setdefault(page.lines.line_at(mark.start), []).append(mark)
        elif mark.kind in _BESIDE:
            beside.setdefault(page.lines.line_at(mark.start), []).append(mark)
    return dividers, beside


def _divider(mark: Mark) -> _Divider:
    anchor = re.sub(r"\W+", "-", f"{mark.kind}-{mark.label}")
    return _Divider(anchor, f"{mark.kind} {mark.label}")


def _show_line(
    page: DocumentPage, line: int, *, label: str, dividers: Sequence[_Divider], terms: set[str]
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
    )


def parse_range(given: str, *, separator: str = "-") -> tuple[int, int] | None:
    """Return the two numbers of a text such as "3-7", None for any other text."""
    found = re.fullmatch(rf"([0-9]{{1,9}})(?:{separator}([0-9]{{1,9}}))?", given)
    return (int(found[1]), int(found[2] or found[1])) if found else None


def find_span(given: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the span of characters that the parameters of a URL name, None if they name none."""
    return parse_range(f"{given.get('start', '')}-{given.get('end', '')}")
