"""Addresses of indexes that are kept by a database server."""

from __future__ import annotations

import re

_SCHEMES = ("postgresql", "postgres")
_ADDRESS = re.compile(rf"(?:{'|'.join(_SCHEMES)})://", re.IGNORECASE)


def is_engine_address(text: object) -> bool:
    """Return whether a text is the URL of a database, and not the path of a folder."""
    return isinstance(text, str) and _ADDRESS.match(text) is not None


def without_password(url: str) -> str:
    """Return a URL as it may be shown."""
    return re.sub(r"(//[^:@/]*):[^@/]*@", r"\1@", url)
