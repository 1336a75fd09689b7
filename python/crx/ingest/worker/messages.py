"""Documents as messages between processes."""

from __future__ import annotations

from typing import Any, get_args

from crx.types import AnchorKind, Document, Mark

_KINDS = frozenset(("heading", "definition", "page", *get_args(AnchorKind)))


def encode_document(document: Document) -> dict[str, Any]:
    """Return a document as an object of JSON."""
    return {
        "uri": document.uri,
        "text": document.text,
        "title": document.title,
        "lang": document.lang,
        "metadata": dict(document.metadata),
        "marks": [[m.kind, m.start, m.end, m.label, m.level] for m in document.marks],
        "chunks": document.chunks,
    }


def decode_document(message: dict[str, Any]) -> Document:
    """Return the document of an object; raises `ValueError`, `KeyError` or `TypeError`."""
    text, chunks = message["text"], message["chunks"]
    words = [text, message["uri"], message["title"], message["lang"]]
    if not all(isinstance(word, str) for word in words):
        raise TypeError("no text")
    return Document(
        uri=message["uri"],
        text=text,
        title=message["title"],
        lang=message["lang"],
        metadata=dict(message["metadata"]),
        marks=tuple(_decode_mark(mark, end=len(text)) for mark in message["marks"]),
        chunks=chunks if chunks is None else tuple(_decode_span(s, end=len(text)) for s in chunks),
    )


def _decode_mark(fields: Any, *, end: int) -> Mark:
    kind, start, stop, label, level = fields
    if kind not in _KINDS or not isinstance(label, str) or not isinstance(level, int):
        raise TypeError("no mark")
    return Mark(kind, *_decode_span((start, stop), end=end), label, level)


def _decode_span(span: Any, *, end: int) -> tuple[int, int]:
    start, stop = span
    if not (isinstance(start, int) and isinstance(stop, int) and 0 <= start <= stop <= end):
        raise ValueError("no span of the text")
    return start, stop
