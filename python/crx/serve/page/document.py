"""A document: its text with lines, pages and a marked span, its outline and its contexts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson

from crx import _native
from crx.index.handle import Index
from crx.ingest.formats import LANGUAGES, is_as_written
from crx.retrieve.marks import read_marks
from crx.serve.page.form import SearchForm, document_url
from crx.serve.page.markup import Markup, Node, join, tag
from crx.serve.page.places import text_lang
from crx.serve.page.results import mark_words, render_context
from crx.serve.page.text_lines import TextLines
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
    return join(_head(page), _contexts(page, store), _outline(page), _text(page))


def _head(page: DocumentPage) -> Markup:
    uri = page.row.uri
    source: Node = tag("bdi", {"class": "path"}, uri)
    if uri.startswith(("https://", "http://")):
        source = tag("a", {"href": uri, "rel": "noreferrer"}, source)
    facts = [str(page.metadata.get("format", "")), page.row.lang]
    facts += [f"{page.row.chunks:,} chunk{'s' * (page.row.chunks != 1)}"]
    more = {k: v for k, v in page.metadata.items() if k not in _OWN_METADATA}
    back = SearchForm(query=page.query).url()
    text = "Back to the passages" if page.query else "Search"
    return tag(
        "header",
        {"class": "document-head"},
        tag("p", {"class": "back"}, tag("a", {"id": "back", "href": back}, f"← {text}")),
        tag("h1", {"dir": "auto", "lang": page.row.lang or None}, page.title),
        tag("p", {"class": "place"}, source),
        tag("p", {"class": "facts"}, " · ".join(filter(None, facts))),
        tag("dl", {"class": "metadata"}, *(_pair(*each) for each in more.items())) if more else "",
    )


def _pair(name: str, value: object) -> Markup:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return tag("div", {}, tag("dt", {}, name), tag("dd", {"dir": "auto"}, text))


def _contexts(page: DocumentPage, store: _native.Store) -> Node:
    chunks = store.chunks(store.chunk_keys(page.row.doc))
    if not chunks:
        return ""
    covered = sum(each.outcome in _ACCEPTED for each in chunks)
    first, last = page.shown
    start, end = page.lines.span(first, last)
    here = [each for each in chunks if each.start < end and each.end > start]
    counted = f"{covered:,} of {len(chunks):,} chunks have one ({covered / len(chunks):.0%})"
    cut = len(here) < len(chunks) or len(here) > _MAX_CONTEXTS
    note = tag("p", {"class": "facts"}, "Of the text that is shown, the first ones.") if cut else ""
    return tag(
        "details",
        {"class": "contexts"},
        tag("summary", {}, f"Contexts: {counted}"),
        note,
        tag("ol", {}, *(_chunk(each, page) for each in here[:_MAX_CONTEXTS])),
    )


def _chunk(chunk: _native.ChunkRow, page: DocumentPage) -> Markup:
    # A chunk that no model was asked about has no outcome.
    state = "" if chunk.outcome in ("", *_ACCEPTED) else f" ({chunk.outcome})"
    link = tag("a", {"href": f"#L{page.lines.line_at(chunk.start)}"}, f"Chunk {chunk.ordinal + 1}")
    return tag(
        "li",
        {},
        tag("p", {}, link, state),
        render_context(outline=chunk.outline, context=chunk.context),
    )


def _outline(page: DocumentPage) -> Node:
    sections = [mark for mark in page.marks if mark.is_section and mark.label]
    if len(sections) < 2:
        return ""
    items = [
        tag(
            "li",
            {"class": f"level{min(mark.level, 4)}"},
            tag(
                "a",
                {"href": _line_url(page, page.lines.line_at(mark.start)), "dir": "auto"},
                mark.label,
            ),
        )
        for mark in sections[:_MAX_OUTLINE]
    ]
    return tag(
        "details",
        {"class": "outline-list"},
        tag("summary", {}, f"Outline: {len(sections):,} sections"),
        tag("nav", {"aria-label": "Outline"}, tag("ol", {}, *items)),
    )


def _line_url(page: DocumentPage, line: int) -> str:
    first, last = page.shown
    if first <= line <= last:
        return f"#L{line}"
    start, end = page.lines.span(line, line)
    return document_url(page.id, start=start, end=max(end, start + 1), query=page.query)


def _text(page: DocumentPage) -> Markup:
    first, last = page.shown
    numbered = is_as_written(page.row.uri, page.metadata)
    is_code = page.metadata.get("format") in LANGUAGES.values()
    kind = "text code" if is_code else "text"
    dividers, beside = _marks_by_line(page)
    terms = set(_native.analyze(page.query)) if page.query else set()
    lines = []
    for line in range(first, last + 1):
        lines += [_divider(mark) for mark in dividers.get(line, ())]
        label = str(line) if numbered else ""
        if marks := beside.get(line):
            label = marks[0].label
        lines.append(_line(page, line, label=label, terms=terms))
    lang = text_lang(
        page.lines.text[page.lines.span(first, last)[0] :], document_lang=page.row.lang
    )
    return join(
        _neighbour(page, first - 1, "Earlier text") if first > 1 else "",
        tag("div", {"class": kind, "lang": lang, "tabindex": "-1"}, *lines),
        _neighbour(page, last + 1, "Later text") if last < len(page.lines.starts) else "",
    )


def _neighbour(page: DocumentPage, line: int, text: str) -> Markup:
    return tag("p", {"class": "more"}, tag("a", {"href": _line_url(page, line)}, text))


def _marks_by_line(page: DocumentPage) -> tuple[dict[int, list[Mark]], dict[int, list[Mark]]]:
    dividers: dict[int, list[Mark]] = {}
    beside: dict[int, list[Mark]] = {}
    for mark in page.marks:
        if mark.kind in _DIVIDERS:
            dividers.setdefault(page.lines.line_at(mark.start), []).append(mark)
        elif mark.kind in _BESIDE:
            beside.setdefault(page.lines.line_at(mark.start), []).append(mark)
    return dividers, beside


def _divider(mark: Mark) -> Markup:
    anchor = re.sub(r"\W+", "-", f"{mark.kind}-{mark.label}")
    link = tag("a", {"href": f"#{anchor}"}, f"{mark.kind} {mark.label}")
    return tag("p", {"class": "divider", "id": anchor}, link)


def _line(page: DocumentPage, line: int, *, label: str, terms: set[str]) -> Markup:
    start, end = page.lines.starts[line - 1], page.lines.end(line)
    aside = {"class": "number", "href": f"#L{line}", "tabindex": "-1", "aria-hidden": "true"}
    number = tag("a", aside, label) if label else ""
    return tag(
        "div",
        {"class": "line", "id": f"L{line}"},
        number,
        tag("p", {"dir": "auto"}, *_pieces(page, start, end, terms)),
    )


def _pieces(page: DocumentPage, start: int, end: int, terms: set[str]) -> Iterator[Node]:
    """Yield a line, with the part that the span covers marked, and the query's words in it."""
    text = page.lines.text
    if page.span is None or not (page.span[0] < max(end, start + 1) and page.span[1] > start):
        yield text[start:end]
        return
    span_start, span_end = max(start, page.span[0]), min(end, page.span[1])
    yield text[start:span_start]
    is_first = page.span[0] >= start
    yield tag(
        "span",
        {"class": "span", "id": "passage" if is_first else None},
        mark_words(text[span_start:span_end], terms),
    )
    yield text[span_end:end]


def parse_range(given: str, *, separator: str = "-") -> tuple[int, int] | None:
    """Return the two numbers of a text such as "3-7", None for any other text."""
    found = re.fullmatch(rf"([0-9]{{1,9}})(?:{separator}([0-9]{{1,9}}))?", given)
    return (int(found[1]), int(found[2] or found[1])) if found else None


def find_span(given: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the span of characters that the parameters of a URL name, None if they name none."""
    return parse_range(f"{given.get('start', '')}-{given.get('end', '')}")
