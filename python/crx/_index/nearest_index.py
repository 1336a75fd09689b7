"""The index folder that is meant if none is named.

This module is imported by every command, so it imports little.
"""

from __future__ import annotations

import os
from stat import S_ISREG

FOLDER = ".crx"


def nearest_index(here: str) -> str | None:
    """Return the index `.crx` in a folder or the nearest one above it, None if there is none."""
    folder = here
    while not _has_index(folder):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return os.path.join(folder, FOLDER)


def _has_index(folder: str) -> bool:
    """Return whether a folder has an index, also if that may not be read."""
    index = os.path.join(folder, FOLDER)
    try:
        return S_ISREG(os.stat(os.path.join(index, "crx.db")).st_mode)
    except PermissionError:
        return os.path.isdir(index)
    except OSError:
        return False
