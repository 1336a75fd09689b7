r"""Paths of files as URIs: absolute, with forward slashes, and always valid text.

A name on disk may hold bytes that are not UTF-8. Each such byte becomes `\x` and two hexadecimal
digits, as in `caf\xe9.md`, and a backslash that would read as one of these becomes `\x5c`, so that
every path has a URI of its own and `path_of` finds the file again.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from crx import _native

# Only bytes from 0x80 are ever escaped; `5c` before them is an escaped backslash.
_READS_AS_ESCAPE = re.compile(r"\\(?=x(?:5cx)*[89a-f][0-9a-f])")
_ESCAPE = re.compile(rb"\\x((?:5cx)*)([89a-f][0-9a-f])")


def uri_of(path: str | os.PathLike[str]) -> str:
    """Return the URI of a file or folder: its absolute path as text."""
    return escape_path(os.path.abspath(path).replace(os.sep, "/"))


def escape_path(path: str | os.PathLike[str]) -> str:
    """Return a path as valid text, absolute or relative as it is; the inverse of `path_of`."""
    doubled = _READS_AS_ESCAPE.sub(r"\\x5c", os.fspath(path))
    return os.fsencode(doubled).decode("utf-8", errors="backslashreplace")


def path_of(uri: str) -> str:
    """Return the path whose URI this is."""
    return os.fsdecode(_ESCAPE.sub(_unescape, uri.encode()))


def candidate_uris(name: str) -> tuple[str, ...]:
    """Return the URIs that a name typed by a person may mean: a URI, a path, a path as shown.

    A path is tried in the other normal forms, too: a Mac decomposes accented letters.
    """
    typed = os.fsencode(name).decode("utf-8", errors="backslashreplace")
    forms = (uri_of(unicodedata.normalize(form, path_of(typed))) for form in ("NFC", "NFD"))
    return tuple(dict.fromkeys((typed, uri_of(name), uri_of(path_of(typed)), *forms)))


def readable(path: str) -> str:
    """Return a path with U+FFFD instead of bytes that are not UTF-8, as a text file is read."""
    if path.isascii():
        return path
    return os.fsencode(path).decode("utf-8", errors="replace")


def is_below(uri: str, folder: str) -> bool:
    """Return True if a URI is that of a folder or lies below it."""
    return uri == folder or uri.startswith(folder.rstrip("/") + "/")


def describe_os_error(error: OSError) -> str:
    """Return the reason of an error in lower case, without the path."""
    return (error.strerror or type(error).__name__).lower()


def _unescape(match: re.Match[bytes]) -> bytes:
    backslashes, byte = match.groups()
    if backslashes:
        return b"\\x" + backslashes.removeprefix(b"5cx") + byte
    return bytes([int(byte, 16)])


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
