"""The user's indexes: a list beside the settings, which `crx index` keeps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crx.config.files import replace_text, user_file


def read_own_indexes(environ: Mapping[str, str]) -> list[Path]:
    """Return the indexes that are still there, in the order in which they were made."""
    try:
        lines = _file(environ).read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    except FileNotFoundError:
        return []
    return [Path(line) for line in lines if line and os.path.isdir(line)]


def remember_index(index: Path, environ: Mapping[str, str]) -> None:
    """Add an index to the list, unless it is there; those that are gone leave it."""
    known = read_own_indexes(environ)
    path = Path(os.path.realpath(index))
    if path not in known and "\n" not in str(path):
        replace_text(_file(environ), "".join(f"{each}\n" for each in (*known, path)))


def _file(environ: Mapping[str, str]) -> Path:
    return user_file(environ).with_name("indexes.txt")
