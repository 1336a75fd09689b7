"""Which step comes next when an index is built: read, split, contextualize, embed, commit."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import orjson

from crx import _native
from crx.errors import InputError, NotText, UsageError
from crx.ingest.embed import Situated, embed_situated, embedding_prefix
from crx.ingest.read import Found, is_fault, read_bytes, refuse_large, uri_of, walk
from crx.ingest.split import split
from crx.protocols import Embedder
from crx.types import Chunk, Document

# Chunks that wait before the embedder is asked: enough to sort by length, few enough that a
# killed run repeats little.
EMBED_QUEUE = 512
# Texts in one call of the embedder: an interrupt is heard between calls.
EMBED_BATCH = 16
# Seconds after which what is new becomes searchable while a build goes on; later where that takes
# long, as it does for a document of many megabytes, so that it never takes more than a tenth.
SECONDS_UNSEEN = 20.0
# Tokens of the embedder's window that are left for the context and the special tokens.
CONTEXT_RESERVE = 64


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that could not be read, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is: documents of those found, chunks put, texts embedded, failures."""

    documents: int = 0
    found: int = 0
    chunks: int = 0
    embedded: int = 0
    failed: int = 0
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a build did, in documents; files skipped, which hold no text and promised none; chunks
    put, texts embedded, and those that took several of the embedder's windows.

    `contexts` counts by outcome what a file of contexts brought.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    skipped: int = 0
    chunks: int = 0
    embedded: int = 0
    windowed: int = 0
    failures: tuple[Failure, ...] = ()
    contexts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes a document came from: where, their hash, size and time stamp."""

    path: str
    hash: bytes
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SituatedChunks:
    """What situates each chunk of a document, in order.

    `outlines` and `contexts` are texts, "" for none; `keys` are those under which the contexts are
    stored, b"" for none. `outcomes` counts the contexts that were made just now.
    """

    outlines: Sequence[str]
    keys: Sequence[bytes]
    contexts: Sequence[str]
    outcomes: Mapping[str, int] = field(default_factory=dict)


class Situator(Protocol):
    """The step between split and embed."""

    def situate(
        self, store: _native.Store, document: Document, chunks: Sequence[Chunk]
    ) -> SituatedChunks:
        """Return what situates each chunk; new contexts are stored durably."""
        ...


class Indexer:
    """One run that puts documents into a store; the writer's lock is the caller's."""

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
        self.report = Report()
        self.progress = Progress()
        self._store = store
        self._embedder = embedder
        self._situator = situator
        self._budget, self._in_chars = budget_of(embedder, chunk_tokens, chunk_chars)
        self._overlap = chunk_overlap
        self._max_file_mb = max_file_mb
        self._on_progress = on_progress
        self._on_commit = on_commit
        self._next_commit = time.monotonic() + SECONDS_UNSEEN
        self._waiting = 0

    def files(
        self, paths: Sequence[Path], *, exclude: Sequence[str] = (), rehash: bool = False
    ) -> None:
        """Make the index hold what the paths hold: new, changed, renamed and deleted files.

        A file whose size and time stamp are those of the last run is not read again, unless
        `rehash`, which also writes damaged documents anew. A file that cannot be read is a
        `Failure`, and keeps what was there of it. One that holds no text is skipped, unless it was
        named outright or its name promises text.
        """
        for path in paths:
            if not path.exists():
                raise UsageError(f"{path}: no such file or folder")
        found = list(walk(paths, exclude=exclude))
        known = _by_path(self._store.documents())
        gone = _gone(known, paths, {str(each.path) for each in found})
        self._tell(found=len(found))
        for each in found:
            self._file(each, known.get(str(each.path), []), gone=gone, rehash=rehash)
            self._tell(documents=self.progress.documents + 1, uri=each.uri)
        removed = self._store.remove_documents([row.uri for rows in gone.values() for row in rows])
        self._count(removed=removed)
        self._forget_failures(paths, {each.uri for each in found})
        self.embed()

    def documents(self, documents: Iterable[Document]) -> None:
        """Put documents that are not files; each replaces the one of its URI."""
        for document in documents:
            data = orjson.dumps([document.title, document.text, document.lang, document.chunks])
            source = Source("", _hash(data), len(data), 0)
            known = self._store.document(document.uri)
            self.put(document, source)
            self._count(**{"changed" if known else "added": 1})
            self._tell(documents=self.progress.documents + 1, uri=document.uri)
        self.embed()

    def put(self, document: Document, source: Source) -> None:
        """Split, situate and commit one document; its vectors follow with `embed`."""
        if not document.lang:
            document = replace(document, lang=_native.detect_lang(document.text))
        chunks = split(
            document,
            token_starts=self._embedder.token_starts(document.text),
            budget=self._budget,
            overlap=self._overlap,
            in_chars=self._in_chars,
        )
        situated = self._situator.situate(self._store, document, chunks)
        counts = Counter(self.report.contexts) + Counter(situated.outcomes)
        self.report = replace(self.report, contexts=dict(counts))
        vectors = [
            vector_key(self._embedder, Situated(embedding_prefix(head, context), chunk.text))
            for head, context, chunk in zip(
                situated.outlines, situated.contexts, chunks, strict=True
            )
        ]
        metadata = {**document.metadata, **({"path": source.path} if source.path else {})}
        layout = [(c.start, c.end, c.token_start, c.token_end, c.section) for c in chunks]
        self._store.put_document(
            uri=document.uri,
            title=document.title,
            lang=document.lang,
            metadata=_sorted_json(metadata),
            source_hash=source.hash,
            source_size=source.size,
            source_mtime_ns=source.mtime_ns,
            text=document.text,
            marks=orjson.dumps(document.marks).decode(),
            layout=np.array(layout, dtype=np.uint32).reshape(-1, 5),
            outlines=list(situated.outlines),
            context_keys=list(situated.keys),
            vector_keys=vectors,
        )
        self._count(chunks=len(chunks))
        self._tell(chunks=self.progress.chunks + len(chunks))
        self._waiting += len(chunks)
        if self._waiting >= EMBED_QUEUE:
            self.embed()

    def embed(self) -> None:
        """Embed every chunk whose vector is not there yet, also those of an earlier, broken run."""
        self._waiting = 0
        after = 0
        while len(keys := self._store.pending(after=after, limit=EMBED_QUEUE)):
            after = int(keys[-1])
            texts = {}
            for row in self._store.chunks(keys):
                text = Situated(embedding_prefix(row.outline, row.context), row.text)
                texts[vector_key(self._embedder, text)] = text
            have = self._store.have_vectors(list(texts))
            missing = [key for key, there in zip(texts, have, strict=True) if not there]
            missing.sort(key=lambda key: len(texts[key].before) + len(texts[key].text))
            for batch in _batches(missing, EMBED_BATCH):
                self._embed_batch(batch, [texts[key] for key in batch])
            if self._on_commit and time.monotonic() > self._next_commit:
                started = time.monotonic()
                self._on_commit()
                now = time.monotonic()
                self._next_commit = now + max(SECONDS_UNSEEN, 9 * (now - started))

    def _embed_batch(self, keys: list[bytes], texts: list[Situated]) -> None:
        rows, several = embed_situated(self._embedder, texts)
        self._store.put_vectors(keys, rows)
        self._count(embedded=len(texts), windowed=several)
        self._tell(embedded=self.progress.embedded + len(texts))

    def _file(
        self,
        found: Found,
        rows: list[_native.DocumentRow],
        *,
        gone: dict[str, list[_native.DocumentRow]],
        rehash: bool,
    ) -> None:
        same_stat = [
            row.source_size == found.size and row.source_mtime_ns == found.mtime_ns for row in rows
        ]
        if rows and all(same_stat) and not rehash:
            self._count(unchanged=1)
            return
        try:
            refuse_large(found, self._max_file_mb)
            data = found.path.read_bytes()
            source = Source(str(found.path), _hash(data), found.size, found.mtime_ns)
            if not rehash and rows and all(row.source_hash == source.hash for row in rows):
                for row in rows:
                    self._store.touch_document(
                        row.uri, source_mtime_ns=found.mtime_ns, source_size=found.size
                    )
                self._count(unchanged=1)
            elif not rows and self._rename(found, source, gone):
                self._count(renamed=1)
            else:
                self._read(found, data, source, rows)
        except NotText as error:
            if is_fault(found, data):
                self._fail(found.uri, str(error))
            else:
                self._store.remove_documents([found.uri, *(row.uri for row in rows)])
                self._count(skipped=1)
        except (InputError, OSError) as error:
            self._fail(found.uri, reason(error))

    def _read(
        self, found: Found, data: bytes, source: Source, rows: list[_native.DocumentRow]
    ) -> None:
        old, before = {row.uri for row in rows}, self._store.seq
        for document in read_bytes(data, name=found.uri):
            old.discard(document.uri)
            self.put(document, source)
        self._store.remove_documents(sorted(old))
        same = rows and self._store.seq == before
        self._count(**{"unchanged" if same else "changed" if rows else "added": 1})

    def _rename(
        self, found: Found, source: Source, gone: dict[str, list[_native.DocumentRow]]
    ) -> bool:
        """Give a vanished file's document the new path, where bytes and format are its own."""
        for path, rows in gone.items():
            if (
                len(rows) == 1
                and rows[0].uri == path
                and rows[0].source_hash == source.hash
                and Path(path).suffix == found.path.suffix
            ):
                metadata = {**orjson.loads(rows[0].metadata), "path": source.path}
                self._store.rename_document(
                    path,
                    found.uri,
                    metadata=_sorted_json(metadata),
                    source_mtime_ns=found.mtime_ns,
                )
                del gone[path]
                return True
        return False

    def _fail(self, uri: str, reason: str) -> None:
        self._store.record_failure(uri, reason)
        self.report = replace(self.report, failures=(*self.report.failures, Failure(uri, reason)))
        self._tell(failed=len(self.report.failures))

    def _forget_failures(self, paths: Sequence[Path], found: set[str]) -> None:
        """Forget earlier failures of files below the paths that are not there any more."""
        failed = [uri for uri, _ in self._store.failures()]
        roots = [uri_of(path) for path in paths]
        gone = [u for u in failed if u not in found and any(_below(u, root) for root in roots)]
        if gone:
            self._store.remove_documents(gone)

    def _count(self, **more: int) -> None:
        self.report = replace(
            self.report, **{name: getattr(self.report, name) + n for name, n in more.items()}
        )

    def _tell(self, **now: int | str) -> None:
        self.progress = replace(self.progress, **now)  # type: ignore[arg-type]
        if self._on_progress is not None:
            self._on_progress(self.progress)


def vector_key(embedder: Embedder, text: Situated) -> bytes:
    """Return the key under which a situated text's vector is kept."""
    return _native.digest(embedder.fingerprint.encode(), text.before.encode(), text.text.encode())


def budget_of(embedder: Embedder, chunk_tokens: int, chunk_chars: int) -> tuple[int, bool]:
    """Return the budget of a chunk, and whether it counts characters; else it counts tokens.

    Where neither is given, a chunk leaves room for its context in the embedder's window.
    """
    if chunk_chars or chunk_tokens:
        return chunk_chars or chunk_tokens, bool(chunk_chars)
    return max(embedder.max_tokens - CONTEXT_RESERVE, embedder.max_tokens // 2), False


def _by_path(rows: list[_native.DocumentRow]) -> dict[str, list[_native.DocumentRow]]:
    by_path: dict[str, list[_native.DocumentRow]] = {}
    for row in rows:
        path = orjson.loads(row.metadata).get("path")
        if isinstance(path, str):
            by_path.setdefault(path, []).append(row)
    return by_path


def _gone(
    known: dict[str, list[_native.DocumentRow]], paths: Sequence[Path], found: set[str]
) -> dict[str, list[_native.DocumentRow]]:
    """Return what the index holds below the paths that is not there any more."""
    roots = [os.path.abspath(path) for path in paths]
    return {
        path: rows
        for path, rows in known.items()
        if path not in found and any(_below(path, root) for root in roots)
    }


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=32).digest()


def reason(error: InputError | OSError) -> str:
    """Return why an input could not be read, without its name."""
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    return str(error)


def _sorted_json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _batches(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    each = iter(items)
    while batch := list(islice(each, size)):
        yield batch
