"""Self-check: chunks that were just committed must be found by each leg."""

from __future__ import annotations

from collections.abc import Container, Iterable

import orjson

from crx import _native
from crx._arrays import to_array
from crx._index.file_searcher import FileDense, FileSearcher
from crx._index.vector_leg import VectorLeg
from crx.errors import Damaged

# Chunks of a document that are looked up at most: more cost as much as a search of a whole index.
_MAX_CHUNKS = 2000


def require_found(
    store: _native.Store,
    docs: Iterable[int],
    *,
    lexical: _native.Lexical,
    dense: VectorLeg,
    dimensions: int,
) -> None:
    """Look up the first chunk of each document in both legs; raise `Damaged` if one lacks it.

    Each leg searches the document alone, for as many chunks as it has, so that the rank does not
    matter. A document without words is not looked up in BM25, one without vectors not in the dense
    leg.
    """
    for doc in docs:
        row = store.document_by_id(doc)
        if row is None:  # removed again by the same run
            continue
        keys = store.chunk_keys(doc)
        if not 0 < len(keys) <= _MAX_CHUNKS:
            continue
        (chunk,) = store.chunks(keys[:1])
        only = store.select(orjson.dumps({"uri": {"=": row.uri}}).decode())
        if _native.analyze(chunk.text, row.lang):
            found, _ = lexical.search(chunk.text, k=len(keys), langs=[row.lang], only=only)
            _require(chunk.key, found, leg="BM25", uri=row.uri)
        if dimensions:
            vector = to_array([dimensions**-0.5] * dimensions, "float32")
            found, _ = FileDense(dense, store, only).search(vector, k=len(keys))
            _require(chunk.key, found, leg="the dense leg", uri=row.uri)


def check_documents(searcher: FileSearcher, *, dimensions: int) -> None:
    """Look up the first chunk of the first, middle and last document in both legs.

    `dimensions` are 0 if not every chunk has a vector. Raises `Damaged` if one is not found.
    """
    docs = sorted(row.doc for row in searcher.store.documents())
    chosen = {docs[at] for at in (0, len(docs) // 2, -1)} if docs else set()
    require_found(
        searcher.store,
        chosen,
        lexical=searcher.lexical,
        dense=searcher.dense,
        dimensions=dimensions,
    )


def describe_unfound(store: _native.Store, *, lexical: _native.Lexical) -> list[str]:
    """Look up every chunk in BM25 by its own text; returns a line for each that is not found.

    Each search is among the chunks of the document alone. A chunk without words is not looked up.
    """
    lines = []
    if len(lexical) != (chunks := store.stats()["chunks"]):
        lines.append(f"BM25 holds {len(lexical)} chunks instead of {chunks}")
    for row in store.documents():
        keys = store.chunk_keys(row.doc)
        only = store.select(orjson.dumps({"uri": {"=": row.uri}}).decode())
        for chunk in store.chunks(keys):
            if not _native.analyze(chunk.text, row.lang):
                continue
            found, _ = lexical.search(chunk.text, k=len(keys), langs=[row.lang], only=only)
            if chunk.key not in found:
                lines.append(f"{row.uri}: BM25 does not find chunk {chunk.ordinal}")
    return lines


def _require(key: int, found: Container[int], *, leg: str, uri: str) -> None:
    if key not in found:
        raise Damaged(
            f"{uri}: {leg} does not find its first chunk, which is committed; "
            '"crx rebuild" makes the files of both legs anew'
        )
