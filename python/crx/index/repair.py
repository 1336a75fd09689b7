"""Repair of damaged vectors: their chunks are embedded again from the stored text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from crx import _native
from crx.ingest.pending import PendingChunks
from crx.ingest.report import Tally
from crx.protocols import Embedder


def name_vectors(faults: Iterable[str]) -> bool:
    """Return whether a vector is among the faults that `Store.verify` found."""
    return any(fault.startswith("vector ") for fault in faults)


def repair_vectors(
    store: _native.Store, *, load_embedder: Callable[[], Embedder]
) -> tuple[list[str], list[str]]:
    """Drop the damaged vectors of a store and embed their chunks again.

    Returns the faults that are left and a line for each repair. If faults are left, nothing is
    embedded, since the texts may be damaged too; the chunks are then pending.
    """
    keys = store.drop_damaged_vectors()
    if faults := store.verify():
        return faults, [f"{len(keys)} damaged vectors were dropped"]
    lines = [
        f"{row.uri}: the vector of chunk {row.ordinal} was damaged; embedded again"
        for row in store.chunks(keys)
    ]
    if lines:
        PendingChunks(store, embedder=load_embedder(), tally=Tally()).embed()
    return [], lines
