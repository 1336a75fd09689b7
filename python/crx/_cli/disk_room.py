"""How much more room a full disk needs, for the line that says that it is full."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from crx.errors import NoRoom, SystemFailure
from crx.ingest.report import Progress

# Merges, and derived files that are written beside those that they replace.
_WORKING_BYTES = 8_000_000
# The write-ahead log before it is moved into the database.
_LOG_BYTES = 33_000_000
# A chunk with a vector of 384 numbers: 3.3 to 4.9 kB in indexes of code, contracts and articles,
# twice, since derived files are replaced.
_BYTES_A_CHUNK = 10_000
# With less than this free, a failed system call is that of a full disk: SQLite maps a file, and
# reports that it cannot be made longer as an I/O error.
_FULL_BYTES = 1_000_000


class DiskRoom:
    """The progress of a build, which is passed on, and the room that the rest of it takes."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self._left = 0
        # A run that fails before it has looked at the files of an index may have nothing to do.
        self._has_work = not (index / "crx.db").exists()

    def watch(self, show: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
        """Return a function that notes a progress and passes it on."""

        def note(progress: Progress) -> None:
            self._left = progress.chunks_total - progress.chunks_done
            self._has_work = self._has_work or self._left > 0
            if show is not None:
                show(progress)

        return note

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Have the error of a full disk name the bytes that are needed, if there is work left."""
        try:
            yield
        except (NoRoom, SystemFailure) as error:
            existing = next(each for each in (self._index, *self._index.parents) if each.exists())
            free = _free_bytes(existing)
            if free is None or not self._has_work:
                raise
            chunks = self._left * _BYTES_A_CHUNK
            missing = _WORKING_BYTES + min(chunks, _LOG_BYTES) + chunks - free
            most = _WORKING_BYTES if isinstance(error, NoRoom) else _FULL_BYTES
            if missing <= 0 or free > most:
                raise
            fact, _, step = str(error).partition("; ")
            room = f"about {-(-missing // 1_000_000)} MB more are needed"
            raise NoRoom("; ".join(part for part in (fact, room, step) if part)) from error


def _free_bytes(path: Path) -> int | None:
    """Return how much room a disk has; None if its file system does not tell."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None
