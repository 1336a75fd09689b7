"""Conditions and globs on the paths of documents, with the rules of the store's filters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from crx import _native

# Fields of a filter that hold paths: a document's URI, its URI without "#id", its file.
PATH_FIELDS = ("uri", "source", "path")

_WILDCARD = re.compile(r"[*?\[]")


def operators_of(condition: object) -> dict[str, object]:
    """Return a condition as an object of operators: a text with wildcards is a glob."""
    if isinstance(condition, Mapping):
        return dict(condition)
    if isinstance(condition, list):
        return {"in": condition}
    if isinstance(condition, str) and _WILDCARD.search(condition):
        return {"glob": condition}
    return {"=": condition}


@lru_cache(maxsize=256)
def compile_glob(pattern: str) -> _native.Glob:
    """Return a glob, with the rules of the store.

    `*`, `?` and `[...]` stay within a folder, `**` crosses folders. Raises `ValueError` for a "["
    without "]", and for more than 1,000 characters.
    """
    return _native.Glob(pattern)
