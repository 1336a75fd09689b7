"""Store whose URIs of files below a folder are kept relative to it.

A folder of documents that is moved or copied together with its index then keeps its documents: in
`crx.db`, `docs/a.md` beside the index is `./docs/a.md`; everywhere else it is an absolute path. The
folder is the base: the one that holds the index. If an index was moved without its documents, the
base is still the folder where they are.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import orjson
from numpy.typing import NDArray

from crx import _native
from crx.errors import NoRoom, NotAnIndex
from crx.ingest.path_filter import PATH_FIELDS, matches, operators_of, translate
from crx.ingest.paths import is_below, path_of, uri_of

# The setting that holds the base that URIs were last written with.
BASE = "base"

# Documents put that a store remembers.
RECENT = 3

_RELATIVE = "./"
# Documents whose files are looked for to find out whether an index was moved with its documents.
_SAMPLE = 10
_SAMPLE_IDS = 100


class Base(NamedTuple):
    """The folder that stored URIs are relative to, as a URI; "" if none is."""

    uri: str = ""

    def store(self, uri: str) -> str:
        """Return the stored form of a URI."""
        if uri.startswith(_RELATIVE):
            return f"{_RELATIVE}{uri}"  # no path of a file: kept apart from those
        if self.uri and is_below(uri, self.uri):
            return _RELATIVE + uri[len(self.uri.rstrip("/")) + 1 :]
        return uri

    def load(self, stored: str) -> str:
        """Return the URI of a stored form."""
        if not self.uri or not stored.startswith(_RELATIVE):
            return stored
        rest = stored.removeprefix(_RELATIVE)
        if rest.startswith(_RELATIVE):
            return rest
        return f"{self.uri.rstrip('/')}/{rest}" if rest else self.uri


class _LocatedRow:
    """A row of the store with its URI, and the path in its metadata, made absolute."""

    __slots__ = ("_base", "_row")

    def __init__(self, row: _native.DocumentRow | _native.ChunkRow, base: Base) -> None:
        self._row = row
        self._base = base

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)

    # Read for every hit of a search, and faster than by `__getattr__`.
    key = property(attrgetter("_row.key"))
    doc = property(attrgetter("_row.doc"))
    lang = property(attrgetter("_row.lang"))
    ordinal = property(attrgetter("_row.ordinal"))
    start = property(attrgetter("_row.start"))
    end = property(attrgetter("_row.end"))
    title = property(attrgetter("_row.title"))
    text = property(attrgetter("_row.text"))
    outline = property(attrgetter("_row.outline"))
    context = property(attrgetter("_row.context"))

    @property
    def uri(self) -> str:
        return self._base.load(self._row.uri)

    @property
    def metadata(self) -> str:
        return _map_path(cast(_native.DocumentRow, self._row).metadata, self._base.load)


class LocatedStore:
    """A store that takes and gives absolute URIs; all else is that of `_native.Store`.

    An index of an earlier version has absolute URIs only, until it is opened for writing.
    """

    def __init__(self, native: _native.Store, base: Base) -> None:
        self.native = native
        self.base = base
        # Documents that were put last, by id: the canaries of a run.
        self.recent: deque[int] = deque(maxlen=RECENT)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)

    def documents(self) -> list[_native.DocumentRow]:
        return [self._locate(row) for row in self.native.documents()]

    def document(self, uri: str) -> _native.DocumentRow | None:
        row = self.native.document(self.base.store(uri)) or self.native.document(uri)
        return row and self._locate(row)

    def document_by_id(self, doc: int) -> _native.DocumentRow | None:
        row = self.native.document_by_id(doc)
        return row and self._locate(row)

    def chunks(self, keys: NDArray[np.int64]) -> list[_native.ChunkRow]:
        return [
            cast(_native.ChunkRow, _LocatedRow(row, self.base)) for row in self.native.chunks(keys)
        ]

    def put_document(self, *, uri: str, metadata: str, **columns: Any) -> int:
        doc = self.native.put_document(
            uri=self.base.store(uri), metadata=_map_path(metadata, self.base.store), **columns
        )
        self.recent.append(doc)
        return doc

    def touch_document(self, uri: str, *, source_mtime_ns: int, source_size: int) -> None:
        self.native.touch_document(
            self.base.store(uri), source_mtime_ns=source_mtime_ns, source_size=source_size
        )

    def rename_document(self, old: str, new: str, *, metadata: str, source_mtime_ns: int) -> None:
        self.native.rename_document(
            self.base.store(old),
            self.base.store(new),
            metadata=_map_path(metadata, self.base.store),
            source_mtime_ns=source_mtime_ns,
        )

    def remove_documents(self, uris: Sequence[str]) -> int:
        return self.native.remove_documents([self.base.store(uri) for uri in uris])

    def record_failure(self, uri: str, reason: str) -> None:
        self.native.record_failure(self.base.store(uri), reason)

    def failures(self) -> list[tuple[str, str]]:
        return [(self.base.load(uri), reason) for uri, reason in self.native.failures()]

    def select(self, where: str) -> _native.Filter:
        conditions = orjson.loads(where)
        on_paths = {field: conditions[field] for field in PATH_FIELDS if field in conditions}
        if not on_paths or BASE not in self.native.settings():
            return self.native.select(where)  # in an index of an earlier version paths are absolute
        self.native.select(orjson.dumps(on_paths).decode())  # raises for a malformed condition
        operators = {field: operators_of(condition) for field, condition in on_paths.items()}
        for field, each in operators.items():
            translated = translate(each, folder=self.base.uri, store=self.base.store)
            if translated is None:
                return self._select_one_by_one(conditions, operators)
            conditions[field] = translated
        return self.native.select(orjson.dumps(conditions).decode())

    def _select_one_by_one(
        self, conditions: dict[str, object], operators: dict[str, dict[str, object]]
    ) -> _native.Filter:
        """Select by paths that are tested here, and by the other conditions in the store."""
        found = []
        for row in self.native.documents():
            uri = self.base.load(row.uri)
            path = orjson.loads(row.metadata).get("path")
            values = {
                "uri": uri,
                "source": uri.rpartition("#")[0] or uri,
                "path": self.base.load(path) if isinstance(path, str) else None,
            }
            if all(matches(values[field], each) for field, each in operators.items()):
                found.append(row.uri)
        others = {field: each for field, each in conditions.items() if field not in PATH_FIELDS}
        return self.native.select(orjson.dumps({**others, "uri": {"in": found}}).decode())

    def _locate(self, row: _native.DocumentRow) -> _native.DocumentRow:
        return cast(_native.DocumentRow, _LocatedRow(row, self.base))


def open_store(folder: Path, *, write: bool = False) -> _native.Store:
    """Open the store of an index, with absolute URIs; raises as `_native.Store.open`.

    Opened for writing, the store notes its base, and the URIs of an index of an earlier version
    become relative.
    """
    native = open_native(folder, write=write)
    settings = native.settings()
    base = _find_base(native, folder, recorded=settings.get(BASE, ""))
    if write and settings.get(BASE) != base.uri:
        if BASE not in settings:
            _make_relative(native, base)
        native.set_settings({**settings, BASE: base.uri})
    # It has every method of `_native.Store`, its own or passed on, but cannot inherit from it.
    return cast(_native.Store, LocatedStore(native, base))


def open_native(folder: Path, *, write: bool = False) -> _native.Store:
    """Open the store of an index; raises as `_native.Store.open`.

    A loss of power while an index is created leaves SQLite's rollback journal, which only a writer
    may apply: for a reader that is no index yet. Later changes go through the write-ahead log.
    """
    try:
        return _native.Store.open(os.fspath(folder), write=write)
    except NoRoom as refused:
        if write or not (folder / "crx.db-journal").exists():
            raise
        raise NotAnIndex(
            f"{folder}: its creation was interrupted; "
            f"`crx index PATH... --index {folder}` completes it"
        ) from refused


def native_store(store: _native.Store) -> _native.Store:
    """Return the store that the legs read."""
    return store.native if isinstance(store, LocatedStore) else store


def recent_documents(store: _native.Store) -> list[int]:
    """Return the ids of the documents that were put last."""
    return list(store.recent) if isinstance(store, LocatedStore) else []


def base_of(store: _native.Store) -> Base:
    """Return the base of a store."""
    return store.base if isinstance(store, LocatedStore) else Base()


def _find_base(store: _native.Store, folder: Path, *, recorded: str) -> Base:
    """Return the folder that holds the index, or the recorded base if the documents are there."""
    here = uri_of(folder.parent)
    if recorded in ("", here):
        return Base(here)
    paths = _sample_paths(store)
    found = {uri: _count_files(paths, Base(uri)) for uri in (here, recorded)}
    return Base(recorded if found[recorded] > found[here] else here)


def _sample_paths(store: _native.Store) -> list[str]:
    """Return the stored paths of a few files."""
    rows = filter(None, map(store.document_by_id, range(1, _SAMPLE_IDS)))
    paths = _relative_paths(rows)
    return (paths or _relative_paths(store.documents()))[:_SAMPLE]


def _relative_paths(rows: Iterable[_native.DocumentRow]) -> list[str]:
    paths = (orjson.loads(row.metadata).get("path") for row in rows)
    return [path for path in paths if isinstance(path, str) and path.startswith(_RELATIVE)]


def _count_files(paths: Sequence[str], base: Base) -> int:
    return sum(os.path.lexists(path_of(base.load(path))) for path in paths)


def _make_relative(store: _native.Store, base: Base) -> None:
    """Make the URIs and paths below the base relative; contexts and vectors stay."""
    for row in store.documents():
        metadata = _map_path(row.metadata, base.store)
        if (base.store(row.uri), metadata) != (row.uri, row.metadata):
            store.rename_document(
                row.uri,
                base.store(row.uri),
                metadata=metadata,
                source_mtime_ns=row.source_mtime_ns,
            )
    failures = store.failures()
    for uri, reason in failures:
        if (stored := base.store(uri)) != uri:
            store.remove_documents([uri])
            store.record_failure(stored, reason)


def _map_path(metadata: str, change: Callable[[str], str]) -> str:
    """Return metadata (a JSON object with sorted keys) with its path changed."""
    parsed = orjson.loads(metadata)
    if not isinstance(parsed.get("path"), str):
        return metadata
    parsed["path"] = change(parsed["path"])
    return orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS).decode()
