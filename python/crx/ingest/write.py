"""Writing of documents into a store: split, situate, put."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import orjson

from crx import _native
from crx._arrays import to_array
from crx.config._folder_descriptions import FolderDescriptions
from crx.ingest.describe_folders import (
    redescribed,
    stored_description,
    stored_text,
    with_description,
)
from crx.ingest.embedding_prefix import embedding_prefix, vector_key
from crx.ingest.pending import PendingChunks
from crx.ingest.readers.file_title import name_title
from crx.ingest.report import Tally
from crx.ingest.roots import DESCRIBED
from crx.ingest.split import split
from crx.protocols import Embedder
from crx.types import Chunk, Document

# Tokens of the embedder's window that are left for the context and the special tokens.
_CONTEXT_RESERVE = 64
# The largest default: in English, the 800 characters that embedders and fusion were compared with.
_MAX_CHUNK_TOKENS = 190
# Documents that a run looks up at its end.
_LAST_PUT = 3


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes that a document was read from: the URI of the file, hash, size and time stamp."""

    path: str
    hash: bytes
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SituatedChunks:
    """What situates each chunk of a document, in the order of the chunks.

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


@dataclass(frozen=True, slots=True)
class ChunkBudget:
    """The largest chunk and the overlap of neighbours, in embedder tokens or characters."""

    size: int
    in_chars: bool = False
    overlap: int = 0


def chunk_budget(
    embedder: Embedder, *, chunk_tokens: int = 0, chunk_chars: int = 0, overlap: int = 0
) -> ChunkBudget:
    """Return the budget of a chunk.

    If neither size is given, a chunk has `_MAX_CHUNK_TOKENS`, or fewer to leave room for its
    context in the embedder's window.
    """
    if chunk_chars or chunk_tokens:
        return ChunkBudget(chunk_chars or chunk_tokens, bool(chunk_chars), overlap)
    window = embedder.max_tokens
    size = min(_MAX_CHUNK_TOKENS, max(window - _CONTEXT_RESERVE, window // 2))
    return ChunkBudget(size, overlap=overlap)


class DocumentWriter:
    """The step that splits and situates a document and puts it into the store."""

    def __init__(
        self,
        store: _native.Store,
        *,
        embedder: Embedder,
        situator: Situator,
        budget: ChunkBudget,
        pending: PendingChunks,
        tally: Tally,
        descriptions: FolderDescriptions,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._situator = situator
        self._budget = budget
        self._pending = pending
        self._tally = tally
        self._descriptions = descriptions.afresh()
        self._last_put: deque[int] = deque(maxlen=_LAST_PUT)
        # The chunks in each language.
        self._langs = Counter(dict(store.chunks_by_lang()))

    @property
    def last_put(self) -> tuple[int, ...]:
        """The ids of the documents that were put last."""
        return tuple(self._last_put)

    def put(self, document: Document, source: Source) -> None:
        """Split, situate and commit one document; its vectors follow."""
        present = stored_description(self._store.document(document.uri))
        document = with_description(document, source.path, self._descriptions, present=present)
        if not document.lang:
            lang = _native.document_lang(document.text, likely=self._likely_lang())
            document = replace(document, lang=lang)
        chunks = split(
            document,
            token_starts=self._embedder.token_starts(document.text),
            budget=self._budget.size,
            overlap=self._budget.overlap,
            in_chars=self._budget.in_chars,
        )
        self._langs[document.lang] += len(chunks)
        self._situate(document, source, chunks)
        self._tally.count("chunks", len(chunks))

    def _likely_lang(self) -> str:
        """Return the language of most chunks whose language is known, or ""."""
        known = {lang: count for lang, count in self._langs.items() if lang}
        most = max(known, key=lambda lang: known[lang], default="")
        return most if 2 * known.get(most, 0) > sum(known.values()) else ""

    def describe_folders(self) -> None:
        """Commit again what is stored of documents whose folder has another description now.

        If all had these descriptions after the last pass, only a document that was renamed since
        may have another: what is read is described when it is put.
        """
        report = self._tally.report
        # Chunks alone are those of a file that could be read in part.
        is_changed = bool(report.added or report.changed or report.renamed or report.chunks)
        settings = self._store.settings()
        known = settings.get(DESCRIBED, "")
        self._descriptions.recall(known)
        if self._descriptions.fingerprint() != known or (known and report.renamed):
            for row, document, chunks in redescribed(self._store, self._descriptions):
                self._situate_again(row, document, chunks)
        wanted = self._descriptions.fingerprint()
        # A pass without descriptions that changes nothing leaves all documents as they are.
        if wanted != known and (wanted or is_changed):
            self._store.set_settings({**settings, DESCRIBED: wanted})

    def name_again(self, uri: str) -> None:
        """Commit again what is stored of a renamed document, with outlines that have its name.

        The name of its file is its title if it was before.
        """
        row = self._store.document(uri)
        if row is None:
            return
        metadata = orjson.loads(row.metadata)
        title = name_title(uri) if "title_from" in metadata else row.title
        document = Document(uri, "", title, row.lang, metadata)
        self._situate_again(row, *stored_text(self._store, row, document))

    def _situate_again(
        self, row: _native.DocumentRow, document: Document, chunks: Sequence[Chunk]
    ) -> None:
        path = str(document.metadata.get("path", ""))
        source = Source(path, row.source_hash, row.source_size, row.source_mtime_ns)
        self._situate(document, source, chunks)

    def _situate(self, document: Document, source: Source, chunks: Sequence[Chunk]) -> None:
        situated = self._situator.situate(self._store, document, chunks)
        self._tally.count_contexts(situated.outcomes)
        self._write(document, source, chunks, situated)
        self._pending.commit_if_due()

    def _write(
        self, document: Document, source: Source, chunks: Sequence[Chunk], situated: SituatedChunks
    ) -> None:
        metadata = {**document.metadata, **({"path": source.path} if source.path else {})}
        layout = [(c.start, c.end, c.token_start, c.token_end, c.section) for c in chunks]
        doc = self._store.put_document(
            uri=document.uri,
            title=document.title,
            lang=document.lang,
            metadata=encode_metadata(metadata),
            source_hash=source.hash,
            source_size=source.size,
            source_mtime_ns=source.mtime_ns,
            text=document.text,
            marks=orjson.dumps(document.marks).decode(),
            layout=to_array(layout, "uint32").reshape(-1, 5),
            outlines=list(situated.outlines),
            context_keys=list(situated.keys),
            vector_keys=self._vector_keys(chunks, situated),
        )
        self._last_put.append(doc)

    def _vector_keys(self, chunks: Sequence[Chunk], situated: SituatedChunks) -> list[bytes]:
        return [
            vector_key(self._embedder, embedding_prefix(outline, context), chunk.text)
            for outline, context, chunk in zip(
                situated.outlines, situated.contexts, chunks, strict=True
            )
        ]


def hash_source(data: bytes) -> bytes:
    """Return the 32-byte BLAKE2b hash by which a changed source is recognized."""
    import hashlib  # loads OpenSSL, and nothing of an unchanged file is hashed

    return hashlib.blake2b(data, digest_size=32).digest()


def encode_metadata(metadata: Mapping[str, object]) -> str:
    """Return metadata as JSON with sorted keys, so that equal metadata is equal text."""
    return orjson.dumps(metadata, option=orjson.OPT_SORT_KEYS).decode()
