"""Creation and opening of an index folder; URIs are stored relative to the folder above it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crx import _native
from crx.errors import Damaged, NoRoom, NotAnIndex, UsageError, fact
from crx.ingest.paths import escape_path, uri_of

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
    except NotAnIndex:
        _refuse_file(folder)
        raise
    except Damaged as error:
        raise Damaged(advise_salvage(error)) from error


def _refuse_file(path: Path) -> None:
    if path.is_file():
        raise NotAnIndex(f"{path}: a file, and an index is a folder") from None


def advise_salvage(error: Damaged) -> str:
    """Return an error of a database that cannot be read at all, with salvage as the next step.

    An error with another step than `crx verify`, as that of a link in an index, keeps it.
    """
    message = str(error)
    if "`crx verify`" not in message:
        return message
    return f"{fact(message)}; `crx salvage DEST` takes what is intact into a new index"


# The setting of an index into which a copy is under way or was interrupted: the copy's source.
UNFINISHED_COPY = "copying_from"


def require_utf_8(folder: Path) -> None:
    """Raise `UsageError` for a path with other bytes, which the files of an index cannot have."""
    try:
        os.fspath(folder).encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{escape_path(folder)}: the path of an index must be UTF-8; put the index elsewhere "
            "with --index DIR"
        ) from None


def describe_unfinished_copy(settings: Mapping[str, str], *, name: str) -> list[str]:
    """Return a note on an index that a copy has filled in part; none on any other."""
    source = settings.get(UNFINISHED_COPY, "")
    if not source:
        return []
    return [
        f"holds a part of {source}: the copy is under way or was interrupted; "
        f'"crx copy {source} {name}" goes on with it'
    ]


def is_complete(folder: Path) -> bool:
    """Return True unless there is no index, or its creation was interrupted before its settings."""
    try:
        store = open_stored_form(folder)
    except NotAnIndex:
        return False
    try:
        return bool(store.settings())
    finally:
        store.close()


def require_new_folder(folder: Path) -> None:
    """Raise `UsageError` for a folder that is not new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: exists already; name a folder that does not")


def copy_index(store: _native.Store, folder: Path) -> None:
    """Copy a store into a new or empty folder; raise `UsageError` for another."""
    require_new_folder(folder)
    store.backup(str(folder))


def create_index(folder: Path, settings: Mapping[str, str]) -> None:
    """Make an empty index; an interrupted creation is completed."""
    _refuse_file(folder)
    store = _native.Store.open(str(folder), write=True, create=True)
    try:
        if not store.settings():
            store.set_settings(dict(settings))
        derived = folder / "derived"
        _native.Lexical.open(str(derived / "bm25"), write=True).sync(store)
        _native.replace_file(folder, ".gitignore", b"*\n")
    finally:
        store.close()
