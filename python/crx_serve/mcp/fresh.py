"""Refresh before a search: what has changed in the indexed folders is read first.

A look compares the files in the folders that hold documents, and the other folders beside them,
with the stamps of the look before, and at first with what the index holds of them. It ends after a
tenth of a second. A call reads at most 20 MB, the smallest files first; a note tells of the rest.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from crx._index.handle import Index
from crx.errors import CrxError
from crx.ingest.discover import Root, discover
from crx.ingest.file_pass import rows_by_file
from crx.ingest.found_file import FoundFile
from crx.ingest.ignore import FolderPatterns
from crx.ingest.path_selection import PathSelection
from crx.ingest.paths import path_of
from crx.ingest.roots import RememberedRoots
from crx.labels import count_label
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService
from crx_serve.watch.events import EventFilter

LOOK_S = 0.1
# Documents of an index whose files are looked at: their rows are read after each change of it.
MOST_DOCUMENTS = 5_000
MOST_BYTES = 20_000_000


class Stamp(NamedTuple):
    """The bytes of a file or folder, and when its content and its inode changed."""

    size: int
    mtime_ns: int
    ctime_ns: int

    @staticmethod
    def of(status: os.stat_result) -> Stamp:
        return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


# Stands for a file that is gone, though the index has documents of it.
_GONE = Stamp(-1, 0, 0)


class _Indexed(NamedTuple):
    """What an index holds of files, at a sequence number of its store.

    `changes` has the latest change that the last pass over each root met, `files` the size and the
    time stamp of each file as it was read, `folders` the roots and those with documents.
    """

    seq: int
    roots: tuple[Root, ...]
    changes: Mapping[str, int]
    files: Mapping[str, tuple[int, int]]
    folders: frozenset[str]

    @staticmethod
    def read(index: Index) -> _Indexed:
        seq, remembered = index.store.seq, RememberedRoots.read(index.store)
        files = {
            _path(uri): (rows[0].source_size, rows[0].source_mtime_ns)
            for uri, rows in rows_by_file(index.store.documents()).items()
        }
        folders = {_path(root.uri) for root in remembered.roots}
        above = tuple(os.path.join(folder, "") for folder in folders)
        for path in files:
            folder = os.path.dirname(path)
            while folder not in folders and folder.startswith(above):
                folders.add(folder)
                folder = os.path.dirname(folder)
        changes = {_path(uri): changed_ns for uri, changed_ns in remembered.changes.items()}
        return _Indexed(seq, remembered.roots, changes, files, frozenset(folders))

    def has_read(self, path: str, stamp: Stamp) -> bool:
        """Return whether a file is as it was read, or, without documents, as the last pass met it.

        The same holds for a folder.
        """
        if path in self.files:
            return self.files[path] == (stamp.size, stamp.mtime_ns)
        met = [changed_ns for root, changed_ns in self.changes.items() if _is_at(path, root)]
        return stamp.ctime_ns <= max(met, default=0)


@dataclass(slots=True)
class _Looked:
    """What the last look at an index saw: what it holds, and the stamps of what it has read."""

    indexed: _Indexed | None = None
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
            note = _refresh_index(served.get(), looked)
        except CrxError as error:
            # Another writer, or a folder that may not be read: told once, and tried again.
            note = "" if looked.error == str(error) else f"not refreshed: {error}"
            looked.error = str(error)
            return note
        looked.error = ""
        return note


def _refresh_index(index: Index, looked: _Looked) -> str:
    documents = index.store.stats()["documents"]
    if documents > MOST_DOCUMENTS:
        return f'{documents} documents are not looked at for changes; "crx index" does it'
    if looked.indexed is None or looked.indexed.seq != index.store.seq:
        looked.indexed = _Indexed.read(index)
    indexed = looked.indexed
    now = _stamp(indexed, until=time.monotonic() + LOOK_S)
    if now is None:
        return 'not all files were looked at for changes; "crx index" looks at all'
    changed = [
        path
        for path, stamp in now.items()
        if looked.stamps.get(path) != stamp and not indexed.has_read(path, stamp)
    ]
    left = _read_changed(index, indexed, changed) if changed else []
    # Not before: what could not be read is still to be read.
    looked.stamps = {
        path: stamp
        for path, stamp in now.items()
        if not any(_is_at(str(file.path), path) for file in left)
    }
    if not left:
        return ""
    size = sum(file.size for file in left)
    files = count_label(len(left), "changed file")
    return f'not read: {files}, {size:,} bytes; "crx index" reads them'


def _read_changed(index: Index, indexed: _Indexed, changed: Sequence[str]) -> list[FoundFile]:
    """Let an index read files and folders again; return the files that are left to be read."""
    skipped = FolderPatterns.parse(index.configuration.skip_folders)
    events = EventFilter(
        [_path(root.uri) for root in indexed.roots], index=str(index.path), skip_folders=skipped
    )
    visited = events.paths_to_visit(changed)
    found = discover(indexed.roots, skip_folders=skipped, only=PathSelection(visited)).files
    taken, left = _split_by_size(
        [file for file in found if not indexed.has_read(str(file.path), _stamp_of(file))]
    )
    if left:
        # A folder would stand for all that is in it, also for what is left.
        gone = {path for path in visited if not os.path.lexists(path)}
        visited = gone | {str(file.path) for file in taken}
    if visited:
        index.refresh(only=visited, words_only=True)
    return left


def _split_by_size(files: Sequence[FoundFile]) -> tuple[list[FoundFile], list[FoundFile]]:
    """Return the smallest files, as many as one call reads, and the others."""
    ordered = sorted(files, key=lambda file: file.size)
    sums = list(accumulate(file.size for file in ordered))
    most = bisect_right(sums, MOST_BYTES)
    return ordered[:most], ordered[most:]


def _stamp_of(file: FoundFile) -> Stamp:
    return Stamp(file.size, file.mtime_ns, file.changed_ns)


def _stamp(indexed: _Indexed, *, until: float) -> dict[str, Stamp] | None:
    """Return the stamps of files in folders with documents, and of other folders beside them.

    Files with documents that are gone have one, too. Returns None if it is late before the end.
    """
    stamps = dict.fromkeys(indexed.files, _GONE)
    for folder in indexed.folders:
        # A root may be a file. A folder may be gone, or may not be listed.
        with contextlib.suppress(OSError):
            if not os.path.isdir(folder):
                stamps[folder] = Stamp.of(os.stat(folder))
                continue
            with os.scandir(folder) as entries:
                for entry in entries:
                    if time.monotonic() > until:
                        return None
                    is_known = entry.path in indexed.folders
                    if not (is_known or entry.is_symlink()):
                        stamps[entry.path] = Stamp.of(entry.stat(follow_symlinks=False))
    return stamps


def _path(uri: str) -> str:
    return os.path.normpath(path_of(uri))


def _is_at(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
