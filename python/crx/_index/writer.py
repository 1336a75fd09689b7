"""The one writer of an index folder: its lock, its commits, and the catch-up of a search."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, Protocol
from weakref import WeakSet, WeakValueDictionary

from crx import _native
from crx._index.bm25_files import record_files
from crx._index.leg_files import LegFiles
from crx._index.open_store import open_store
from crx._index.self_check import require_found
from crx._index.vector_leg import VectorLeg
from crx.errors import Locked, NoRoom, SystemFailure

# Age that a snapshot may have while a thread of the process writes: each new one is a commit.
_SECONDS_BETWEEN_COMMITS = 0.5
# Age of a lock that a search of another process may hold while it catches up; an older one is that
# of a writer, beside which another is refused at once.
CATCH_UP_S = 0.5
_LOCK_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Writer:
    """The store under the writer's lock, its legs for writing, and the filter of patterns."""

    store: _native.Store
    lexical: _native.Lexical
    dense: VectorLeg
    trigrams: _native.Trigrams
    on_commit: Callable[[], None] = lambda: None
    on_bm25_commit: Callable[[], None] = lambda: None
    _committing: threading.Lock = field(default_factory=threading.Lock)

    def sync(self) -> None:
        """Bring the legs up to the store."""
        self.commit_lexical(self.store)
        self.dense.sync(self.store)
        self.on_commit()

    def publish(self) -> None:
        """Bring the legs up to the store and write out their files, as at the end of a build."""
        self.commit_lexical(self.store)
        self.dense.publish(self.store)
        self.trigrams.publish(self.store)

    def commit_lexical(self, store: _native.Store) -> None:
        """Commit to BM25 what it lacks of `store`, which may be a snapshot."""
        with self._committing:
            if self.lexical.seq < store.seq or store is self.store:
                # After a loss of power, BM25 must not be newer than the store.
                self.store.flush()
                self.lexical.sync(store)
                self.on_bm25_commit()

    def check_findable(self, docs: Iterable[int], *, dimensions: int) -> None:
        """Look up documents in both legs; raises `Damaged` if one does not find them."""
        require_found(
            self.store, docs, lexical=self.lexical, dense=self.dense, dimensions=dimensions
        )

    def close(self) -> None:
        """Wait for background merges, then release the lock."""
        try:
            self.lexical.close()
            self.on_bm25_commit()
        finally:
            self.store.close()


class _SnapshotHolder(Protocol):
    """A reader of this process that keeps a snapshot between searches."""

    def release_idle(self) -> None:
        """Release the snapshot if no search reads it."""


class WriteAccess:
    """Which thread of this process writes to a folder. One object a folder: `WriteAccess.to`."""

    _known: ClassVar[WeakValueDictionary[str, WriteAccess]] = WeakValueDictionary()
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holder: Literal["", "writer", "catch-up"] = ""
        self._thread = 0
        self._writer: Writer | None = None
        self._next_commit = 0.0
        self._readers: WeakSet[_SnapshotHolder] = WeakSet()

    @staticmethod
    def to(folder: Path) -> WriteAccess:
        """Return the access to a folder, whatever path leads to it."""
        with WriteAccess._guard:
            return WriteAccess._known.setdefault(os.path.realpath(folder), WriteAccess())

    @staticmethod
    def forget_parent() -> None:
        """Drop what a forked child inherited: the writer is the parent's."""
        WriteAccess._guard = threading.Lock()
        WriteAccess._known = WeakValueDictionary()

    def take(self, folder: Path, *, timeout_s: float | None = None) -> None:
        """Become the writer, after other threads of this process.

        Raises `Locked` after `timeout_s` seconds (None: never), and for a thread that writes.
        """
        own = threading.get_ident()
        with self._changed:
            if self._holder == "writer" and self._thread == own:
                raise Locked(
                    f"{folder}: this thread (pid {os.getpid()}) is writing; end that first"
                )
            if not self._changed.wait_for(lambda: not self._holder, timeout_s):
                raise Locked(
                    f"{folder}: another thread of this process (pid {os.getpid()}) is writing; "
                    "wait for it to end"
                )
            self._holder, self._thread = "writer", own

    def take_for_catch_up(self) -> bool:
        """Become the writer for a moment, if nobody in this process is."""
        with self._changed:
            if self._holder:
                return False
            self._holder = "catch-up"
            return True

    def release(self) -> None:
        """Let others write."""
        with self._changed:
            self._holder = ""
            self._changed.notify_all()

    def share(self, writer: Writer | None) -> None:
        """Let searches of this process commit the open writer's changes to BM25, or no longer."""
        with self._changed:
            self._writer = writer
        self.release_idle()

    def watch(self, reader: _SnapshotHolder) -> None:
        """Release the snapshot of `reader`, if no search reads it, whenever a writer commits."""
        with self._changed:
            self._readers.add(reader)

    def release_idle(self) -> None:
        """Release the snapshots that no search reads, so that the write-ahead log can shrink."""
        with self._changed:
            readers = list(self._readers)
        for reader in readers:
            reader.release_idle()

    def commit(self, store: _native.Store) -> bool:
        """Commit to BM25 what the writer of this process has written, as far as `store` has it.

        Returns False if no thread of this process writes.
        """
        with self._changed:
            if self._writer is None:
                return False
            self._writer.commit_lexical(store)
            self._next_commit = time.monotonic() + _SECONDS_BETWEEN_COMMITS
            return True

    def has_just_committed(self) -> bool:
        """Return whether a writer of this process committed for a search less than 0.5 s ago."""
        with self._changed:
            return self._writer is not None and time.monotonic() < self._next_commit

    def is_writing(self) -> bool:
        """Return whether a thread of this process writes."""
        with self._changed:
            return self._writer is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WriteAccess.forget_parent)


@contextlib.contextmanager
def open_writer(
    files: LegFiles, access: WriteAccess, *, timeout_s: float | None = None
) -> Iterator[Writer]:
    """Hold the writer's lock; raises `Locked`, naming the process or thread that holds it.

    `timeout_s` limits the wait for either; None waits for other threads of this process, and for
    no other process.
    """
    access.take(files.path, timeout_s=timeout_s)
    try:
        writer = _open_writer(files, wait_s=CATCH_UP_S, timeout_s=timeout_s or 0.0)
        writer = replace(writer, on_commit=access.release_idle)
        with contextlib.closing(writer):
            access.share(writer)
            try:
                yield writer
            finally:
                access.share(None)
    finally:
        access.release()


def catch_up(files: LegFiles, access: WriteAccess) -> str:
    """Bring BM25 up to the store as a writer. Returns why that is not possible, or ""."""
    if not access.take_for_catch_up():
        return "another thread is writing"
    try:
        with contextlib.closing(_open_writer(files, wait_s=0.0)) as writer:
            writer.sync()
    except (Locked, NoRoom, SystemFailure) as error:
        return str(error)
    finally:
        access.release()
    return ""


def open_locked_store(folder: Path, *, wait_s: float, timeout_s: float = 0.0) -> _native.Store:
    """Open the store for writing; waits for a lock that is younger than `wait_s`.

    For an older one it waits `timeout_s` seconds.
    """
    started = time.monotonic()
    while True:
        try:
            return open_store(folder, write=True)
        except Locked:
            waited = time.monotonic() - started
            is_catch_up = waited < wait_s and _lock_age_s(folder) < wait_s
            if waited >= timeout_s and not is_catch_up:
                raise
        time.sleep(_LOCK_POLL_S)


def _lock_age_s(folder: Path) -> float:
    """Return for how long the lock has been held: its file is written when it is taken."""
    return time.time() - (folder / "lock").stat().st_mtime


def _open_writer(files: LegFiles, *, wait_s: float, timeout_s: float = 0.0) -> Writer:
    store = open_locked_store(files.path, wait_s=wait_s, timeout_s=timeout_s)
    try:
        return Writer(
            store,
            files.open_lexical(write=True),
            files.open_dense(write=True),
            files.open_trigrams(),
            on_bm25_commit=partial(record_files, files.bm25),
        )
    except BaseException:
        store.close()
        raise
