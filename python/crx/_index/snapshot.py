"""Snapshots for searches: both legs and the store at one sequence number.

Readers are never blocked by the writer, and what a writer commits meanwhile changes nothing in the
answer of a search.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crx import _native
from crx._index.file_searcher import FileSearcher
from crx._index.leg_files import LegFiles
from crx._index.open_store import open_store
from crx._index.vector_leg import VectorLeg
from crx._index.writer import WriteAccess, catch_up
from crx.errors import Damaged, Incompatible, fact
from crx.types import Note

# Tries to find both legs at one sequence number while a writer commits.
_CONSISTENCY_TRIES = 5


@dataclass(slots=True)
class _Snapshot:
    """Both legs and a store at one sequence number; `store` is in a read transaction if `held`.

    `pending` chunks lack their vector. `users` are the searches that read it.
    """

    searcher: FileSearcher
    store: _native.Store
    pending: int = 0
    users: int = 0
    held: bool = True

    def hold(self) -> bool:
        """Begin the read transaction again; returns whether the store is still the same."""
        self.store.begin_read()
        self.held = True
        if self.store.seq != self.searcher.seq:
            self.release()
        return self.held

    def release(self) -> None:
        """End the read transaction, so that the write-ahead log can be shortened."""
        self.store.end_read()
        self.held = False


class Snapshots:
    """The newest snapshot of an index folder, and those that searches still read."""

    def __init__(self, legs: LegFiles, store: _native.Store, access: WriteAccess) -> None:
        """`store` tells the last commit; snapshots have stores of their own."""
        self._legs = legs
        self._store = store
        self._access = access
        self._refreshing = threading.Lock()
        self._lexical: _native.Lexical | None = None
        self._dense: VectorLeg | None = None
        self._trigrams = legs.open_trigrams()
        self._snapshot: _Snapshot | None = None
        self._idle: list[_native.Store] = []
        self._counting = threading.Lock()
        self._searches = 0
        self._closed = False
        access.watch(self)

    @contextlib.contextmanager
    def searching(self) -> Iterator[tuple[FileSearcher, list[str]]]:
        """Give the newest snapshot for a search, and notes on what it lacks, one line each.

        Raises `Incompatible` if the store is older than the legs, `Damaged` if BM25 is damaged
        and cannot be rebuilt here.
        """
        notes: list[str] = []
        with self._counted():
            with self._refreshing:
                snapshot = self._newest(notes)
                snapshot.users += 1
            try:
                # Of those that lack their vector, BM25 may lack some, or all, too.
                if snapshot.pending and (found := len(snapshot.searcher.lexical)):
                    which = f"{min(snapshot.pending, found):,} of {found:,} chunks"
                    note = (
                        f"{which} are found by words alone until they have their vector; "
                        '"crx embed" goes on with them'
                    )
                    notes.append(Note(note, "state"))
                yield snapshot.searcher, notes
            finally:
                with self._refreshing:
                    snapshot.users -= 1
                    self._settle(snapshot)

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        with self._counting:
            self._searches += 1
        try:
            yield
        finally:
            with self._counting:
                self._searches -= 1

    @property
    def is_searching(self) -> bool:
        """Whether a search of this process reads a snapshot."""
        return self._searches > 0

    def release_idle(self) -> None:
        """Release the snapshot if no search reads it."""
        with self._refreshing:
            snapshot = self._snapshot
            if snapshot is not None and snapshot.held and not snapshot.users:
                snapshot.release()

    def close(self) -> None:
        """Release the files."""
        with self._refreshing:
            stores = self._idle + ([self._snapshot.store] if self._snapshot else [])
            for store in stores:
                store.close()
            self._idle = []
            self._lexical = self._dense = self._snapshot = None
            self._closed = True

    def _newest(self, notes: list[str]) -> _Snapshot:
        known = self._snapshot
        if known is not None and self._is_new_enough(known):
            return known
        self._snapshot = self._make_snapshot(notes)
        if known is not None:
            self._settle(known)
        return self._snapshot

    def _is_new_enough(self, snapshot: _Snapshot) -> bool:
        """Return whether a snapshot has the last commit, or one of less than 0.5 s ago."""
        if not snapshot.held:
            return snapshot.hold()
        return snapshot.searcher.seq == self._store.seq or self._access.has_just_committed()

    def _settle(self, snapshot: _Snapshot) -> None:
        """Release a snapshot that is no longer read; the newest is kept while a thread writes."""
        if snapshot.users or self._closed:
            return
        if snapshot is not self._snapshot:
            snapshot.release()
            self._idle.append(snapshot.store)
        elif not self._access.is_writing():
            snapshot.release()

    def _make_snapshot(self, notes: list[str]) -> _Snapshot:
        store = self._idle.pop() if self._idle else open_store(self._legs.path)
        try:
            return self._fill_snapshot(store, notes)
        except BaseException:
            store.close()
            raise

    def _fill_snapshot(self, store: _native.Store, notes: list[str]) -> _Snapshot:
        """Begin a read transaction of `store` and bring the legs up to it."""
        why = ""
        for _ in range(_CONSISTENCY_TRIES):
            store.end_read()
            store.begin_read()
            seq = store.seq
            lexical, dense = self._opened_or_rebuilt(store, notes)
            if lexical.seq > seq and self._store.seq < lexical.seq:
                message = describe_older_store(self._legs.path, self._store, lexical.seq)
                raise Incompatible(message)
            if lexical.seq < seq and self._access.commit(store):
                lexical, dense = self._opened(store)
            elif lexical.seq < seq and not why:
                why = self._catch_up(store)
                continue
            dense.sync(store)
            if lexical.seq == dense.seq == seq:
                break
        notes += dense.faults
        lag = seq - lexical.seq
        lexical, dense = lexical.snapshot(), dense.snapshot()
        complete = lexical.seq == dense.seq == seq
        by_lang = store.chunks_by_lang()
        stored, found = sum(chunks for _, chunks in by_lang), len(lexical)
        pending = store.count_pending()
        # Beside a writer that this process cannot join, the legs may lack its last changes.
        if lag:
            late = "BM25 is" if lag > 0 else "the documents are"
            reason = why or "another process is writing"
            notes.append(Note(f"{late} {abs(lag)} changes behind: {reason}"))
        if complete and stored != found:
            raise Damaged(
                f"{self._legs.path}: its documents have {stored} chunks, and BM25 has {found}; "
                "`crx verify` lists damage of the database, `crx rebuild` makes BM25 anew"
            )
        searcher = FileSearcher(
            store,
            lexical,
            dense,
            self._trigrams,
            seq=lexical.seq,
            langs=[lang for lang, _ in by_lang],
            complete=complete,
        )
        return _Snapshot(searcher, store, pending=pending)

    def _opened_or_rebuilt(
        self, store: _native.Store, notes: list[str]
    ) -> tuple[_native.Lexical, VectorLeg]:
        """Return both legs for reading; damaged BM25 is rebuilt, which ends a read transaction."""
        try:
            return self._opened(store)
        except Damaged as error:
            notes.append(f"{fact(str(error))}; made anew from the store")
        why = self._catch_up(store)
        try:
            return self._opened(store)
        except Damaged:
            raise Damaged(
                f"{self._legs.path}: BM25 is damaged and cannot be rebuilt here: {why}"
            ) from None

    def _opened(self, store: _native.Store) -> tuple[_native.Lexical, VectorLeg]:
        """Return both legs for reading, BM25 at its last commit; raises `Damaged`."""
        if self._dense is None:
            self._dense = self._legs.open_dense(write=False)
        try:
            if self._lexical is None:
                self._lexical = self._legs.open_lexical(write=False)
            self._lexical.sync(store)
        except Damaged:
            self._lexical = None
            raise
        return self._lexical, self._dense

    def _catch_up(self, store: _native.Store) -> str:
        """Bring BM25 up to the store as a writer. Returns why that is not possible, or "".

        Any read transaction of `store` ends: the writer's close would wait for it.
        """
        store.end_read()
        return catch_up(self._legs, self._access)


def describe_older_store(folder: Path, store: _native.Store, seq: int) -> str:
    """Return the fact that a store is older than its derived files, which are at change `seq`."""
    return (
        f"{folder}: crx.db is at change {store.seq}, older than its derived files "
        f"at change {seq}: it was restored from a copy, or crx.db-wal was lost; "
        f'"crx verify" accepts crx.db as it is and rebuilds the derived files'
    )
