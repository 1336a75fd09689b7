"""Pictures of the pages of an indexed PDF, from its file.

The file is drawn only if its bytes are those that were indexed: its text would not be that of the
picture otherwise, and an index from elsewhere could name any file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson

from crx import _native
from crx._show.marks import read_marks
from crx.errors import UsageError
from crx.ingest._worker.page_renderer import PageRenderer
from crx.ingest.page_values import PagePicture, PageRequest
from crx.ingest.regular_file import read_indexed_file
from crx.types import Mark


def can_be_drawn(uri: str, metadata: Mapping[str, object]) -> bool:
    """Return whether a document is a PDF with a file of its own, not in an archive or a mail."""
    return metadata.get("format") == "pdf" and metadata.get("path", uri) == uri


def draw_document_page(
    store: _native.Store,
    row: _native.DocumentRow,
    renderer: PageRenderer,
    *,
    page: str = "",
    span: tuple[int, int] | None = None,
    width: int = 1000,
) -> PagePicture:
    """Draw the page of a PDF that has a label, by default the one where a span of its text begins.

    The lines of the span are marked. Raises `UsageError` for a document without pages or in an
    archive, `NotFound` if its file is a link, is gone or has changed, `InputError` if it cannot be
    drawn.
    """
    metadata = orjson.loads(row.metadata)
    if metadata.get("format") != "pdf":
        raise UsageError(f"{row.uri}: only pages of PDFs are drawn")
    if not can_be_drawn(row.uri, metadata):
        raise UsageError(f"{row.uri}: pages of PDFs in an archive are not drawn")
    text = store.text(row.doc)
    pages = [mark for mark in read_marks(store.marks(row.doc)) if mark.kind == "page"]
    start, end = span or (0, 0)
    found = _find_page(pages, page, start)
    label = found.label if found else page or "1"
    within = text[found.start : found.end] if found else ""
    marked = text[max(start, found.start) : min(end, found.end)] if found else ""
    request = PageRequest(label=label, text=within, marked=marked, width=width)
    data = read_indexed_file(row.uri, size=row.source_size, source_hash=row.source_hash)
    return renderer.draw(data, request, name=row.uri, max_bytes=4 * len(data) + 64_000_000)


def find_on_page(
    store: _native.Store, row: _native.DocumentRow, page: str, wanted: str
) -> tuple[int, int] | None:
    """Return the span of a text on a page of a document, white space and case aside; else None."""
    words = r"\s+".join(map(re.escape, wanted.split()))
    text = store.text(row.doc)
    for mark in read_marks(store.marks(row.doc)):
        if mark.kind == "page" and mark.label == page:
            found = re.compile(words, re.IGNORECASE).search(text, mark.start, mark.end)
            if found:
                return found.span()
    return None


def _find_page(pages: list[Mark], label: str, start: int) -> Mark | None:
    """Return the page of a label that a position is on, else the first of the label."""
    found = [page for page in pages if not label or page.label == label]
    return next((page for page in found if page.start <= start < page.end), next(iter(found), None))
