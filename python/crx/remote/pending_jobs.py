"""What goes on elsewhere when a run ends, noted in the index so that the next run finds it."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from crx import _native

# The setting of an index that names what is under way.
UNDER_WAY = "under_way"


class PendingJobs:
    """Names of what one contextualizer has under way; each change is durable when it returns."""

    def __init__(self, store: _native.Store, fingerprint: str) -> None:
        self._store = store
        self._fingerprint = fingerprint

    @property
    def names(self) -> tuple[str, ...]:
        """What is under way, oldest first."""
        return under_way(self._store.settings()).get(self._fingerprint, ())

    def add(self, name: str) -> None:
        """Note that something is under way."""
        self._write((*self.names, name))

    def rename(self, old: str, new: str) -> None:
        """Note by which name something under way is known from now on."""
        self._write(tuple(new if name == old else name for name in self.names))

    def remove(self, name: str) -> None:
        """Note that something is not under way after all."""
        self._write(tuple(each for each in self.names if each != name))

    def clear(self) -> None:
        """Note that all that came of it is kept."""
        if self.names:
            self._write(())

    def _write(self, names: tuple[str, ...]) -> None:
        noted = {**under_way(self._store.settings()), self._fingerprint: names}
        kept = {fingerprint: listed for fingerprint, listed in noted.items() if listed}
        self._store.set_settings({UNDER_WAY: orjson.dumps(kept).decode()})


def under_way(settings: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return what an index says is under way, by the fingerprint of what sent it."""
    noted = orjson.loads(settings.get(UNDER_WAY, "{}"))
    return {fingerprint: tuple(names) for fingerprint, names in noted.items()}
