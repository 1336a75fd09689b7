"""Messages between this process and the one that reads files, and the limits on a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from crx.errors import InputError, NothingToRead, NotText
from crx.types import AnchorKind, Document, Mark


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may take: seconds of CPU time, and millions of bytes of memory."""

    seconds: int = 60
    memory_mb: int = 2000

    @property
    def wall_seconds(self) -> int:
        """Seconds of wall time, more than of CPU time, since other processes run too.

        They are counted only while a file is parsed, not while its documents wait to be taken.
        """
        return 2 * self.seconds


DEFAULT_LIMITS = ReadLimits()
# Bytes of a file that a program may write which a reader starts.
MOST_FILE_BYTES = 256_000_000


_KINDS = frozenset(("heading", "definition", "page", *get_args(AnchorKind)))


# What a worker may raise about a file, by its kind in a message.
FAILURES = {each.__name__: each for each in (InputError, NotText, NothingToRead)}


def failure_kind(failure: InputError) -> str:
    """Return the kind of the most special class of `FAILURES` that a failure is of."""
    return next(each.__name__ for each in type(failure).__mro__ if each.__name__ in FAILURES)


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
