"""Refresh before a search: what has changed in the indexed folders is read first.

A look compares the size and the time stamp of each file, and the time stamp of each folder, with
those of the look before. The first look of a server is a whole pass, as `crx index` makes it. A
look ends after a tenth of a second, and no more than 20 MB are read: a note says so.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from crx.errors import CrxError
from crx.index.handle import Index
from crx.ingest.paths import path_of
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

LOOK_S = 0.1
# Files of an index of which the first look is a whole pass.
MOST_FILES = 5_000
MOST_BYTES = 20_000_000


class Stamp(NamedTuple):
    """The time in nanoseconds at which a file or a folder was changed, and the bytes of a file."""

    mtime_ns: int
    size: int


@dataclass(slots=True)
class _Looked:
    """What the last look at an index saw: the stamps of its folders and the files in them."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    error: str = ""


class IndexRefresher:
    """Brings the indexes of a service up to date before each search. Any thread may use it."""

    def __init__(self, service: SearchService) -> None:
        self._service = service
        self._looked: dict[str, _Looked] = {}
        self._lock = threading.Lock()

    def refresh(self) -> list[str]:
        """Read what has changed; return notes on what was not looked at or not read."""
        with self._lock:
            notes = [self._refresh(served) for served in self._service.served]
        return [note for note in notes if note]

    def _refresh(self, served: ServedIndex) -> str:
        looked = self._looked.setdefault(served.name, _Looked())
        try:
            return _refresh_index(served.get(), looked)
        except CrxError as error:
            # Another writer, or a folder that may not be read: told once.
            note = "" if looked.error == str(error) else f"not refreshed: {error}"
            looked.error = str(error)
            return note


def _refresh_index(index: Index, looked: _Looked) -> str:
    folders = _folders_of(index)
    if not looked.stamps:
        documents = index.store.stats()["documents"]
        if documents > MOST_FILES:
            return f'{documents} documents are not looked at for changes; "crx index" does it'
        looked.stamps = _stamp(folders)
        index.refresh(words_only=True)
        return _remember(index, looked)
    now = _stamp(folders, until=time.monotonic() + LOOK_S)
    if now is None:
        return 'not all files were looked at for changes; "crx index" looks at all'
    paths = now.keys() | looked.stamps.keys()
    changed = [path for path in paths if now.get(path) != looked.stamps.get(path)]
    size = sum(stamp.size for path in changed if (stamp := now.get(path)))
    if size > MOST_BYTES:
        return f'{len(changed)} changed files are not read: {size:,} bytes; "crx index" reads them'
    if not changed:
        return ""
    looked.stamps = now
    index.refresh(only=changed, words_only=True)
    return _remember(index, looked)


def _remember(index: Index, looked: _Looked) -> str:
    """Add the stamps of folders that are new in the index.

    The others are those from before it was refreshed: what changed since is seen by the next look.
    """
    new = _folders_of(index) - looked.stamps.keys()
    looked.stamps |= _stamp(new) or {}
    looked.error = ""
    return ""


def _folders_of(index: Index) -> set[str]:
    """Return the roots and the folders below them that hold documents."""
    roots = {path_of(root) for root in index.roots}
    folders = set(roots)
    for row in index.store.documents():
        folder = os.path.dirname(path_of(row.uri))
        while folder not in folders and any(folder.startswith(root + os.sep) for root in roots):
            folders.add(folder)
            folder = os.path.dirname(folder)
    return folders


@overload
def _stamp(folders: Iterable[str], *, until: None = None) -> dict[str, Stamp]: ...
@overload
def _stamp(folders: Iterable[str], *, until: float) -> dict[str, Stamp] | None: ...
def _stamp(folders: Iterable[str], *, until: float | None = None) -> dict[str, Stamp] | None:
    """Return the stamps of folders and of the files in them, None if it takes longer than `until`.

    A folder that is gone has none.
    """
    stamps: dict[str, Stamp] = {}
    for folder in folders:
        if until is not None and time.monotonic() > until:
            return None
        # Also one that is a single file, or that may not be listed.
        with contextlib.suppress(OSError):
            found = os.stat(folder)
            stamps[folder] = Stamp(found.st_mtime_ns, 0)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_file():
                        stat = entry.stat()
                        stamps[entry.path] = Stamp(stat.st_mtime_ns, stat.st_size)
    return stamps
