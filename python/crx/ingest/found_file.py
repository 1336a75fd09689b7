"""A file that discovery found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file: its path, its URI, the URI of its root, its size in bytes and its time stamps.

    Programs set `mtime_ns` as they like; `changed_ns` is the system's time of the last change, or
    of the move of a folder that the file is in, if that was later.
    """

    path: Path
    uri: str
    root: str
    size: int
    mtime_ns: int
    changed_ns: int
