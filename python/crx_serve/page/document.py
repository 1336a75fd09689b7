"""A document: its text with lines, pages and a marked span, its outline and its contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from crx import _native
from crx._index.page_picture import can_be_drawn
from crx._show.answer_span import find_answer
from crx.types import Mark
from crx_serve.page.document_body import DocumentBody, make_body
from crx_serve.page.form import SearchForm, document_url
from crx_serve.page.original import original_url
from crx_serve.page.read_document import DocumentPage
from crx_serve.page.templates import render
from crx_serve.text_lines import SHOWN_CHARS

_MAX_OUTLINE = 400
_MAX_CONTEXTS = 100
_ACCEPTED = ("ok", "retried")
_OWN_METADATA = ("path", "format", "as_written", "title_from", "ext")
# Characters of a document that a preview shows, and those of them before the passage.
_PREVIEW_CHARS = 12_000
_PREVIEW_BEFORE = 1_500


@dataclass(frozen=True, slots=True)
class _OutlineEntry:
    """A heading of the outline, and where it leads."""

    label: str
    level: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkContext:
    """What situates a chunk; `rejected` is why a model's context was not taken, or ""."""

    number: int
    url: str
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


def render_document(page: DocumentPage, *, store: _native.Store) -> Markup:
    """Return the main part of the page of a document."""
    around = page.lines.around(page.span[0] if page.span else 0)
    body = make_body(page, around, store=store)
    sections = [mark for mark in page.marks if mark.is_section and mark.label]
    window, length = body.window, len(page.lines.text)
    has_other_view = page.can_be_rendered and not window.is_cut
    values = {
        **_describe_document(page),
        "lang": page.row.lang,
        "query": page.query,
        "back_url": SearchForm(query=page.query).url(),
        "metadata": [
            (name, _describe_value(value))
            for name, value in page.metadata.items()
            if name not in _OWN_METADATA
        ],
        "contexts": _read_contexts(page, body, store),
        "section_count": len(sections),
        "outline": _outline(page, body, sections) if len(sections) > 1 else [],
        "body": body,
        "other_view_url": page.url(as_text=not page.as_text) if has_other_view else "",
        "is_rendered": page.is_rendered,
        "earlier_url": _text_url(page, body, window.start - 1) if window.start else "",
        "later_url": (
            _text_url(page, body, min(window.end + 1, length - 1)) if window.end < length else ""
        ),
    }
    return render("document.html", values)


def render_preview(page: DocumentPage, *, store: _native.Store) -> Markup:
    """Return a document around its span, for the preview beside the passages."""
    around = page.lines.around(
        page.span[0] if page.span else 0, before=_PREVIEW_BEFORE, shown=_PREVIEW_CHARS
    )
    values = {
        **_describe_document(page),
        "document_url": page.url(as_text=False),
        "body": make_body(page, around, store=store),
    }
    return render("preview.html", values)


def _describe_document(page: DocumentPage) -> Mapping[str, object]:
    """Return what the page of a document and its preview say alike."""
    uri, chunk_count = page.row.uri, page.row.chunks
    facts = [page.format, page.row.lang, f"{chunk_count:,} chunk{'s' * (chunk_count != 1)}"]
    return {
        "uri": uri,
        "original_url": original_url(page.id, page.row),
        "picture_url": _picture_url(page),
        "title": page.title,
        "facts": [fact for fact in facts if fact],
    }


def _picture_url(page: DocumentPage) -> str:
    """Return the URL of the picture of the page of a PDF, with the span marked, "" for others.

    Of a span over several pages it is the page with the line that answers the query.
    """
    if not can_be_drawn(page.row.uri, page.metadata):
        return ""
    start, end = page.span or (0, 1)
    answer = start + find_answer(page.lines.text[start:end], page.query)[0]
    for mark in page.marks:
        if mark.kind == "page" and mark.start <= answer < mark.end:
            start, end = max(start, mark.start), min(end, mark.end)
    return f"/v1/documents/{page.id}/page?{urlencode({'start': start, 'end': end})}"


def _describe_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _read_contexts(
    page: DocumentPage, body: DocumentBody, store: _native.Store
) -> _Contexts | None:
    chunks = store.chunks(store.chunk_keys(page.row.doc))
    if not chunks:
        return None
    start, end = body.window.start, body.window.end
    here = [each for each in chunks if each.start < end and each.end > start]
    return _Contexts(
        covered=sum(each.outcome in _ACCEPTED for each in chunks),
        total=len(chunks),
        is_cut=len(here) < len(chunks) or len(here) > _MAX_CONTEXTS,
        chunks=[
            _ChunkContext(
                number=each.ordinal + 1,
                url=_text_url(page, body, each.start),
                # A chunk that no model was asked about has no outcome.
                rejected="" if each.outcome in _ACCEPTED else each.outcome,
                outline=each.outline,
                context=each.context,
            )
            for each in here[:_MAX_CONTEXTS]
        ],
    )


def _outline(
    page: DocumentPage, body: DocumentBody, sections: Sequence[Mark]
) -> list[_OutlineEntry]:
    return [
        _OutlineEntry(mark.label, min(mark.level, 4), _text_url(page, body, mark.start))
        for mark in sections[:_MAX_OUTLINE]
    ]


def _text_url(page: DocumentPage, body: DocumentBody, offset: int) -> str:
    """Return the URL of the line of a character, of the character alone in a long line."""
    line = page.lines.line_at(offset)
    window = body.window
    if body.rendered is None and not window.is_cut and window.first <= line <= window.last:
        return f"#L{line}"
    start, end = page.lines.span(line, line)
    if end - start > SHOWN_CHARS:
        start, end = offset, offset + 1
    view = "text" if page.as_text else ""
    return document_url(page.id, start=start, end=max(end, start + 1), query=page.query, view=view)
