"""The index folder that is meant if none is named.

This module is imported by every command, so it imports little.
"""

from __future__ import annotations

import os

FOLDER = ".crx"


def nearest_index(here: str) -> str | None:
    """Return the index `.crx` in a folder or the nearest one above it, None if there is none."""
    folder = here
    while not os.path.isfile(os.path.join(folder, FOLDER, "crx.db")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return os.path.join(folder, FOLDER)
