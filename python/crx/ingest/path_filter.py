"""Filters on the paths of documents, for paths that a store keeps relative to a folder.

A condition is translated to the stored form of paths if that is exact: equality, and prefixes and
globs below the folder. Any other is tested here, path by path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import ge, gt, le, lt

# Fields of a filter that hold paths: a document's URI, its URI without "#id", its file.
PATH_FIELDS = ("uri", "source", "path")

_WILDCARD = re.compile(r"[*?\[]")
_ORDER: dict[str, Callable[[str, str], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def operators_of(condition: object) -> dict[str, object]:
    """Return a condition as an object of operators: a text with wildcards is a glob."""
    if isinstance(condition, Mapping):
        return dict(condition)
    if isinstance(condition, list):
        return {"in": condition}
    if isinstance(condition, str) and _WILDCARD.search(condition):
        return {"glob": condition}
    return {"=": condition}


def translate(
    operators: Mapping[str, object], *, folder: str, store: Callable[[str], str]
) -> dict[str, object] | None:
    """Return operators on the stored form of paths below a folder, None if that is not exact."""
    translated: dict[str, object] = {}
    for name, value in operators.items():
        if name in ("=", "!=") and isinstance(value, str):
            translated[name] = store(value)
        elif name == "in" and isinstance(value, list):
            translated[name] = [store(each) if isinstance(each, str) else each for each in value]
        elif name in ("prefix", "glob") and isinstance(value, str):
            inside = folder.rstrip("/") + "/"
            if not value.startswith(inside) or (name == "glob" and _WILDCARD.search(inside)):
                return None
            translated[name] = f"./{value.removeprefix(inside)}"
        else:
            return None
    return translated


def matches(path: str | None, operators: Mapping[str, object]) -> bool:
    """Return True if a path meets every operator, of those that the store accepts.

    A document without a path (None) meets only `!=`.
    """
    if path is None:
        return set(operators) == {"!="}
    return all(_meets(path, name, value) for name, value in operators.items())


def _meets(path: str, name: str, value: object) -> bool:
    if name in ("=", "!="):
        return (path == value) == (name == "=")
    if name == "in":
        return isinstance(value, list) and path in value
    if not isinstance(value, str):
        return False  # a number: no path is one
    if name == "glob":
        return compile_glob(value).fullmatch(path) is not None
    return path.startswith(value) if name == "prefix" else _ORDER[name](path, value)


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
