"""One index behind a name, opened again if its files are replaced while the server runs."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from crx._index import handle
from crx._index.handle import Index
from crx.errors import NotAnIndex, UsageError
from crx.plugins import is_engine_address, without_password

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")

# The device and inode of crx.db: another one is another index.
Identity = tuple[int, int]


class ServedIndex:
    """An index that is served under a name.

    Any thread may use it. If `crx.db` was replaced, the next use opens the new one; searches that
    run finish on the old one. If it is gone, a use raises `NotAnIndex`.
    """

    def __init__(
        self, name: str, path: Path, *, settings: Mapping[str, object] | None = None
    ) -> None:
        """Open the index; raises as `crx.open` does."""
        self.name = name
        self.path = Path(os.path.abspath(path))
        self._settings = dict(settings or {})
        self._lock = threading.Lock()
        self._index = handle.open(self.path, create=False, settings=self._settings)
        self._identity = self._read_identity()

    def get(self) -> Index:
        """Return the index as it is on disk now."""
        identity = self._read_identity()
        if identity == self._identity:
            return self._index
        with self._lock:
            if identity != self._identity:
                # The old handle is dropped, not closed: searches may still be using it.
                self._index = handle.open(self.path, create=False, settings=self._settings)
                self._identity = identity
            return self._index

    def close(self) -> None:
        """Release the files."""
        with self._lock:
            self._index.close()

    def _read_identity(self) -> Identity:
        try:
            found = os.stat(self.path / "crx.db")
        except OSError:
            raise NotAnIndex(
                f"{self.path}: the index {self.name} is gone; put it back, or start the server "
                "without it"
            ) from None
        return found.st_dev, found.st_ino


def open_indexes(
    specs: Sequence[str], *, settings: Mapping[str, object] | None = None
) -> list[ServedIndex]:
    """Open the indexes that are named by `DIR` or `NAME=DIR`.

    A name that is not given is that of the folder, or of the folder that holds `.crx`. Raises
    `UsageError` for two indexes of one name, and as `crx.open`.
    """
    pairs = [_parse(spec) for spec in specs]
    names = [name for name, _ in pairs]
    for name, path in pairs:
        if names.count(name) > 1:
            raise UsageError(f"{path}: a second index named {name}; name each: NAME=DIR")
    return [ServedIndex(name, path, settings=settings) for name, path in pairs]


def _parse(spec: str) -> tuple[str, Path]:
    name, equals, folder = spec.partition("=")
    if is_engine_address(spec) or is_engine_address(folder):
        raise UsageError(
            f"{without_password(spec)}: a server needs an index folder, not a database; "
            '"crx copy" brings it home'
        )
    if equals and not os.path.exists(spec):
        if not name or _UNSAFE.search(name):
            raise UsageError(f"{spec}: a name has letters, digits and ._- only, as in notes=DIR")
        return name, Path(folder)
    path = Path(os.path.abspath(spec))
    stem = path.name.removesuffix(".crx") or path.parent.name
    return _UNSAFE.sub("-", stem).strip("-.") or "index", path
