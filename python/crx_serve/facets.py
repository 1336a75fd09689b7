"""What the documents of an index are: formats, languages and folders with counts, the newest."""

from __future__ import annotations

import contextlib
import heapq
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Protocol

import orjson

from crx import _native
from crx._index.handle import Index
from crx.errors import CrxError
from crx_serve.document_ids import make_document_id

# Seconds for which the values of an index are not read again while it changes.
_KEPT_S = 30.0
# Documents of an index that are listed as the newest.
NEWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentDocument:
    """A document whose file was changed at a time, in seconds."""

    changed_s: float
    id: str
    uri: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """Counts of documents by format, by language and by the folder that they are directly in.

    `folder` is that of all files. A URL is in the folder of its host.
    """

    documents: int = 0
    formats: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    folders: Mapping[str, int] = field(default_factory=dict)
    indexes: Mapping[str, int] = field(default_factory=dict)
    has_dates: bool = False
    folder: str = ""
    newest: tuple[RecentDocument, ...] = ()

    def folders_in(self, parent: str) -> Mapping[str, int]:
        """Return the folders directly in one, with all documents below each, largest first.

        For "" they are the folders in that of all files, and the hosts of URLs.
        """
        counts: Counter[str] = Counter()
        inside = (parent or self.folder).rstrip("/") + "/"
        for folder, count in self.folders.items():
            if folder.startswith(inside) and folder != inside:
                counts[inside + folder[len(inside) :].partition("/")[0]] += count
            elif not parent and _is_url(folder):
                counts[folder] += count
        return _largest_first(counts)


@dataclass(frozen=True, slots=True)
class _Read:
    facets: Facets
    seq: int
    at: float


class IndexesByName(Protocol):
    """Indexes that have names; a service is one."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def index(self, name: str) -> Index: ...


class FacetReader:
    """Reads the facets of indexes, and keeps them until they change; any thread may use it."""

    def __init__(self, indexes: IndexesByName) -> None:
        self._indexes = indexes
        self._lock = threading.Lock()
        self._read: dict[str, _Read] = {}

    def get(self, name: str) -> Facets:
        """Return the facets of an index, of all of them for ""."""
        names = (name,) if name else self._indexes.names
        return reduce(merge_facets, [self._of(each) for each in names])

    def read_filtered(self, name: str, where: Mapping[str, object]) -> Facets:
        """Return the facets of the documents that match a filter; raises `ValueError` for it."""
        found = [Facets()]
        for each in (name,) if name else self._indexes.names:
            with contextlib.suppress(CrxError):  # the state says that an index cannot be read
                store = self._indexes.index(each).store
                selected = store.select(orjson.dumps(where).decode())
                rows = (row for row in store.documents() if row.doc in selected)
                found.append(count_documents(each, rows))
        return reduce(merge_facets, found)

    def _of(self, name: str) -> Facets:
        try:
            store = self._indexes.index(name).store
            seq = store.seq
            with self._lock:
                read = self._read.get(name)
                now = time.monotonic()
                if read is None or (read.seq != seq and now - read.at > _KEPT_S):
                    read = _Read(count_documents(name, store.documents()), seq, now)
                    self._read[name] = read
            return read.facets
        except CrxError:
            return Facets()  # the search reports why the index cannot be read


def folder_of(uri: str) -> str:
    """Return the folder of a file, the host of a URL, "" for any other URI."""
    if uri.startswith("/"):
        return os.path.dirname(uri.partition("#")[0])
    return "/".join(uri.split("/", 3)[:3]) if _is_url(uri) else ""


def count_documents(index: str, rows: Iterable[_native.DocumentRow]) -> Facets:
    """Return the facets of documents of an index."""
    formats: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    has_dates = False
    newest: list[tuple[int, _native.DocumentRow]] = []
    for row in rows:
        metadata = orjson.loads(row.metadata)
        formats[str(metadata.get("format", ""))] += 1
        languages[row.lang] += 1
        folders[folder_of(row.uri)] += 1
        has_dates = has_dates or "date" in metadata
        newest.append((row.source_mtime_ns, row))
    files = [name for name in folders if name.startswith("/")]
    return Facets(
        documents=len(newest),
        formats=_largest_first(formats),
        languages=_largest_first(languages),
        folders=folders,
        indexes={index: len(newest)},
        has_dates=has_dates,
        folder=os.path.commonpath(files) if files else "",
        newest=tuple(
            RecentDocument(
                changed_s=changed_ns / 1e9,
                id=make_document_id(index, row),
                uri=row.uri,
                title=row.title,
            )
            for changed_ns, row in heapq.nlargest(NEWEST, newest, key=lambda each: each[0])
            if changed_ns > 0
        ),
    )


def merge_facets(one: Facets, other: Facets) -> Facets:
    """Return the facets of two sets of documents together."""
    files = [each.folder for each in (one, other) if each.folder]
    return Facets(
        documents=one.documents + other.documents,
        formats=_add(one.formats, other.formats),
        languages=_add(one.languages, other.languages),
        folders=_add(one.folders, other.folders),
        indexes={**one.indexes, **other.indexes},
        has_dates=one.has_dates or other.has_dates,
        folder=os.path.commonpath(files) if files else "",
        newest=_take_newest((*one.newest, *other.newest)),
    )


def _take_newest(documents: Sequence[RecentDocument]) -> tuple[RecentDocument, ...]:
    return tuple(heapq.nlargest(NEWEST, documents, key=lambda each: each.changed_s))


def _add(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return _largest_first(Counter(one) + Counter(other))


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts without that of "", the largest first, equal ones by name."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return {name: count for name, count in ordered if name}


def _is_url(uri: str) -> bool:
    return uri.startswith(("https://", "http://"))
