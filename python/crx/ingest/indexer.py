"""One run that puts documents into a store: read, split, situate, embed, write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import orjson

from crx import _native
from crx.ingest.embed_pending import PendingChunks
from crx.ingest.file_pass import FilePass
from crx.ingest.report import Progress, Report, Tally
from crx.ingest.write import DocumentWriter, Situator, Source, chunk_budget, hash_source
from crx.protocols import Embedder
from crx.types import Document


class Indexer:
    """One run that puts documents into a store; the caller holds the writer's lock."""

    def __init__(
        self,
        store: _native.Store,
        *,
        embedder: Embedder,
        situator: Situator,
        chunk_tokens: int = 0,
        chunk_chars: int = 0,
        chunk_overlap: int = 0,
        max_file_mb: int = 64,
        on_progress: Callable[[Progress], None] | None = None,
        on_commit: Callable[[], None] | None = None,
    ) -> None:
        self._store = store
        self._max_file_mb = max_file_mb
        self._tally = Tally(on_progress)
        self._pending = PendingChunks(
            store, embedder=embedder, tally=self._tally, on_commit=on_commit
        )
        self._writer = DocumentWriter(
            store,
            embedder=embedder,
            situator=situator,
            budget=chunk_budget(
                embedder,
                chunk_tokens=chunk_tokens,
                chunk_chars=chunk_chars,
                overlap=chunk_overlap,
            ),
            pending=self._pending,
            tally=self._tally,
        )

    @property
    def report(self) -> Report:
        """What was done so far."""
        return self._tally.report

    def index_files(
        self, paths: Sequence[Path], *, exclude: Sequence[str] = (), rehash: bool = False
    ) -> None:
        """Make the store hold what the paths hold; see `FilePass`."""
        file_pass = FilePass(
            self._store,
            writer=self._writer,
            tally=self._tally,
            max_file_mb=self._max_file_mb,
            rehash=rehash,
        )
        file_pass.run(paths, exclude=exclude)
        self.embed()

    def index_documents(self, documents: Iterable[Document]) -> None:
        """Put documents that are not files; each replaces the one of its URI."""
        for document in documents:
            data = orjson.dumps([document.title, document.text, document.lang, document.chunks])
            known = self._store.document(document.uri)
            self._writer.put(document, Source("", hash_source(data), len(data), 0))
            self._tally.count("changed" if known else "added")
            self._tally.finish(document.uri)
        self.embed()

    def embed(self) -> None:
        """Embed every chunk without its vector, including those that a killed run left."""
        self._pending.embed()
