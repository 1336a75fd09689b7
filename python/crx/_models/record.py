"""Records of this machine about models: files of lines beside the user's settings.

No model from elsewhere brings an entry of its own.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from crx.config import user_file

# More than anybody has models; a longer record is begun anew.
_MOST_BYTES = 1 << 20


def is_recorded(record: str, line: str) -> bool:
    """Return whether a record has a line."""
    try:
        return line in _path(record).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False


def add_to_record(record: str, line: str) -> None:
    """Add a line to a record; where that is not possible, each process does the work again."""
    path = _path(record)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        is_long = path.exists() and path.stat().st_size > _MOST_BYTES
        # One short write: lines of two processes do not mix.
        with path.open("w" if is_long else "a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def _path(record: str) -> Path:
    return user_file(os.environ).with_name(record)
