"""Ids of documents: the name of the index, the row, and a check of the URI.

An id names one document of one index and nothing else: it is no path, the id of a document that
was replaced is refused, and so is that of another index.
"""

from __future__ import annotations

import re

from crx import _native
from crx.errors import NotFound

_ID = re.compile(r"(?P<index>[A-Za-z0-9_.-]+)-(?P<row>[0-9]{1,18})-(?P<check>[0-9a-f]{8})")


def make_document_id(index: str, row: _native.DocumentRow) -> str:
    """Return the id of a document of the index of that name."""
    return f"{index}-{row.doc}-{_check(index, row.doc, row.uri)}"


def parse_document_id(given: str) -> tuple[str, int]:
    """Return the index and the row that an id names; raises `NotFound` for any other text."""
    found = _ID.fullmatch(given)
    if found is None:
        raise NotFound(f"{given[:100]}: not the id of a document; take one from a search or list")
    return found["index"], int(found["row"])


def is_id_of(given: str, index: str, row: _native.DocumentRow) -> bool:
    """Return whether an id is that of this document, and not of one that had its row before."""
    return given == make_document_id(index, row)


def _check(index: str, doc: int, uri: str) -> str:
    return _native.digest(index.encode(), str(doc).encode(), uri.encode())[:4].hex()
