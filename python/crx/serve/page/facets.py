"""Values that documents can be filtered by: formats, languages, and whether they have dates."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from crx import _native
from crx.errors import CrxError
from crx.serve.service import SearchService

# Seconds for which the values of an index are not read again while it changes.
_KEPT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """Formats and languages, the most frequent first, and the folder that holds all documents."""

    formats: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    has_dates: bool = False
    folder: str = ""


@dataclass(frozen=True, slots=True)
class _Read:
    facets: Facets
    seq: int
    at: float


class FacetReader:
    """Reads the facets of indexes, and keeps them until they change; any thread may use it."""

    def __init__(self, service: SearchService) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._read: dict[str, _Read] = {}

    def get(self, name: str) -> Facets:
        """Return the facets of an index, of all of them for ""."""
        names = (name,) if name else self._service.names
        found = [self._of(each) for each in names]
        return found[0] if len(found) == 1 else _merge(found)

    def _of(self, name: str) -> Facets:
        try:
            store = self._service.index(name).store
            seq = store.seq
            with self._lock:
                read = self._read.get(name)
                now = time.monotonic()
                if read is None or (read.seq != seq and now - read.at > _KEPT_S):
                    read = _Read(_read_facets(store.documents()), seq, now)
                    self._read[name] = read
            return read.facets
        except CrxError:
            return Facets()  # the search reports why the index cannot be read


def _read_facets(rows: Iterable[_native.DocumentRow]) -> Facets:
    formats: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    has_dates = False
    folders: set[str] = set()
    for row in rows:
        metadata = orjson.loads(row.metadata)
        formats[str(metadata.get("format", ""))] += 1
        languages[row.lang] += 1
        has_dates = has_dates or "date" in metadata
        if row.uri.startswith("/"):
            folders.add(os.path.dirname(row.uri))
    return Facets(
        formats=_by_frequency(formats),
        languages=_by_frequency(languages),
        has_dates=has_dates,
        folder=os.path.commonpath(folders) if folders else "",
    )


def _by_frequency(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(name for name, _ in counts.most_common() if name)


def _merge(found: Iterable[Facets]) -> Facets:
    each = list(found)
    return Facets(
        formats=tuple(dict.fromkeys(name for one in each for name in one.formats)),
        languages=tuple(dict.fromkeys(name for one in each for name in one.languages)),
        has_dates=any(one.has_dates for one in each),
    )
