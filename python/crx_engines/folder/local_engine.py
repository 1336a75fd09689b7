"""The engine on a folder: thin, over the store and the legs of an index.

`crx search` of a folder does not go through it, but calls the native legs, which is faster; the
same contract holds for both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from crx import _native
from crx._index.file_searcher import FileDense
from crx._index.files import OpenFiles
from crx._index.leg_files import VectorFiles
from crx._index.open_store import BASE, UNFINISHED_COPY, create_index, is_complete
from crx._index.vector_leg import VectorLeg
from crx.config import resolve
from crx.errors import NotAnIndex
from crx.ingest.roots import SETTINGS_OF_ROOTS
from crx.types import Ranking
from crx_engines.engine.protocol import (
    OUTCOME,
    CollectionStatistics,
    Conditions,
    FoundChunk,
    FoundDocument,
    FoundSpan,
    Saturation,
    StoredChunk,
    StoredContext,
    StoredDocument,
)

# Settings that belong to a folder on one machine.
_OF_A_FOLDER = (BASE, UNFINISHED_COPY, *SETTINGS_OF_ROOTS)


class LocalSnapshot:
    """One committed state of a folder."""

    def __init__(self, store: _native.Store, lexical: _native.Lexical, dense: VectorLeg) -> None:
        self._store = store
        self._lexical = lexical
        self._dense = dense

    @property
    def missing(self) -> tuple[str, ...]:
        """No part of a folder is missing."""
        return ()

    @property
    def exact(self) -> bool:
        """Whether `dense_topk` compares the query with every vector."""
        return self._dense.exact

    def stats(self) -> CollectionStatistics:
        """Return the statistics of the state."""
        counts = self._store.stats()
        text, outline, context = self._lexical.lengths
        return CollectionStatistics(
            documents=counts["documents"],
            chunks=counts["chunks"],
            vectors=len(self._dense),
            pending=counts["pending"],
            tokens=counts["tokens"],
            outcomes={
                name.removeprefix(OUTCOME): count
                for name, count in counts.items()
                if name.startswith(OUTCOME)
            },
            lengths=(text, outline, context),
            langs=tuple(self._store.langs()),
            version=self._store.seq,
        )

    def doc_freqs(self, terms: Sequence[str], *, saturation: Saturation) -> list[int]:
        """Return how many chunks hold each term in a field of positive weight."""
        return self._lexical.doc_freqs(terms, weights=saturation.weights)

    def dense_topk(
        self, vector: NDArray[np.float32], *, k: int, where: Conditions | None
    ) -> Ranking:
        """Return the k chunks of largest inner product with a vector."""
        leg = FileDense(self._dense, self._store, self._select(where))
        return Ranking(*leg.search(vector, k=k))

    def sparse_topk(
        self,
        weights: Sequence[tuple[str, float]],
        *,
        k: int,
        saturation: Saturation,
        where: Conditions | None,
    ) -> Ranking:
        """Return the k chunks of largest inner product of the query and their saturations."""
        found = self._lexical.sparse_topk(
            weights,
            k=k,
            k1=saturation.k1,
            b=saturation.b,
            weights=saturation.weights,
            only=self._select(where),
        )
        return Ranking(*found)

    def rows(self, keys: Sequence[int]) -> list[FoundChunk]:
        """Return the chunks of these keys, in their order; a key without a chunk is skipped."""
        return [found_chunk(row) for row in self._store.chunks(np.array(keys, np.int64))]

    def documents(self, docs: Sequence[int]) -> list[FoundDocument]:
        """Return the documents of these ids, in any order."""
        rows = filter(None, map(self._store.document_by_id, docs))
        return [
            FoundDocument(
                doc=row.doc,
                uri=row.uri,
                metadata=row.metadata,
                source_mtime_ns=row.source_mtime_ns,
            )
            for row in rows
        ]

    def neighbours(
        self, positions: Sequence[tuple[int, int]], *, each_side: int
    ) -> NDArray[np.int64]:
        """Return the layout around (document, ordinal) pairs, (n, 7), in ascending order."""
        wanted: dict[int, set[int]] = {}
        for doc, ordinal in positions:
            around = range(max(0, ordinal - each_side), ordinal + each_side + 1)
            wanted.setdefault(doc, set()).update(around)
        rows = [
            (doc, ordinal, *span)
            for doc, ordinals in sorted(wanted.items())
            for ordinal, span in enumerate(self._store.layout(doc).tolist())
            if ordinal in ordinals
        ]
        return np.array(rows, np.int64).reshape(-1, 7)

    def spans(self, spans: Sequence[tuple[int, int, int]]) -> list[FoundSpan]:
        """Return the text of each (document, start, end), with its lines and marks."""
        return [self._span(*span) for span in spans]

    def _span(self, doc: int, start: int, end: int) -> FoundSpan:
        passage = self._store.passage(doc, start, end)
        document = self._store.document_by_id(doc)
        assert document is not None, "a span of a document, and no such document"
        return FoundSpan(
            text=passage.text,
            lines=passage.lines,
            marks=passage.marks,
            uri=document.uri,
            metadata=document.metadata,
        )

    def fields(self) -> set[str]:
        """Return the names of the fields of the documents' metadata."""
        return self._store.metadata_fields()

    def has_document(self, *, where: Conditions) -> bool:
        """Return whether a document meets a filter."""
        return bool(self._store.select(orjson.dumps(where).decode()))

    def digests(self, *, where: Conditions | None) -> dict[str, bytes]:
        """Return the digest of each document, by URI; every row is read and checked for it."""
        only = self._select(where)
        rows = sorted(self._store.documents(), key=lambda row: row.doc)
        return {
            row.uri: self._read(row).digest() for row in rows if only is None or row.doc in only
        }

    def read(self, uri: str) -> StoredDocument | None:
        """Return a document with all that was made of it, None if there is none."""
        row = self._store.document(uri)
        return None if row is None else self._read(row)

    def _read(self, row: _native.DocumentRow) -> StoredDocument:
        links = self._store.chunk_links(row.doc)
        chunks = self._store.chunks(self._store.chunk_keys(row.doc))
        contexts = self._store.contexts([context for context, _, _ in links])
        # A vector that is not the wanted one is of an earlier text: it stays behind.
        vectors = self._store.vectors([wanted for _, wanted, _ in links])
        return StoredDocument(
            uri=row.uri,
            title=row.title,
            lang=row.lang,
            metadata=row.metadata,
            source_hash=bytes(row.source_hash),
            source_size=row.source_size,
            source_mtime_ns=row.source_mtime_ns,
            text=self._store.text(row.doc),
            marks=orjson.dumps(orjson.loads(self._store.marks(row.doc))).decode(),
            chunks=tuple(
                StoredChunk(
                    start=chunk.start,
                    end=chunk.end,
                    token_start=chunk.token_start,
                    token_end=chunk.token_end,
                    section=chunk.section,
                    outline=chunk.outline,
                    context=StoredContext(bytes(key), *context) if context else None,
                    vector_key=bytes(wanted),
                    vector=None
                    if vector is None
                    else np.frombuffer(vector, "<f2").astype(np.float16),
                )
                for chunk, (key, wanted, _), context, vector in zip(
                    chunks, links, contexts, vectors, strict=True
                )
            ),
        )

    def _select(self, where: Conditions | None) -> _native.Filter | None:
        return self._store.select(orjson.dumps(where).decode()) if where else None


class LocalEngine:
    """An index folder; see `protocol.Engine`. Writing takes the writer's lock for each call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: OpenFiles | None = None

    @property
    def name(self) -> str:
        """The path of the folder."""
        return str(self._folder)

    def settings(self) -> dict[str, str]:
        """Return the settings of the index without those of the folder; empty if there is none."""
        if self._files is None and not is_complete(self._folder):
            return {}
        settings = self._open().store.settings()
        return {name: value for name, value in settings.items() if name not in _OF_A_FOLDER}

    def create(self, settings: Mapping[str, str]) -> None:
        """Make the folder with these settings, where there is none."""
        if not is_complete(self._folder):
            create_index(self._folder, settings)

    def set_settings(self, settings: Mapping[str, str]) -> None:
        """Set some settings of the index; all others stay. An empty text is as good as none."""
        with self._open().writing() as writer:
            writer.store.set_settings({**writer.store.settings(), **settings})

    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents, each in a transaction of its own; return how many were not there."""
        with self._open().writing() as writer:
            return sum(_put(writer.store, document) for document in documents)

    def delete(self, uris: Sequence[str]) -> int:
        """Remove documents; return how many there were."""
        with self._open().writing() as writer:
            return writer.store.remove_documents(uris)

    def publish(self) -> None:
        """Bring the legs up to the store and write out their files."""
        with self._open().writing() as writer:
            writer.publish()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[LocalSnapshot]:
        """Give the last committed state."""
        with self._open().searching() as (searcher, _):
            yield LocalSnapshot(searcher.store, searcher.lexical, searcher.dense)

    def close(self) -> None:
        """Close the files."""
        if self._files is not None:
            self._files.close()
            self._files = None

    def _open(self) -> OpenFiles:
        if self._files is None:
            if not is_complete(self._folder):
                raise NotAnIndex(f"{self._folder}: not an index folder; crx copy SRC DST makes one")
            self._files = OpenFiles.open(self._folder, VectorFiles.of(resolve().settings))
        return self._files


def _put(store: _native.Store, document: StoredDocument) -> bool:
    """Put a document; return whether it was not there already."""
    chunks = document.chunks
    contexts = [chunk.context for chunk in chunks if chunk.context]
    if contexts:
        store.put_contexts([(c.key, c.generator, c.outcome, c.text) for c in contexts])
    vectors = {c.vector_key: c.vector for c in chunks if c.vector is not None}
    if vectors:
        store.put_vectors(list(vectors), np.stack(list(vectors.values())).astype(np.float32))
    before = store.seq
    layout = [(c.start, c.end, c.token_start, c.token_end, c.section) for c in chunks]
    store.put_document(
        uri=document.uri,
        title=document.title,
        lang=document.lang,
        metadata=document.metadata,
        source_hash=document.source_hash,
        source_size=document.source_size,
        source_mtime_ns=document.source_mtime_ns,
        text=document.text,
        marks=document.marks,
        layout=np.array(layout, np.uint32).reshape(-1, 5),
        outlines=[chunk.outline for chunk in chunks],
        context_keys=[chunk.context.key if chunk.context else b"" for chunk in chunks],
        vector_keys=[chunk.vector_key for chunk in chunks],
    )
    return store.seq != before


def found_chunk(row: _native.ChunkRow) -> FoundChunk:
    """Return a chunk of the store as it crosses the protocol."""
    return FoundChunk(
        key=row.key,
        doc=row.doc,
        uri=row.uri,
        title=row.title,
        lang=row.lang,
        kind=row.kind,
        ordinal=row.ordinal,
        start=row.start,
        end=row.end,
        token_start=row.token_start,
        token_end=row.token_end,
        section=row.section,
        text=row.text,
        outline=row.outline,
        context=row.context,
        outcome=row.outcome,
    )
