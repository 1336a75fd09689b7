"""Descriptions of folders: the table `[folders]` of a settings file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from crx._controls import CONTROLS
from crx.config._toml_table import PROJECT_FILE, find_toml
from crx.errors import UsageError

FOLDERS = "folders"
MOST_CHARS = 200
_UNSHOWN = re.compile(CONTROLS)


@dataclass(frozen=True, slots=True)
class FolderDescriptions:
    """Descriptions by absolute folder, and the folder of the project whose file gave them.

    Documents below the project's folder have the description that the file gives now, or none;
    other documents keep theirs, as do those of a project within it that describes folders itself.
    `project` is "" if there is none.
    """

    by_folder: Mapping[str, str] = field(default_factory=dict)
    project: str = ""
    # Whether a folder has a settings file of its own that describes folders.
    _own: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    def of(self, path: str, *, present: str) -> str:
        """Return the description of a file: that of the innermost folder with one, "" for none.

        `present` is what it has now.
        """
        if not self:
            return present
        folder = path
        while (above := os.path.dirname(folder)) != folder:
            folder = above
            if folder != self.project and self._describes_itself(folder):
                return present
            if folder in self.by_folder:
                return self.by_folder[folder]
            if folder == self.project:
                return ""
        return present

    def _describes_itself(self, folder: str) -> bool:
        if folder not in self._own:
            self._own[folder] = FOLDERS in find_toml(Path(folder, PROJECT_FILE))
        return self._own[folder]

    def afresh(self) -> FolderDescriptions:
        """Return these descriptions for another run, which looks again at what is in folders."""
        return replace(self, _own={})

    def fingerprint(self) -> str:
        """Return what tells these descriptions from others, "" for none.

        The folders that describe themselves, of those looked at, are part of it.
        """
        own = sorted(folder for folder, describes in self._own.items() if describes)
        return orjson.dumps([*self._given(), own]).decode() if self else ""

    def recall(self, fingerprint: str) -> None:
        """Look again at the folders of a fingerprint of these descriptions."""
        match orjson.loads(fingerprint or "[]"):
            case [*given, list(own)] if given == self._given():
                for folder in own:
                    self._describes_itself(folder)

    def _given(self) -> list[object]:
        return [self.project, [[*each] for each in sorted(self.by_folder.items())]]

    def __bool__(self) -> bool:
        return bool(self.by_folder or self.project)


NO_DESCRIPTIONS = FolderDescriptions()


def parse_descriptions(path: Path, table: object) -> dict[str, str]:
    """Return the descriptions of a settings file by folder; folders are relative to the file.

    Control characters and marks of direction are removed, white space is collapsed. Raises
    `UsageError` if the table has anything but descriptions of at most 200 characters.
    """
    example = f'{path}: [{FOLDERS}] wants lines like "contracts/2023" = "signed supply contracts"'
    if not isinstance(table, dict):
        raise UsageError(example)
    found: dict[str, str] = {}
    for folder, text in table.items():
        if not isinstance(text, str):
            raise UsageError(example)
        description = " ".join(_UNSHOWN.sub(" ", text).split())
        if len(description) > MOST_CHARS:
            raise UsageError(
                f"{path}: [{FOLDERS}] {folder!r}: {len(description)} characters; a description "
                f"has at most {MOST_CHARS}"
            )
        found[os.path.normpath(path.absolute().parent / folder)] = description
    return found


def describe_outside(path: Path, descriptions: Mapping[str, str]) -> bool:
    """Return whether a settings file describes a folder that is not at or below its own."""
    here = path.absolute().parent
    return any(not Path(folder).is_relative_to(here) for folder in descriptions)
