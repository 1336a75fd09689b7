"""Salvage: the intact rows of a damaged index, taken into a new one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crx import _native
from crx.errors import UsageError
from crx.ingest.file_systems import require_local_disk


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was taken from a damaged index, and what was lost.

    A document is `in_part` if pieces of its text, chunks or contexts of it are lost; it is read
    again from its file by the next `crx index`. Contexts and vectors that are lost are those that
    chunks refer to. `removed_may_be_back` is true if the list of free pages is lost, so that
    documents that were removed before may be among those that were taken, or that were lost.
    """

    documents: int
    documents_in_part: int
    documents_lost: int
    chunks: int
    chunks_lost: int
    contexts: int
    contexts_lost: int
    vectors: int
    vectors_lost: int
    rows_damaged: int
    pages_lost: int
    removed_may_be_back: bool

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost."""
        lost = self.documents_in_part + self.documents_lost + self.chunks_lost
        return not lost + self.contexts_lost + self.vectors_lost + self.rows_damaged


def salvage_index(source: Path, target: Path, *, settings: Mapping[str, str]) -> Salvaged:
    """Take the intact rows of the index `source`, which is only read, into a new folder.

    `settings` are used where those of the index are lost. Raises `UsageError` if the folder exists
    and is not empty, `Damaged` if there is no intact row.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: exists already; name a folder that does not")
    require_local_disk(target)
    counts = _native.salvage(os.fspath(source), os.fspath(target), settings=dict(settings))
    return Salvaged(
        documents=counts.get("documents", 0),
        documents_in_part=counts.get("documents_in_part", 0),
        documents_lost=counts["documents_lost"],
        chunks=counts.get("chunks", 0),
        chunks_lost=counts["chunks_lost"],
        contexts=counts["contexts"],
        contexts_lost=counts["contexts_lost"],
        vectors=counts["vectors"],
        vectors_lost=counts["vectors_lost"],
        rows_damaged=counts["rows_lost"],
        pages_lost=counts["pages_lost"],
        removed_may_be_back=bool(counts["removed_may_be_back"]),
    )
