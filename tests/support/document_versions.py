"""Two versions of each of some documents, to tell which of them a reader sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from crx_engines.engine.protocol import StoredDocument
from crx_engines.folder.copy import open_engine


def two_versions(folder: Path) -> list[tuple[StoredDocument, StoredDocument]]:
    """Return documents, each with all its chunks and with a few, told apart by their titles."""
    source = open_engine(str(folder))
    with source.snapshot() as snapshot:
        found = [snapshot.read(uri) for uri in list(snapshot.digests(where=None))[:4]]
    source.close()
    return [
        (replace(each, title="whole"), replace(each, title="part", chunks=each.chunks[:2]))
        for each in found
        if each is not None
    ]
