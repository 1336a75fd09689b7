"""Vectors of pending chunks that are made beside other work, without the writer's lock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.ingest.embed import SituatedEmbedder
from crx.ingest.embed_pending import situate_chunk
from crx.ingest.embedding_order import order_pending
from crx.protocols import Embedder

# Chunks in one call of the embedder: after each, other work may go first.
CHUNKS_A_CALL = 2


@dataclass(frozen=True, slots=True)
class MadeVectors:
    """(n, d) float32 unit rows by the keys of their texts."""

    keys: tuple[bytes, ...]
    rows: NDArray[np.float32]


def make_vectors(
    store: _native.Store, embedder: Embedder, *, seconds: float, go_on: Callable[[], bool]
) -> MadeVectors:
    """Embed pending chunks in their order, for some seconds and while `go_on` returns True.

    `go_on` is asked before each call of the embedder. A vector belongs to a text, so what changes
    in the store meanwhile makes it useless at most.
    """
    order = order_pending(store.pending_chunks(), store.documents())
    latest = time.monotonic() + seconds
    situated = SituatedEmbedder(embedder)
    made: dict[bytes, NDArray[np.float32]] = {}
    for at in range(0, len(order), CHUNKS_A_CALL):
        if time.monotonic() >= latest or not go_on():
            break
        rows = store.chunks(np.array(order[at : at + CHUNKS_A_CALL], np.int64))
        texts = dict(situate_chunk(embedder, row) for row in rows)
        keys = [key for key in texts if key not in made]
        # Another writer may have stored them since.
        stored = store.have_vectors(keys)
        missing = [key for key, known in zip(keys, stored, strict=True) if not known]
        if not missing:
            continue
        vectors, _ = situated.embed([texts[key] for key in missing])
        made.update(zip(missing, vectors, strict=True))
    rows_of = list(made.values())
    stacked = np.stack(rows_of) if rows_of else np.empty((0, embedder.dimensions), np.float32)
    return MadeVectors(tuple(made), stacked)
