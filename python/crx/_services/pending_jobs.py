"""Remote batch jobs in flight, persisted so that the next run can resume them."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from crx import _native

# The key among an index's settings under which the jobs in flight are stored.
PENDING_JOBS = "under_way"


class PendingJobs:
    """Names of the jobs in flight of one contextualizer; a change is durable when it returns."""

    def __init__(self, store: _native.Store, fingerprint: str) -> None:
        self._store = store
        self._fingerprint = fingerprint

    @property
    def names(self) -> tuple[str, ...]:
        """The jobs in flight, oldest first."""
        return read_pending_jobs(self._store.settings()).get(self._fingerprint, ())

    def add(self, name: str) -> None:
        """Record a job."""
        self._write((*self.names, name))

    def rename(self, old: str, new: str) -> None:
        """Replace the name of a job."""
        self._write(tuple(new if name == old else name for name in self.names))

    def remove(self, name: str) -> None:
        """Drop a job that was never submitted."""
        self._write(tuple(each for each in self.names if each != name))

    def clear(self) -> None:
        """Drop all jobs, once their results are committed."""
        if self.names:
            self._write(())

    def _write(self, names: tuple[str, ...]) -> None:
        jobs = {**read_pending_jobs(self._store.settings()), self._fingerprint: names}
        kept = {fingerprint: listed for fingerprint, listed in jobs.items() if listed}
        self._store.set_settings({PENDING_JOBS: orjson.dumps(kept).decode()})


def read_pending_jobs(settings: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the names of the jobs in flight by the fingerprint of their contextualizer."""
    stored = orjson.loads(settings.get(PENDING_JOBS, "{}"))
    return {fingerprint: tuple(names) for fingerprint, names in stored.items()}
