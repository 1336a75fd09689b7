"""The derived files behind an index: writers, catch-up with the store, damage and the seal key.

One writer a folder and process at a time; readers are never blocked by it. A search reads a
snapshot: both legs and the store as of one sequence number, so that what a writer commits meanwhile
changes nothing in its answer.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple
from weakref import WeakSet, WeakValueDictionary

from crx import _native
from crx.config import Settings, user_file
from crx.errors import Damaged, Incompatible, Locked, NoRoom, SystemFailure
from crx.ingest.open_store import open_store
from crx.protocols import Embedder
from crx.retrieve.bm25_files import open_bm25, record_files
from crx.retrieve.canaries import describe_unfound, require_found
from crx.retrieve.file_searcher import FileSearcher
from crx.types import Verification

# Age that a snapshot may have while a thread of the process writes: each new one is a commit.
SECONDS_BETWEEN_COMMITS = 0.5
# Tries to find both legs at one sequence number while a writer commits.
CONSISTENCY_TRIES = 5
# Age of a lock that a search of another process may hold while it catches up; an older one is that
# of a writer, beside which another is refused at once.
CATCH_UP_S = 0.5
LOCK_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Writer:
    """The store under the writer's lock, and both legs opened for writing."""

    store: _native.Store
    lexical: _native.Lexical
    dense: _native.Dense
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

    def commit_lexical(self, store: _native.Store) -> None:
        """Commit to BM25 what it lacks of `store`, which may be a snapshot."""
        with self._committing:
            if self.lexical.seq < store.seq or store is self.store:
                # After a loss of power, BM25 must not be newer than the store.
                self.store.flush()
                self.lexical.sync(store)
                self.on_bm25_commit()

    def check_canaries(self, docs: Iterable[int], *, dimensions: int) -> None:
        """Look up documents in both legs; raises `Damaged` if one does not find them."""
        require_found(
            self.store,
            docs,
            lexical=self.lexical,
            dense=self.dense,
            dimensions=dimensions,
        )

    def close(self) -> None:
        """Wait for background merges, then release the lock."""
        try:
            self.lexical.close()
            self.on_bm25_commit()
        finally:
            self.store.close()


@dataclass(slots=True)
class Snapshot:
    """Both legs and a store as of one sequence number; `store` is in a read transaction if `held`.

    `users` are the searches that read it.
    """

    searcher: FileSearcher
    store: _native.Store
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


class WriteAccess:
    """Which thread of this process writes to a folder. One object a folder: `WriteAccess.to`."""

    _known: ClassVar[WeakValueDictionary[str, WriteAccess]] = WeakValueDictionary()
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holder: Literal["", "writer", "catch-up"] = ""
        self._writer: Writer | None = None
        self._next_commit = 0.0
        self._readers: WeakSet[DerivedFiles] = WeakSet()

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

    def take(self, folder: Path) -> None:
        """Become the writer. Waits for a catch-up of a search; `Locked` beside another writer."""
        with self._changed:
            while self._holder == "catch-up":
                self._changed.wait()
            if self._holder == "writer":
                raise Locked(
                    f"{folder}: another thread of this process (pid {os.getpid()}) is writing; "
                    "wait for it to end"
                )
            self._holder = "writer"

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

    def watch(self, files: DerivedFiles) -> None:
        """Release the snapshots of `files` that no search reads, whenever a writer commits."""
        with self._changed:
            self._readers.add(files)

    def release_idle(self) -> None:
        """Release the snapshots that no search reads, so that the write-ahead log can shrink."""
        with self._changed:
            readers = list(self._readers)
        for files in readers:
            files.release_idle()

    def commit(self, store: _native.Store) -> bool:
        """Commit to BM25 what the writer of this process has written, as far as `store` has it.

        Returns False if no thread of this process writes.
        """
        with self._changed:
            if self._writer is None:
                return False
            self._writer.commit_lexical(store)
            self._next_commit = time.monotonic() + SECONDS_BETWEEN_COMMITS
            return True

    def has_just_committed(self) -> bool:
        """Return whether a writer of this process committed for a search less than 0.5 s ago."""
        with self._changed:
            return self._writer is not None and time.monotonic() < self._next_commit

    def is_writing(self) -> bool:
        """Return whether a thread of this process writes."""
        with self._changed:
            return self._writer is not None


class VectorFiles(NamedTuple):
    """Which files a writer makes of the vectors; see the settings of these names."""

    ann_above: int

    @classmethod
    def of(cls, settings: Settings) -> VectorFiles:
        """Return what the settings ask for."""
        return cls(settings.ann_above)


class DerivedFiles:
    """The derived files of one index folder, for the reader that holds `store`."""

    def __init__(self, folder: Path, store: _native.Store, *, vectors: VectorFiles) -> None:
        self._folder = folder
        self._bm25 = folder / "derived" / "bm25"
        self._store = store
        self._vectors = vectors
        self._access = WriteAccess.to(folder)
        self._refreshing = threading.Lock()
        self._lexical: _native.Lexical | None = None
        self._dense: _native.Dense | None = None
        self._snapshot: Snapshot | None = None
        self._idle: list[_native.Store] = []
        self._closed = False
        self._access.watch(self)

    @contextlib.contextmanager
    def searching(self) -> Iterator[tuple[FileSearcher, list[str]]]:
        """Give the newest snapshot for a search, and notes on what it lacks, one line each.

        Raises `Incompatible` if the store is older than the legs, `Damaged` if BM25 is damaged
        and cannot be rebuilt here.
        """
        self._refuse_lost_log()
        notes: list[str] = []
        with self._refreshing:
            snapshot = self._newest(notes)
            snapshot.users += 1
        try:
            if len(snapshot.store.pending(limit=1)):
                pending = snapshot.store.stats()["pending"]
                notes.append(
                    f'{pending} chunks are not embedded yet; "crx index" goes on with them'
                )
            yield snapshot.searcher, notes
        finally:
            with self._refreshing:
                snapshot.users -= 1
                self._settle(snapshot)

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

    def damaged(self) -> list[str]:
        """Return the derived files that do not match their hashes or their store, a line each."""
        faults = [self._lost_log()] if self._store.log_lost else []
        try:
            lexical = self._open_lexical(write=False)
            if lexical.seq > self._store.seq:
                faults.append(self._older_store(lexical.seq))
        except Damaged as error:
            faults.append(str(error))
        dense = self._open_dense(write=False)
        dense.check(self._store)
        return [*faults, *dense.faults]

    def unfound(self) -> list[str]:
        """Look up every chunk in BM25; return a line for each that is not found."""
        return describe_unfound(self._store, lexical=self._open_lexical(write=False))

    def rebuild(self) -> None:
        """Delete the derived files and make them anew from the store, under the writer's lock."""
        with contextlib.closing(self._open_store(CATCH_UP_S)):
            for path in (self._folder / "derived").iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        with self._writing() as writer:
            writer.publish()

    @contextlib.contextmanager
    def recovering(self) -> Iterator[Writer]:
        """Hold the writer's lock of an index whose write-ahead log was lost; it is accepted."""
        with self._writing() as writer:
            yield writer

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """Hold the writer's lock.

        Raises `Locked`, naming the process or thread that holds it, and `Damaged` if the
        write-ahead log was lost.
        """
        self._refuse_lost_log()
        with self._writing() as writer:
            yield writer

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writer]:
        self._access.take(self._folder)
        try:
            writer = replace(self._open_writer(CATCH_UP_S), on_commit=self._access.release_idle)
            with contextlib.closing(writer):
                self._access.share(writer)
                try:
                    yield writer
                finally:
                    self._access.share(None)
        finally:
            self._access.release()

    def _newest(self, notes: list[str]) -> Snapshot:
        known = self._snapshot
        if known is not None and self._is_new_enough(known):
            return known
        self._snapshot = self._make_snapshot(notes)
        if known is not None:
            self._settle(known)
        return self._snapshot

    def _is_new_enough(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot has the last commit, or one of less than 0.5 s ago."""
        if not snapshot.held:
            return snapshot.hold()
        return snapshot.searcher.seq == self._store.seq or self._access.has_just_committed()

    def _settle(self, snapshot: Snapshot) -> None:
        """Release a snapshot that is no longer read; the newest is kept while a thread writes."""
        if snapshot.users or self._closed:
            return
        if snapshot is not self._snapshot:
            snapshot.release()
            self._idle.append(snapshot.store)
        elif not self._access.is_writing():
            snapshot.release()

    def _make_snapshot(self, notes: list[str]) -> Snapshot:
        store = self._idle.pop() if self._idle else open_store(self._folder)
        try:
            return self._fill_snapshot(store, notes)
        except BaseException:
            store.close()
            raise

    def _fill_snapshot(self, store: _native.Store, notes: list[str]) -> Snapshot:
        """Begin a read transaction of `store` and bring the legs up to it."""
        why = ""
        for _ in range(CONSISTENCY_TRIES):
            store.end_read()
            store.begin_read()
            seq = store.seq
            lexical, dense = self._opened_or_rebuilt(store, notes)
            if lexical.seq > seq and self._store.seq < lexical.seq:
                raise Incompatible(self._older_store(lexical.seq))
            if lexical.seq < seq and self._access.commit(store):
                lexical, dense = self._opened(store)
            elif lexical.seq < seq and not why:
                why = self._catch_up(store)
                continue
            dense.sync(store)
            if lexical.seq == dense.seq == seq:
                break
        notes += dense.faults
        # Beside a writer that this process cannot join, the legs may lack its last changes.
        if lag := seq - lexical.seq:
            notes.append(f"BM25 is {lag} changes behind: {why or 'another process is writing'}")
        lexical, dense = lexical.snapshot(), dense.snapshot()
        complete = lexical.seq == dense.seq == seq
        by_lang = store.chunks_by_lang()
        stored, found = sum(chunks for _, chunks in by_lang), len(lexical)
        if complete and stored != found:
            raise Damaged(
                f"{self._folder}: its documents have {stored} chunks, and BM25 has {found}; `crx "
                "verify` lists damage of the database, `crx rebuild` makes BM25 anew"
            )
        searcher = FileSearcher(
            store,
            lexical,
            dense,
            seq=lexical.seq,
            langs=[lang for lang, _ in by_lang if lang],
            complete=complete,
        )
        return Snapshot(searcher, store)

    def _opened_or_rebuilt(
        self, store: _native.Store, notes: list[str]
    ) -> tuple[_native.Lexical, _native.Dense]:
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
                f"{self._folder}: BM25 is damaged and cannot be rebuilt here: {why}"
            ) from None

    def _opened(self, store: _native.Store) -> tuple[_native.Lexical, _native.Dense]:
        """Return both legs for reading, BM25 at its last commit; raises `Damaged`."""
        if self._dense is None:
            self._dense = self._open_dense(write=False)
        try:
            if self._lexical is None:
                self._lexical = self._open_lexical(write=False)
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
        if not self._access.take_for_catch_up():
            return "another thread is writing"
        try:
            with contextlib.closing(self._open_writer(0.0)) as writer:
                writer.sync()
        except (Locked, NoRoom, SystemFailure) as error:
            return str(error)
        finally:
            self._access.release()
        return ""

    def _open_writer(self, wait_s: float) -> Writer:
        store = self._open_store(wait_s)
        try:
            return Writer(
                store,
                self._open_lexical(write=True),
                self._open_dense(write=True),
                on_bm25_commit=partial(record_files, self._bm25),
            )
        except BaseException:
            store.close()
            raise

    def _open_store(self, wait_s: float) -> _native.Store:
        """Open the store for writing; waits for a lock that is younger than `wait_s`."""
        latest = time.monotonic() + wait_s
        while True:
            try:
                return open_store(self._folder, write=True)
            except Locked:
                if time.monotonic() >= latest or self._lock_age_s() >= wait_s:
                    raise
            time.sleep(LOCK_POLL_S)

    def _lock_age_s(self) -> float:
        """Return for how long the lock has been held: its file is written when it is taken."""
        return time.time() - (self._folder / "lock").stat().st_mtime

    def _open_lexical(self, *, write: bool) -> _native.Lexical:
        return open_bm25(self._bm25, write=write)

    def _open_dense(self, *, write: bool) -> _native.Dense:
        return _native.Dense.open(
            str(self._folder / "derived"),
            seal_key=seal_key(),
            write=write,
            ann_above=self._vectors.ann_above,
        )

    def _refuse_lost_log(self) -> None:
        if self._store.log_lost:
            raise Damaged(self._lost_log())

    def _lost_log(self) -> str:
        return (
            f"{self._folder}: crx.db was being written and its crx.db-wal is missing, so the last "
            f'changes are lost; put crx.db-wal beside it, restore a copy made by "crx backup", '
            f'or accept crx.db as it is with "crx verify"'
        )

    def _older_store(self, seq: int) -> str:
        return (
            f"{self._folder}: crx.db is at change {self._store.seq}, older than its derived files "
            f"at change {seq}: it was restored from a copy, or crx.db-wal was lost; "
            f'"crx verify" accepts crx.db as it is and rebuilds the derived files'
        )


class OpenFiles(NamedTuple):
    """The open files of an index folder, for reading."""

    store: _native.Store
    derived: DerivedFiles

    @staticmethod
    def open(folder: Path, vectors: VectorFiles) -> OpenFiles:
        """Open the files; raises as `open_store`."""
        store = open_store(folder)
        return OpenFiles(store, DerivedFiles(folder, store, vectors=vectors))

    def settings(self) -> dict[str, str]:
        """Return the settings that the index was built with, by name."""
        return self.store.settings()

    def close(self) -> None:
        """Release the files."""
        self.derived.close()
        self.store.close()


def verify_files(
    files: OpenFiles, *, load_embedder: Callable[[], Embedder], deep: bool
) -> Verification:
    """Check every row against its hash; repair damaged vectors, then derived files.

    See `Index.verify`. After a repair the files must be opened again.
    """
    from crx.ingest.repair import name_vectors, repair_vectors  # not imported for a search

    faults = files.store.verify()
    repaired: list[str] = []
    if name_vectors(faults):
        with files.derived.recovering() as writer:
            faults, repaired = repair_vectors(writer.store, load_embedder=load_embedder)
            writer.sync()
    if faults:
        return Verification(tuple(fact(fault) for fault in faults), tuple(repaired))
    if damaged := files.derived.damaged():
        with files.derived.recovering() as writer:
            writer.publish()
    if deep and not damaged and (damaged := files.derived.unfound()):
        files.derived.rebuild()
    rebuilt = [f"{fact(line)}; made anew" for line in damaged]
    return Verification((), (*repaired, *rebuilt))


def seal_key() -> bytes:
    """Return this user's 32-byte key for the hashes of derived files, made on first use.

    It is kept outside every index, so that a folder from elsewhere cannot bring valid hashes of
    its own. If it cannot be kept, each process has another key and derived files are rebuilt.
    """
    path = user_file(os.environ).with_name("seal.key")
    with contextlib.suppress(OSError):
        if not _is_key(path):
            _make_key(path)
    try:
        key = path.read_bytes()
    except OSError:
        return _EPHEMERAL_KEY
    return key if len(key) == _KEY_BYTES else _EPHEMERAL_KEY


def _is_key(path: Path) -> bool:
    return path.exists() and path.stat().st_size == _KEY_BYTES


def _make_key(path: Path) -> None:
    """Make a key in a file that is whole or missing, also if this process or the power fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(os.urandom(_KEY_BYTES))
        file.flush()
        os.fsync(handle)
    path.unlink(missing_ok=True)  # an earlier version could leave an empty file
    try:
        os.link(aside, path)  # of two processes, one makes the key
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(aside, path)
    aside.unlink(missing_ok=True)


_KEY_BYTES = 32
_EPHEMERAL_KEY = os.urandom(_KEY_BYTES)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WriteAccess.forget_parent)


def fact(message: str) -> str:
    """Return an error message without its next step."""
    return message.partition("; ")[0]
