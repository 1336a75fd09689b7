"""Paths that a pass is limited to: what is at and below them, and the folders that lead there."""

from __future__ import annotations

import os
from collections.abc import Iterable


class PathSelection:
    """Absolute paths that a pass is limited to."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._paths = frozenset(map(os.path.abspath, paths))
        self._leading = frozenset(above for path in self._paths for above in _folders_above(path))

    def __len__(self) -> int:
        return len(self._paths)

    def includes(self, path: str) -> bool:
        """Return True for a path that was selected itself."""
        return path in self._paths

    def leads_to(self, path: str) -> bool:
        """Return True for a folder in which, at some depth, a path was selected."""
        return path in self._leading

    def covers(self, path: str) -> bool:
        """Return True for a path that was selected, or is below one that is."""
        return path in self._paths or any(above in self._paths for above in _folders_above(path))


def _folders_above(path: str) -> list[str]:
    """Return the folders that a path is in, the nearest first."""
    found = []
    while (above := os.path.dirname(path)) != path:
        found.append(above)
        path = above
    return found
