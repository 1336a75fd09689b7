"""Opening of the store of an index, whose URIs are relative to the folder that holds the index."""

from __future__ import annotations

import os
from pathlib import Path

from crx import _native
from crx.errors import NoRoom, NotAnIndex
from crx.ingest.paths import uri_of

# The setting in which the store records the folder that URIs are relative to.
BASE = "base"


def open_store(folder: Path, *, write: bool = False) -> _native.Store:
    """Open the store of an index, with absolute URIs; raises as `_native.Store.open`."""
    return _open(folder, write=write, base=uri_of(folder.parent))


def open_stored_form(folder: Path, *, write: bool = False) -> _native.Store:
    """Open the store of an index, with URIs as they are stored; raises as `_native.Store.open`."""
    return _open(folder, write=write, base=None)


def _open(folder: Path, *, write: bool, base: str | None) -> _native.Store:
    """Open the store of an index.

    A loss of power while an index is created leaves SQLite's rollback journal, which only a writer
    may apply: for a reader that is no index yet. Later changes go through the write-ahead log.
    """
    try:
        return _native.Store.open(os.fspath(folder), write=write, base=base)
    except NoRoom as refused:
        if write or not (folder / "crx.db-journal").exists():
            raise
        raise NotAnIndex(
            f"{folder}: its creation was interrupted; "
            f"`crx index PATH... --index {folder}` completes it"
        ) from refused
