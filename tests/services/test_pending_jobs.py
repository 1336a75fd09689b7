"""Remote batch jobs in flight, as an index stores them."""

from __future__ import annotations

from pathlib import Path

from crx import _native
from crx._services.pending_jobs import PENDING_JOBS, PendingJobs, read_pending_jobs


def test_jobs_are_stored_by_contextualizer_and_dropped_when_done(tmp_path: Path) -> None:
    store = _native.Store.open(str(tmp_path / "notes.crx"), write=True, create=True)
    one, other = PendingJobs(store, "claude:a"), PendingJobs(store, "claude:b")
    one.add("not named yet")
    one.add("job_2")
    one.rename("not named yet", "job_1")
    other.add("job_3")
    assert (one.names, other.names) == (("job_1", "job_2"), ("job_3",))
    one.remove("job_2")
    other.clear()
    assert read_pending_jobs(store.settings()) == {"claude:a": ("job_1",)}
    assert store.settings()[PENDING_JOBS] == '{"claude:a":["job_1"]}'
