"""A document of an index, and the span of it that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from crx import _native
from crx._index.handle import Index
from crx._show.marks import read_marks
from crx.ingest.formats import LANGUAGES, is_as_written
from crx.types import Mark
from crx_serve.page.form import document_url
from crx_serve.text_lines import TextLines, parse_range

# Marks that stand beside a line.
BESIDE = ("row", "cell", "time", "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """A document that is shown, with the span that the page is scrolled to, if there is one.

    `as_text` is true if its text is wanted as it is, with the numbers of its lines.
    """

    id: str
    index: str
    row: _native.DocumentRow
    metadata: Mapping[str, object]
    lines: TextLines
    marks: tuple[Mark, ...]
    span: tuple[int, int] | None
    query: str
    as_text: bool = False

    @property
    def title(self) -> str:
        """The title, else the last part of the URI."""
        return self.row.title or self.row.uri.rstrip("/").rpartition("/")[2]

    @property
    def format(self) -> str:
        """The format, or "" if it is not known."""
        return str(self.metadata.get("format", ""))

    @property
    def is_code(self) -> bool:
        """Whether it is source code."""
        return self.format in LANGUAGES.values()

    @property
    def is_numbered(self) -> bool:
        """Whether its lines are those of the file."""
        return is_as_written(self.row.uri, self.metadata)

    @property
    def can_be_rendered(self) -> bool:
        """Whether it can be shown with headings, paragraphs, lists and tables."""
        if self.format == "markdown":
            return True
        return not self.is_numbered and not any(mark.kind in BESIDE for mark in self.marks)

    @property
    def is_rendered(self) -> bool:
        """Whether it is shown so."""
        return self.can_be_rendered and not self.as_text

    def url(self, *, as_text: bool) -> str:
        """Return the URL of the same span, as text or rendered."""
        start, end = self.span or (None, None)
        view = "text" if as_text else ""
        return document_url(self.id, start=start, end=end, query=self.query, view=view)


def read_document(
    document_id: str,
    *,
    found: tuple[str, Index, _native.DocumentRow],
    given: Mapping[str, str],
) -> DocumentPage:
    """Return a document of an index, with the span that the parameters of a URL name.

    `start` and `end` count characters; `lines` is used without them, and shows the text as it is.
    """
    name, index, row = found
    lines = TextLines.of(index.store.text(row.doc))
    span = parse_range(f"{given.get('start', '')}-{given.get('end', '')}")
    line_span = parse_range(given.get("lines", ""))
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
        query=given.get("q", "").strip(),
        as_text=given.get("view") == "text" or line_span is not None,
    )
