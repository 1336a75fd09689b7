"""Contextualizer that reads the contexts of a file of JSON lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from crx.context.records import Record, id_of, path_below, read_contexts
from crx.types import Chunk, Context, Document


class FileContexts:
    """The contexts of a file (see `crx.context.records`), by document and exact span.

    A document is named by its URI, its path below the current folder, or its `id` within its file;
    if several documents have an id, the first one requested gets its contexts.
    """

    def __init__(self, path: Path) -> None:
        self.records = tuple(read_contexts(path))
        here = Path.cwd()
        paths = {name: path_below(here, name) for name in {r.document for r in self.records}}
        self._by_span = {(paths[r.document], r.start, r.end): r for r in self.records}
        self._by_span |= {(r.document, r.start, r.end): r for r in self.records}
        self._first_of_id: dict[str, str] = {}
        self._hash = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()

    @property
    def fingerprint(self) -> str:
        return f"file:{self._hash}"

    def spans(self, uri: str) -> tuple[tuple[int, int], ...]:
        """Return the spans of a document that the file has contexts for, in order."""
        names = self._names(uri)
        return tuple(sorted({(start, end) for doc, start, end in self._by_span if doc in names}))

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield each chunk's context, a failed one if the file lacks its span or text."""
        for chunk in chunks:
            record = self._find(document.uri, chunk)
            if record is None:
                yield Context.failed("span not in the file")
            elif record.differs(chunk.text):
                yield Context.failed("text differs from the file's")
            else:
                yield Context(record.context)

    def _find(self, uri: str, chunk: Chunk) -> Record | None:
        spans = ((name, chunk.start, chunk.end) for name in self._names(uri))
        return next((self._by_span[span] for span in spans if span in self._by_span), None)

    def _names(self, uri: str) -> tuple[str, ...]:
        name = id_of(uri)
        return (uri, name) if name and self._first_of_id.setdefault(name, uri) == uri else (uri,)
