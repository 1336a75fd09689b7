"""Append-only archive of the contexts that models wrote, beside the database.

It is the file `contexts.jsonl` of an index folder: a second copy of what costs the most to make
again, for a database that is lost. Each line is a record as `crx export` writes it, with four more
fields: the `key` of the context in the cache (`crx._context.cache`), by which a document that is
added again finds it; its `outcome`; `refresh`, on which the key depends; and a `hash` of the rest.

A line is appended after its context was committed. A line that a kill or a loss of power left out
is appended by the next run of the same model; one that was torn is cut off. Only `crx salvage`
takes contexts from an archive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from crx import _native
from crx._context.cache import REFRESH, Origin, Refresh, with_older_origins
from crx._context.controls import has_controls
from crx._context.records import Record, parse_fields, to_fields, to_record
from crx.types import Context

FILE = "contexts.jsonl"

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class ArchivedContext:
    """A context that was committed: its record, its key, its outcome and its `Refresh`."""

    record: Record
    key: bytes
    outcome: str
    refresh: Refresh

    @property
    def origin(self) -> Origin:
        """The origin by which the cache finds the context."""
        return Origin(self.record.generator, self.refresh)


@dataclass(frozen=True, slots=True)
class ArchiveContent:
    """The intact lines of an archive, in their order, and the number of damaged ones.

    `whole_bytes` is the size without a torn last line.
    """

    contexts: tuple[ArchivedContext, ...]
    damaged: int
    whole_bytes: int


class ContextArchive:
    """The archive of an index folder, to append to; the caller holds the writer's lock.

    Every method raises `NoRoom` or `SystemFailure`. At the end of its `with` block, the archive is
    on the disk.
    """

    def __init__(self, folder: Path) -> None:
        self._file = _native.AppendFile.open(folder, FILE)
        try:
            content = _parse(self._file.read())
            self._file.truncate(content.whole_bytes)  # cuts off a torn line
        except BaseException:
            self._file.close()
            raise
        self._keys = {context.key for context in content.contexts}

    def __enter__(self) -> ContextArchive:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.sync()
        finally:
            self._file.close()

    def add(self, context: ArchivedContext) -> None:
        """Append a context, unless the archive has it or it has no text that may be read back."""
        text = context.record.context
        if not text or has_controls(text) or context.key in self._keys:
            return
        self._file.append(_line(context))
        self._keys.add(context.key)

    def sync(self) -> None:
        """Put what was appended on the disk."""
        self._file.sync()


def read_archive(folder: Path) -> ArchiveContent:
    """Return what the archive of an index folder contains; nothing if there is none.

    Raises `SystemFailure` if it cannot be read, and `Damaged` if it is a link or a pipe.
    """
    return _parse(_native.read_file(folder, FILE) or b"")


def restore_contexts(store: _native.Store, contexts: Iterable[ArchivedContext]) -> int:
    """Put the contexts that a store lacks, so that documents which are added again find them.

    Returns how many there were.
    """
    archived = {context.key: context for context in contexts}
    known = store.contexts(list(archived))
    missing = [
        context for context, row in zip(archived.values(), known, strict=True) if row is None
    ]
    store.put_contexts([(m.key, m.record.generator, m.outcome, m.record.context) for m in missing])
    newest_first = [context.origin for context in reversed(archived.values())]
    store.set_settings({**store.settings(), **with_older_origins(store.settings(), newest_first)})
    return len(missing)


def drop_unused_contexts(folder: Path, store: _native.Store) -> None:
    """Replace the archive by one of what the store has; the caller holds the writer's lock."""
    content = read_archive(folder)
    known = store.contexts([context.key for context in content.contexts])
    kept = [
        context for context, row in zip(content.contexts, known, strict=True) if row is not None
    ]
    if len(kept) < len(content.contexts):
        _replace(folder, kept)


def drop_damaged_lines(folder: Path) -> None:
    """Replace the archive by one of its intact lines; the caller holds the writer's lock."""
    content = read_archive(folder)
    if content.damaged:
        _replace(folder, content.contexts)


def _replace(folder: Path, contexts: Iterable[ArchivedContext]) -> None:
    _native.replace_file(folder, FILE, b"".join(map(_line, contexts)))


def _parse(content: bytes) -> ArchiveContent:
    whole_bytes = content.rfind(b"\n") + 1
    contexts: list[ArchivedContext] = []
    damaged = 0
    for line in content[:whole_bytes].splitlines():
        try:
            contexts.append(_context(line))
        except ValueError:
            damaged += 1
    return ArchiveContent(tuple(contexts), damaged, whole_bytes)


def _context(line: bytes) -> ArchivedContext:
    """Return the context of a line; raises `ValueError` unless it is as it was written."""
    fields = parse_fields(line)
    if not all(isinstance(value, (str, int)) for value in fields.values()):
        raise ValueError("not a line of an archive")
    if fields.pop("hash", None) != _hash(fields):
        raise ValueError("the hash does not match")
    record = to_record(fields)
    key, refresh, outcome = (str(fields.get(name)) for name in ("key", "refresh", "outcome"))
    if refresh not in REFRESH or len(bytes.fromhex(key)) != _KEY_BYTES or not record.generator:
        raise ValueError("not a line of an archive")
    Context.stored(record.context, outcome)
    return ArchivedContext(record, bytes.fromhex(key), outcome, refresh)


def _line(context: ArchivedContext) -> bytes:
    fields: dict[str, object] = {
        **to_fields(context.record),
        "key": context.key.hex(),
        "outcome": context.outcome,
        "refresh": context.refresh,
    }
    return orjson.dumps({**fields, "hash": _hash(fields)}, option=orjson.OPT_APPEND_NEWLINE)


def _hash(fields: dict[str, object]) -> str:
    return _native.digest(orjson.dumps(fields)).hex()
