"""Salvage: the intact rows of a damaged index, taken into a new one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from crx import _native
from crx._context.archive import ContextArchive, read_archive, restore_contexts
from crx._index.open_store import create_index, open_stored_form, require_new_folder
from crx.errors import Damaged, NotAnIndex
from crx.ingest.file_systems import require_local_disk


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was taken from a damaged index, and what was lost.

    A document is `in_part` if pieces of its text, chunks or contexts of it are lost; it is read
    again from its file by the next `crx index`. Contexts and vectors that are lost are those that
    chunks refer to. `removed_may_be_back` is true if the list of free pages is lost, so that
    documents that were removed before may be among those that were taken, or that were lost.
    `contexts_archived` are contexts that the rows lack and the archive has. `database_lost` is true
    if there is no intact row.
    """

    documents: int = 0
    documents_in_part: int = 0
    documents_lost: int = 0
    chunks: int = 0
    chunks_lost: int = 0
    contexts: int = 0
    contexts_lost: int = 0
    vectors: int = 0
    vectors_lost: int = 0
    rows_damaged: int = 0
    pages_lost: int = 0
    removed_may_be_back: bool = False
    contexts_archived: int = 0
    database_lost: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost. What a lost page held is not known."""
        lost = self.documents_in_part + self.documents_lost + self.chunks_lost
        lost += self.contexts_lost + self.vectors_lost + self.rows_damaged + self.pages_lost
        return not (lost or self.database_lost)


def salvage_index(source: Path, target: Path, *, settings: Mapping[str, str]) -> Salvaged:
    """Take the intact rows of the index `source`, which is only read, into a new folder.

    `settings` are used where those of the index are lost. Raises `UsageError` if the folder exists
    and is not empty, `Damaged` if there is no intact row.
    """
    require_new_folder(target)
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


def salvage_with_archive(source: Path, target: Path, *, settings: Mapping[str, str]) -> Salvaged:
    """Take the intact rows of the index `source`, and the archived contexts that they lack.

    Chunks get these contexts when their documents are added again. If no row is intact or the
    database is gone, the new index has the archived contexts alone. Raises as `salvage_index`, and
    `SystemFailure` if the archive cannot be read.
    """
    archived = read_archive(source).contexts
    found = _salvage_rows(source, target, settings=settings, required=not archived)
    if not archived:
        return found
    store = open_stored_form(target, write=True)
    try:
        count = restore_contexts(store, archived)
        with ContextArchive(target) as archive:
            for context in archived:
                archive.add(context)
    finally:
        store.close()
    return replace(found, contexts_archived=count)


def _salvage_rows(
    source: Path, target: Path, *, settings: Mapping[str, str], required: bool
) -> Salvaged:
    """Return what was taken; without an intact row, an empty index is made unless `required`."""
    try:
        return salvage_index(source, target, settings=settings)
    except (Damaged, NotAnIndex):
        if required:
            raise
    create_index(target, settings)
    return Salvaged(database_lost=True)
