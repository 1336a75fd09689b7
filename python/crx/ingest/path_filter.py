"""Conditions and globs on the paths of documents, with the rules of the store's filters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

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


@lru_cache(maxsize=64)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a glob, with the rules of the store.

    `*`, `?` and `[...]` stay within a folder, `**` crosses folders. Raises `ValueError` for a "["
    without "]".
    """
    parts = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            parts.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        elif pattern[at] == "[":
            text, at = _class(pattern, at)
            parts.append(text)
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])))
            at += 1
    return re.compile("".join(parts), re.DOTALL)


def _class(pattern: str, at: int) -> tuple[str, int]:
    """Return the expression of the class that starts at a "[", and where the pattern goes on."""
    negated = pattern[at + 1 : at + 2] in ("!", "^")
    first = at + 1 + negated
    end = pattern.find("]", first + 1)
    if end < 0:
        raise ValueError(f'"{pattern}": a "[" has no "]"')
    inside = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", pattern[first:end])
    return f"(?!/)[{'^' if negated else ''}{inside}]", end + 1
