"""Documents of an index of which an improvement or a part was left out, since it failed."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from crx import _native
from crx.ingest.readers.left_out import LEFT_OUT


@dataclass(frozen=True, slots=True)
class _Incomplete:
    """A document, and the names of what was left out of it."""

    uri: str
    left_out: tuple[str, ...]


def read_incomplete(store: _native.Store) -> list[_Incomplete]:
    """Return the documents of which something was left out."""
    found = store.select(orjson.dumps({LEFT_OUT: {"prefix": ""}}).decode())
    rows = store.documents() if len(found) else []
    return [_Incomplete(row.uri, _names(row.metadata)) for row in rows if row.doc in found]


def _names(metadata: str) -> tuple[str, ...]:
    """Return what was left out; a reader that cuts what is too large notes it as one text."""
    names = orjson.loads(metadata)[LEFT_OUT]
    return (names,) if isinstance(names, str) else tuple(names)
