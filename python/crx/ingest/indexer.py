"""One run that puts documents into a store: read, split, situate and write all, then embed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from crx import _native
from crx.config import allow
from crx.config._folder_descriptions import NO_DESCRIPTIONS, FolderDescriptions
from crx.errors import NoRoom
from crx.ingest import _worker
from crx.ingest._worker.messages import DEFAULT_LIMITS, ReadLimits
from crx.ingest.discover import DEFAULT_SKIPPED_FOLDERS, Root, require_paths
from crx.ingest.file_pass import FilePass
from crx.ingest.ignore import FolderPatterns
from crx.ingest.path_selection import PathSelection
from crx.ingest.paths import uri_of
from crx.ingest.pending import PendingChunks
from crx.ingest.report import Progress, Report, Tally
from crx.ingest.roots import RememberedRoots, record_skipped, require_allowed_roots, root_acts
from crx.ingest.write import (
    DocumentWriter,
    Situator,
    Source,
    chunk_budget,
    encode_metadata,
    hash_source,
)
from crx.protocols import Embedder
from crx.types import Document

if TYPE_CHECKING:
    from crx.ingest._worker.isolated_reader import IsolatedReader
    from crx.ingest.embedding_pool import EmbeddingPool


class Indexer:
    """One run that puts documents into a store; the caller holds the writer's lock.

    It has two passes. The first puts all documents, so that they are found by their words; the
    second embeds the chunks without a vector.
    """

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
        read_limits: ReadLimits = DEFAULT_LIMITS,
        ocr: str = "",
        skip_folders: FolderPatterns = DEFAULT_SKIPPED_FOLDERS,
        workers: EmbeddingPool | None = None,
        words_only: bool = False,
        descriptions: FolderDescriptions = NO_DESCRIPTIONS,
        on_progress: Callable[[Progress], None] | None = None,
        on_commit: Callable[[], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """`words_only` leaves out the second pass."""
        self._store = store
        self._words_only = words_only
        self._max_file_mb = max_file_mb
        self._read_limits = read_limits
        self._ocr = ocr
        self._skip_folders = skip_folders
        self._tally = Tally(on_progress)
        self._pending = PendingChunks(
            store,
            embedder=embedder,
            tally=self._tally,
            workers=workers,
            on_commit=on_commit,
            on_notice=on_notice,
        )
        self._writer = DocumentWriter(
            store,
            embedder=embedder,
            situator=situator,
            budget=chunk_budget(
                embedder, chunk_tokens=chunk_tokens, chunk_chars=chunk_chars, overlap=chunk_overlap
            ),
            pending=self._pending,
            tally=self._tally,
            descriptions=descriptions,
        )

    @property
    def report(self) -> Report:
        """What was done so far."""
        return self._tally.report

    @property
    def last_put(self) -> Sequence[int]:
        """The ids of the documents that were put last."""
        return self._writer.last_put

    def index_files(
        self,
        paths: Sequence[Path],
        *,
        exclude: Sequence[str] | None = None,
        rehash: bool = False,
        keep_missing: bool = False,
    ) -> None:
        """Make the store hold what the paths hold, and remember them as roots; see `FilePass`.

        `exclude` are patterns as in a `.gitignore` at each path; None: those of the last pass.
        """
        require_paths(paths)
        remembered = RememberedRoots.read(self._store)
        roots = remembered.choose(map(uri_of, paths), exclude=exclude)
        # A home that cannot be written to hinders the next run without paths, and not this one.
        with contextlib.suppress(NoRoom):
            allow(self._store.path, root_acts(roots, index=self._store.path))
        self._pass(roots, remembered, rehash=rehash, keep_missing=keep_missing)

    def refresh(
        self, *, rehash: bool = False, only: PathSelection | None = None, keep_missing: bool = False
    ) -> None:
        """Make the store hold what the remembered roots hold; see `FilePass`.

        Raises `Untrusted` if one of them may not be read.
        """
        require_allowed_roots(self._store)
        remembered = RememberedRoots.read(self._store)
        self._pass(
            remembered.roots, remembered, rehash=rehash, only=only, keep_missing=keep_missing
        )

    def _pass(
        self,
        roots: Sequence[Root],
        remembered: RememberedRoots,
        *,
        rehash: bool,
        keep_missing: bool,
        only: PathSelection | None = None,
    ) -> None:
        self._tally.start(self._pending.count())
        if only is None:
            # The next run without paths goes on where this one is interrupted.
            remembered.starting(roots).write(self._store)
        with contextlib.ExitStack() as stack:

            @cache
            def open_reader() -> IsolatedReader:
                made = _worker.isolated_reader.IsolatedReader(self._read_limits, ocr=self._ocr)
                return stack.enter_context(made)

            if self._ocr:  # an engine that is missing is an error also if no file has changed
                open_reader()
            file_pass = FilePass(
                self._store,
                open_reader=open_reader,
                writer=self._writer,
                tally=self._tally,
                max_file_mb=self._max_file_mb,
                skip_folders=self._skip_folders,
                rehash=rehash,
                scans=bool(self._ocr),
                only=only,
                keep_missing=keep_missing,
            )
            discovery = file_pass.run(
                roots,
                others=remembered.others(roots),
                mounts=remembered.mounts,
                changes=remembered.changes,
            )
        self._writer.describe_folders()
        if only is None:
            after = remembered.after(roots, discovery)
            if self._tally.report.renamed:
                after = after.without_renamed(self._store)
            after.write(self._store)
            record_skipped(
                self._store,
                file_pass.skipped,
                roots=[root.uri for root in roots],
                unreachable=[each.uri for each in discovery.unreachable],
            )
        self._second_pass()

    def index_documents(self, documents: Iterable[Document]) -> None:
        """Put documents that are not files; each replaces the one of its URI."""
        self._tally.start(self._pending.count())
        for document in documents:
            if not isinstance(document, Document):
                raise TypeError(f"a document must be a crx.Document, not {type(document).__name__}")
            _require_storable(document)
            data = orjson.dumps([document.title, document.text, document.lang, document.chunks])
            known = self._store.document(document.uri)
            self._writer.put(document, Source("", hash_source(data), len(data), 0))
            self._tally.count("changed" if known else "added")
            self._tally.finish(document.uri)
        self._second_pass()

    def embed(self, *, seconds: float = math.inf) -> None:
        """Embed the chunks without a vector, including those that a killed run left.

        After `seconds`, the rest is left to the next run.
        """
        self._tally.start(self._pending.count())
        self._pending.embed(seconds=seconds)

    def _second_pass(self) -> None:
        """Let all documents be found by their words; then embed, unless that is left out."""
        if self._words_only:
            self._tally.wait(self._pending.count())
            return
        self._pending.commit()
        self._pending.embed()


def _require_storable(document: Document) -> None:
    """Raise an error that names the URI and the field for what is no text or no JSON."""
    shown = str(document.uri).encode("utf-8", errors="backslashreplace").decode()
    for name in ("uri", "title", "lang", "text"):
        value = getattr(document, name)
        if not isinstance(value, str):
            raise TypeError(f"{shown}: {name} must be a str, not {type(value).__name__}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{shown}: {name} has a lone surrogate at {error.start}, which is no UTF-8"
            ) from None
    for key, value in document.metadata.items():
        try:
            encode_metadata({key: value})
        except TypeError as error:  # as orjson's own error is
            raise ValueError(f"{shown}: metadata {key!r} is no JSON: {error}") from None
