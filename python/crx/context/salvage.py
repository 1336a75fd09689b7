"""Salvage of a damaged index with the contexts of its archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from crx.context.archive import ContextArchive, read_archive, restore_contexts
from crx.errors import Damaged, NotAnIndex
from crx.ingest.create import create_index
from crx.ingest.open_store import open_stored_form
from crx.ingest.salvage import Salvaged, salvage_index


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
            for each in archived:
                archive.add(each)
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
