"""Which paths a batch of events makes worth a visit."""

from __future__ import annotations

import os
from collections.abc import Iterable

from crx.ingest.ignore import IGNORE_FILES, FolderPatterns, matches_name


class EventFilter:
    """Turns the paths of events into the paths to visit.

    Hidden files and folders are no documents, and the index itself changes with every visit. A
    file that decides about others, such as `.gitignore`, stands for its whole folder.
    """

    def __init__(self, roots: Iterable[str], *, index: str, skip_folders: FolderPatterns) -> None:
        self._roots = tuple(root.rstrip(os.sep) or os.sep for root in roots)
        self._index = os.path.realpath(index)
        self._markers = [entry for _, entry, _ in skip_folders.patterns if entry]

    def paths_to_visit(self, paths: Iterable[str]) -> set[str]:
        """Return the paths to visit for events at some paths."""
        return {found for path in paths if (found := self._path_to_visit(path))}

    def _path_to_visit(self, path: str) -> str:
        """Return the path to visit for an event, or ""."""
        if _is_below(os.path.realpath(path), self._index):
            return ""
        root = max((r for r in self._roots if _is_below(path, r)), key=len, default="")
        if not root:
            return ""
        *folders, name = ["", *path[len(root) :].strip(os.sep).split(os.sep)]
        if any(folder.startswith(".") for folder in folders):
            return ""
        if name in IGNORE_FILES or any(matches_name(marker, name) for marker in self._markers):
            return os.path.dirname(path)
        return "" if name.startswith(".") else path


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
