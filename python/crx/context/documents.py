"""Stored documents and chunks as the values that contextualizers take, and contexts linked back."""

from __future__ import annotations

import orjson

from crx import _native
from crx.ingest.embed import Situated
from crx.ingest.embed_pending import vector_key
from crx.ingest.embedding_prefix import embedding_prefix
from crx.protocols import Embedder
from crx.types import Chunk, Context, Document, Mark


def load_document(
    store: _native.Store, row: _native.DocumentRow
) -> tuple[Document, list[_native.ChunkRow]]:
    """Return a stored document and the rows of its chunks, in order."""
    document = Document(
        uri=row.uri,
        text=store.text(row.doc),
        title=row.title,
        lang=row.lang,
        metadata=orjson.loads(row.metadata),
        marks=tuple(Mark(**mark) for mark in orjson.loads(store.marks(row.doc))),
    )
    return document, store.chunks(store.chunk_keys(row.doc))


def to_chunk(row: _native.ChunkRow) -> Chunk:
    """Return a stored chunk as a `Chunk`."""
    return Chunk(
        row.ordinal, row.start, row.end, row.token_start, row.token_end, row.section, row.text
    )


def link_context(
    store: _native.Store,
    row: _native.ChunkRow,
    key: bytes,
    context: Context,
    *,
    embedder: Embedder,
) -> None:
    """Link a chunk to the stored context under `key`, and to the vector of both together."""
    situated = Situated(embedding_prefix(row.outline, context.text), row.text)
    store.link_context(row.key, key, vector_key(embedder, situated))
