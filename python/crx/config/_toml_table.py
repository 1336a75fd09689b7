"""TOML that may have come with a folder: read without waiting, and parsed in bounded time."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

PROJECT_FILE = "crx.toml"
MOST_BYTES = 1_000_000
# Dots of a line; the time that a dotted key takes grows with the square of its parts.
_MOST_DOTS = 250


def parse_toml(content: bytes) -> dict[str, object]:
    """Return the values of a file; raises `ValueError` if it is not TOML, or nests too deeply."""
    # Most searches read no settings file.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    for number, line in enumerate(content.splitlines(), 1):
        if line.count(b".") > _MOST_DOTS and not line.lstrip().startswith(b"#"):
            raise ValueError(f"line {number} has more than {_MOST_DOTS} dots")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("nests too deeply") from None


def find_toml(path: Path) -> dict[str, object]:
    """Return the values of a file that nobody named, none if it cannot be read as TOML.

    A link is followed within the file's folder, and nothing is read that is no file.
    """
    # A pipe would block until somebody writes.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return {}
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return {}
        try:
            if not path.resolve().is_relative_to(path.parent.resolve()):
                return {}
            content = file.read(MOST_BYTES + 1)
            return {} if len(content) > MOST_BYTES else parse_toml(content)
        except (OSError, ValueError, RuntimeError):  # `resolve` meets a loop of links
            return {}
