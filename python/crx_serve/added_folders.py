"""Folders that the page adds to served indexes: one at a time, below folders that are allowed."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crx.errors import Busy, CrxError, Locked, UsageError
from crx.ingest.paths import is_below
from crx.ingest.report import Progress, Report
from crx_serve.service import SearchService

# Seconds that `close` waits for the thread.
STOP_S = 10.0
# Seconds between two tries to add a folder while something else writes to the index.
RETRY_S = 2.0


class _Closed(Exception):
    """The server ends: the run is broken off, and the next one goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedFolder:
    """A folder that is being added, or was: files read of those found, and what went wrong.

    `waits_for` is what else writes to the index, "" if nothing does. `report` is what became of the
    folder's documents, None until they are read.
    """

    index: str
    folder: str
    files_read: int = 0
    files_found: int = 0
    is_running: bool = True
    waits_for: str = ""
    problem: str = ""
    report: Report | None = None


class FolderAdder:
    """Adds folders to the indexes of a service in a thread.

    Their chunks are found by their words; the server's embedder makes the vectors.
    """

    def __init__(self, service: SearchService, *, allowed: Sequence[Path]) -> None:
        """Allow what is at and below some folders; raises `UsageError` if one is no folder."""
        self.service = service
        self.allowed = tuple(os.path.realpath(each) for each in allowed)
        for each, resolved in zip(allowed, self.allowed, strict=True):
            if not os.path.isdir(resolved):
                raise UsageError(f"{each}: no such folder")
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._last: AddedFolder | None = None

    @property
    def last(self) -> AddedFolder | None:
        """The folder that is being added or was added last, None before the first."""
        return self._last

    @property
    def is_running(self) -> bool:
        """Whether a folder is being added."""
        return self._thread is not None and self._thread.is_alive()

    def add(self, folder: str, *, index: str = "") -> None:
        """Begin to add a folder to an index, "" for the first.

        Raises `UsageError` for a path that is not allowed or no folder, `NotFound` for an index
        that is not here, `Busy` while another folder is added.
        """
        path = os.path.realpath(folder) if os.path.isabs(folder) and "\0" not in folder else ""
        # The same answer for a path that does not exist: it tells nothing of other folders.
        if not any(is_below(path, each) for each in self.allowed) or not os.path.isdir(path):
            raise UsageError(
                f"{folder[:200]}: no folder below {', '.join(self.allowed)}; give its whole path"
            )
        name = index or self.service.names[0]
        self.service.index(name)
        with self._lock:
            if self.is_running:
                raise Busy("another folder is being added; wait until it is done")
            added = self._last = AddedFolder(index=name, folder=path)
            self._thread = threading.Thread(
                target=self._run, args=(added,), name="crx-add", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Break off what is being added."""
        self._closed.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(STOP_S)

    def _run(self, added: AddedFolder) -> None:
        try:
            added = replace(added, report=self._add_when_free(added))
        except _Closed:
            pass
        except (CrxError, OSError) as error:
            added = replace(added, problem=str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the page has to say it
            added = replace(added, problem=f"{type(error).__name__}: {error}")
        self._last = replace(added, is_running=False)

    def _add_when_free(self, added: AddedFolder) -> Report:
        """Add a folder, once nothing else writes to the index."""
        while not self._closed.is_set():
            if os.path.realpath(added.folder) != added.folder:
                raise UsageError(f"{added.folder}: leads elsewhere by a link now")
            # The index may have been replaced while another process wrote to it.
            index = self.service.index(added.index)
            try:
                return index.add(added.folder, words_only=True, on_progress=self._note_progress)
            except Locked as locked:
                self._last = replace(added, waits_for=str(locked))
            self._closed.wait(RETRY_S)
        raise _Closed

    def _note_progress(self, progress: Progress) -> None:
        if self._closed.is_set():
            raise _Closed
        if self._last is not None:
            self._last = replace(
                self._last,
                files_read=progress.documents,
                files_found=progress.found,
                waits_for="",
            )
