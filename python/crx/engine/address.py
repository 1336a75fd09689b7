"""Addresses of indexes that are kept by a database."""

from __future__ import annotations

import re

_MILVUS = re.compile(r"milvus://|milvus-lite:", re.IGNORECASE)
_POSTGRES = re.compile(r"(?:postgresql|postgres)://", re.IGNORECASE)


def is_engine_address(text: object) -> bool:
    """Return whether a text is the URL of a database, and not the path of a folder."""
    return isinstance(text, str) and (is_milvus_address(text) or _POSTGRES.match(text) is not None)


def is_milvus_address(text: str) -> bool:
    """Return whether a text is the URL of Milvus or of Milvus Lite."""
    return _MILVUS.match(text) is not None


def without_password(url: str) -> str:
    """Return a URL as it may be shown."""
    return re.sub(r"(//[^:@/]*):[^@/]*@", r"\1@", url)
