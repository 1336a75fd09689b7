"""A file that discovery found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class FoundFile(NamedTuple):
    """A file: its path, its URI, the URI of its root, its size in bytes and its time stamps.

    Programs set `mtime_ns` as they like; `changed_ns` is the system's time of the last change, or
    of the move of a folder that the file is in, if that was later. Of the many files of a pass, few
    need a `Path`, which takes longer to make than to compare the file with what is stored of it.
    """

    location: str | os.PathLike[str]
    uri: str
    root: str
    size: int
    mtime_ns: int
    changed_ns: int

    @property
    def path(self) -> Path:
        """The path."""
        return Path(self.location)
