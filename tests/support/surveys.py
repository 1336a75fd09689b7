"""Documents about colonies of birds, and the contexts of an index by chunk."""

from __future__ import annotations

from pathlib import Path

import crx

SETTINGS = {"embedder": "hashed", "chunk_chars": 120}
NAMES = ("heron", "egret", "bittern", "stork", "crane", "ibis", "spoonbill", "grebe")


def survey(name: str, paragraphs: int) -> str:
    """Return a document of a heading and paragraphs of 70 characters or so."""
    lines = (
        f"In section {n} the {name} colony counted {n * 37} nests near the river bend.\n\n"
        for n in range(paragraphs)
    )
    head = f"# {name.title()} survey\n\nCounts of nests by the ringing station.\n\n"
    return head + "".join(lines)


def contexts_by_chunk(index: crx.Index) -> dict[tuple[str, int], tuple[str, str]]:
    """Return (text, outcome) of the context of each (file name, ordinal)."""
    store = index.store
    return {
        (Path(row.uri).name, row.ordinal): (row.context, row.outcome)
        for document in store.documents()
        for row in store.chunks(store.chunk_keys(document.doc))
    }
