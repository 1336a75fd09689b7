"""Rows of the collections as values of the protocol."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crx_engines.engine.protocol import FoundChunk, FoundDocument, StoredChunk
from crx_engines.milvus.document_rows import decode_context
from crx_engines.milvus.milvus_connection import StoredRow


def found_chunk(row: StoredRow, document: StoredRow, text: str) -> FoundChunk:
    """Return a chunk of the row of its document."""
    context = decode_context(row["context"])
    return FoundChunk(
        key=row["chunk"],
        doc=row["doc"],
        uri=document["uri"],
        title=document["title"],
        lang=document["lang"],
        kind=document["kind"],
        ordinal=row["ordinal"],
        start=row["start"],
        end=row["end"],
        token_start=row["token_start"],
        token_end=row["token_end"],
        section=row["section"],
        text=text,
        outline=row["outline"],
        context=context.text if context else "",
        outcome=context.outcome if context else "",
    )


def found_document(row: StoredRow) -> FoundDocument:
    """Return a document without its text."""
    return FoundDocument(
        doc=row["doc"],
        uri=row["uri"],
        metadata=row["metadata"],
        source_mtime_ns=row["source_mtime_ns"],
    )


def stored_chunk(row: StoredRow, vector: NDArray[np.float16] | None) -> StoredChunk:
    """Return a chunk with what was made of it."""
    return StoredChunk(
        start=row["start"],
        end=row["end"],
        token_start=row["token_start"],
        token_end=row["token_end"],
        section=row["section"],
        outline=row["outline"],
        context=decode_context(row["context"]),
        vector_key=bytes.fromhex(row["vector_key"]),
        vector=vector,
    )
