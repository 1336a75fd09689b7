"""Contexts made elsewhere, from a file of JSON lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from crx.carry import read_contexts
from crx.types import Chunk, Context, Document


class FileContexts:
    """The contexts of a file {"doc_id" | "path", "start", "end", "context"}, by exact span."""

    def __init__(self, path: Path) -> None:
        self.records = tuple(read_contexts(path))
        self._by_span = {
            (record.document, record.start, record.end): record for record in self.records
        }
        self._hash = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()

    @property
    def fingerprint(self) -> str:
        return f"file:{self._hash}"

    def spans(self, uri: str) -> tuple[tuple[int, int], ...]:
        """Return the spans of a document that the file has contexts for, in order."""
        return tuple(sorted((start, end) for doc, start, end in self._by_span if doc == uri))

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield each chunk's context; one whose span or text the file does not have has failed."""
        for chunk in chunks:
            record = self._by_span.get((document.uri, chunk.start, chunk.end))
            if record is None:
                yield Context("", "failed:span not in the file")
            elif record.differs(chunk.text):
                yield Context("", "failed:text differs from the file's")
            else:
                yield Context(record.context)
