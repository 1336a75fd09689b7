"""Rows of the tables as values of the protocol."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx.types import Ranking
from crx_engines.engine.protocol import FoundChunk, FoundSpan, StoredChunk, StoredContext, lines_of
from crx_engines.postgres.connection import Row

CHUNK_COLUMNS = """
  chunk.chunk, chunk.doc, document.uri, document.title, document.lang, document.kind,
  chunk.ordinal, chunk.start, chunk."end", chunk.token_start, chunk.token_end, chunk.section,
  CASE WHEN char_length(chunk.text) >= chunk."end" - chunk.start
    THEN left(chunk.text, chunk."end" - chunk.start)
    ELSE left((SELECT string_agg(next.text, '' ORDER BY next.ordinal) FROM chunk next
      WHERE next.doc = chunk.doc AND next.ordinal >= chunk.ordinal AND next.start < chunk."end"),
      chunk."end" - chunk.start)
  END, chunk.outline, coalesce(context.text, ''), coalesce(context.outcome, '')
"""


def found_chunk(row: Row) -> FoundChunk:
    """Return a chunk of the columns `CHUNK_COLUMNS`."""
    return FoundChunk(
        key=row[0],
        doc=row[1],
        uri=row[2],
        title=row[3],
        lang=row[4],
        kind=row[5],
        ordinal=row[6],
        start=row[7],
        end=row[8],
        token_start=row[9],
        token_end=row[10],
        section=row[11],
        text=row[12],
        outline=row[13],
        context=row[14],
        outcome=row[15],
    )


def found_span(row: Row) -> FoundSpan:
    """Return a span."""
    uri, metadata, lines, text, marks = row
    lines = lines_of(text, first_line=1 + int(lines))
    return FoundSpan(text=text, lines=lines, marks=marks, uri=uri, metadata=metadata)


def stored_chunk(row: Row) -> StoredChunk:
    """Return a chunk with what was made of it."""
    start, end, token_start, token_end, section, outline, vector_key, _, vector, key = row[:10]
    context = None if key is None else StoredContext(bytes(key), row[10], row[11], row[12])
    return StoredChunk(
        start=start,
        end=end,
        token_start=token_start,
        token_end=token_end,
        section=section,
        outline=outline,
        context=context,
        vector_key=bytes(vector_key),
        vector=None if vector is None else _half_vector(vector),
    )


def _half_vector(sent: bytes) -> NDArray[np.float16]:
    """Return a vector that `halfvec_send` wrote: four bytes, then big-endian halves."""
    return np.frombuffer(sent, ">f2", offset=4).astype(np.float16)


def ranking(rows: Sequence[Row]) -> Ranking:
    """Return rows of keys and scores, best first, as a ranking."""
    return Ranking(
        np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float32)
    )
