"""What a handle keeps open: the files of an index folder, or an index in a database."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from crx import _native
from crx._index.file_searcher import FileSearcher
from crx._index.leg_files import LegFiles, VectorFiles
from crx._index.open_store import open_store
from crx._index.snapshot import Snapshots
from crx._index.writer import WriteAccess, Writer, open_writer
from crx.errors import Damaged
from crx.retrieve.ports import Searcher, StatusReader


class _CommittedState(Searcher, StatusReader, Protocol):
    """One committed state of an index, which is searched and described."""


class OpenIndex(Protocol):
    """An opened index, wherever it is kept."""

    def settings(self) -> dict[str, str]:
        """Return the settings that the index was built with, by name."""

    def searching(self) -> AbstractContextManager[tuple[_CommittedState, list[str]]]:
        """Give the last committed state for a search, and notes on what it lacks."""

    def close(self) -> None:
        """Release the files or connections."""


class OpenFiles(NamedTuple):
    """The open files of an index folder."""

    store: _native.Store
    legs: LegFiles
    access: WriteAccess
    snapshots: Snapshots

    @staticmethod
    def open(folder: Path, vectors: VectorFiles) -> OpenFiles:
        """Open the files; raises as `open_store`."""
        store = open_store(folder)
        legs, access = LegFiles(folder, vectors), WriteAccess.to(folder)
        return OpenFiles(store, legs, access, Snapshots(legs, store, access))

    def settings(self) -> dict[str, str]:
        """Return the settings that the index was built with, by name."""
        return self.store.settings()

    @contextlib.contextmanager
    def searching(self) -> Iterator[tuple[FileSearcher, list[str]]]:
        """Give the newest snapshot; see `Snapshots.searching`.

        Raises `Damaged` if the write-ahead log was lost, besides what that raises.
        """
        self._refuse_lost_log()
        with self.snapshots.searching() as found:
            yield found

    @contextlib.contextmanager
    def writing(self, *, timeout_s: float | None = None) -> Iterator[Writer]:
        """Hold the writer's lock; `timeout_s` is that of `open_writer`.

        Raises `Locked`, naming the process or thread that holds it, and `Damaged` if the
        write-ahead log was lost.
        """
        self._refuse_lost_log()
        with self.recovering(timeout_s=timeout_s) as writer:
            yield writer

    def recovering(self, *, timeout_s: float | None = None) -> AbstractContextManager[Writer]:
        """Hold the writer's lock of an index whose write-ahead log was lost; it is accepted."""
        return open_writer(self.legs, self.access, timeout_s=timeout_s)

    def close(self) -> None:
        """Release the files."""
        self.snapshots.close()
        self.store.close()

    def _refuse_lost_log(self) -> None:
        if self.store.log_lost:
            raise Damaged(describe_lost_log(self.legs.path))


def describe_lost_log(folder: Path) -> str:
    """Return the fact that the write-ahead log of an index is missing, and what to do."""
    return (
        f"{folder}: crx.db was being written and its crx.db-wal is missing, so the last "
        f'changes are lost; put crx.db-wal beside it, restore a copy made by "crx backup", '
        f'or accept crx.db as it is with "crx verify"'
    )
