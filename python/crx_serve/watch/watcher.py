"""The watcher: it keeps an index equal to folders while they change.

Events are hints. A replaced file arrives as added, and one batch may hold contradictions, so each
batch only names paths, and the ordinary incremental pass visits those. A sweep visits everything:
at the start, every 15 minutes, after an error, and when a watched folder comes back. The writer's
lock is held during a visit only.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from watchfiles import watch

from crx._index.handle import Index
from crx.errors import Locked, ModelError, NoRoom, SystemFailure, UsageError
from crx.ingest.file_systems import any_is_remote
from crx.ingest.ignore import FolderPatterns
from crx.ingest.report import Progress, Report
from crx.protocols import Remote
from crx_serve.watch.events import EventFilter

SWEEP_EVERY_S = 900.0
# Seconds between sweeps when the system reports no events.
POLL_EVERY_S = 30.0
RETRY_AFTER_S = 2.0
# Milliseconds for which events are collected while they keep coming, and without an event after
# which a batch ends. What is written is searchable by BM25 within three seconds.
_DEBOUNCE_MS, _STEP_MS = 1000, 100
# Milliseconds between looks at the clock and at the folders.
_TICK_MS = 1000
_REMOTE_POLL_MS = 2000
# A batch of more paths is a sweep: finding where each belongs would take longer.
_MOST_PATHS = 2000
# Pending chunks that a visit embeds even if many are left to others: the edits of a person.
FEW_CHUNKS = 64
_TRANSIENT = (Locked, NoRoom, SystemFailure, ModelError, OSError)


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit: what the index did, whether everything or only changed paths were visited, and
    how long it took.
    """

    report: Report
    kind: Literal["sweep", "changes"]
    seconds: float


class Watcher:
    """Keeps an index equal to its folders until it is stopped.

    `run` blocks; `stop` may be called by any thread. The folders are those that were added to the
    index. `on_progress` is called during a visit, `on_visit` after each, `on_problem` with a line
    for each problem that does not end the watch. `is_current` is asked every second and before each
    visit: if the files of the index were replaced, it returns False, and `run` ends. With
    `leave_many`, a visit leaves many pending chunks to a `BackgroundEmbedder`.
    """

    def __init__(
        self,
        index: Index,
        *,
        keep_missing: bool = False,
        leave_many: bool = False,
        sweep_every_s: float = SWEEP_EVERY_S,
        is_current: Callable[[], bool] = lambda: True,
        on_progress: Callable[[Progress], None] | None = None,
        on_visit: Callable[[Visit], None] = lambda _: None,
        on_problem: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._index = index
        self._keep_missing = keep_missing
        self._leave_many = leave_many
        self._sweep_every_s = sweep_every_s
        self._is_current = is_current
        self._on_progress = on_progress
        self._on_visit = on_visit
        self._on_problem = on_problem
        self._stopped = threading.Event()
        self._changed: set[str] = set()
        self._next_sweep = 0.0
        self._retry_at = 0.0
        self._problem = ""

    def stop(self) -> None:
        """End `run`, after the visit that it is making."""
        self._stopped.set()

    def run(self) -> None:
        """Watch until stopped. Raises `UsageError` if no folder was added to the index, and
        `Untrusted` if one of them may not be read.

        Raises as `Index.refresh` does what another try cannot mend, such as `Damaged`.
        """
        while not self._stopped.is_set():
            roots = self._index.roots
            if not roots:
                raise UsageError(
                    f'{self._index.path}: no folder was indexed; "crx watch PATH" adds one'
                )
            self._index.require_allowed_roots()
            try:
                self._follow(roots)
            except FileNotFoundError:
                continue  # removed since it was seen
            except (OSError, RuntimeError) as error:  # RuntimeError is an error of watchfiles
                self._report_problem(describe_watch_error(error))
                self._poll_once()

    def _follow(self, roots: Sequence[str]) -> None:
        """Visit what changes until stopped, or until other folders are to be watched."""
        identities = _identify(roots)
        skipped = FolderPatterns.parse(self._index.configuration.skip_folders)
        events = EventFilter(roots, index=str(self._index.path), skip_folders=skipped)
        watched = [root for root in roots if identities[root] is not None]
        if not watched:
            self._visit_if_due()
            self._stopped.wait(RETRY_AFTER_S)
            return
        batches = watch(
            *watched,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=self._stopped,
            rust_timeout=_TICK_MS,
            yield_on_timeout=True,
            force_polling=any_is_remote(watched) or None,
            poll_delay_ms=_REMOTE_POLL_MS,
            ignore_permission_denied=True,
        )
        # From the first turn on events are collected, so nothing is lost before the first sweep.
        self._next_sweep = 0.0
        for batch in batches:
            self._changed |= events.paths_to_visit(path for _, path in batch)
            # Asked before the visit, which would name a missing folder just before the sweep does.
            if self._index.roots != roots or _identify(roots) != identities:
                # The event that tells why may not have come, and is lost with this watch.
                self._next_sweep = 0.0
                return
            self._visit_if_due()

    def _poll_once(self) -> None:
        """Sweep, then wait: the system reports no events."""
        self._next_sweep = 0.0
        self._visit_if_due()
        self._stopped.wait(min(POLL_EVERY_S, self._sweep_every_s))

    def _visit_if_due(self) -> None:
        """Sweep if it is time, else visit the changed paths if there are any."""
        if not self._is_current():
            self.stop()
        now = time.monotonic()
        if now < self._retry_at or self._stopped.is_set():
            return
        is_sweep = now >= self._next_sweep or len(self._changed) > _MOST_PATHS
        if not is_sweep and not self._changed:
            return
        changed, self._changed = self._changed, set()
        try:
            report = self._refresh(None if is_sweep else changed)
        except _TRANSIENT as error:
            self._changed |= changed
            self._retry_at = time.monotonic() + RETRY_AFTER_S
            if not isinstance(error, Locked):
                self._next_sweep = self._retry_at
            self._report_problem(str(error))
            return
        self._problem = ""
        if is_sweep:
            self._next_sweep = time.monotonic() + self._sweep_every_s
        kind: Literal["sweep", "changes"] = "sweep" if is_sweep else "changes"
        self._on_visit(Visit(report, kind, time.monotonic() - now))

    def _refresh(self, changed: set[str] | None) -> Report:
        """Bring the index up to paths, or to all; vectors of many chunks may be left to others."""
        leave = self._leave_many and not isinstance(self._index.embedder, Remote)
        report = self._index.refresh(
            only=changed,
            keep_missing=self._keep_missing,
            words_only=leave,
            on_progress=self._on_progress,
        )
        if not leave or not 0 < report.pending <= FEW_CHUNKS:
            return report
        made = self._index.embed(on_progress=self._on_progress)
        return replace(report, embedded=made.embedded, windowed=made.windowed, pending=made.pending)

    def _report_problem(self, problem: str) -> None:
        """Report a problem once, until a visit succeeds."""
        if problem != self._problem:
            self._problem = problem
            self._on_problem(problem)


def describe_watch_error(error: Exception) -> str:
    """Return why folders cannot be watched, and what mends it."""
    text = str(error)
    every = f"all files are visited every {POLL_EVERY_S:g} s instead"
    if "No space left on device" in text or "watch limit" in text:
        return (
            f"more folders than the system lets a user watch (fs.inotify.max_user_watches); {every}"
        )
    if "Too many open files" in text:
        return (
            "more watchers than the system lets a user have (fs.inotify.max_user_instances); "
            f"{every}"
        )
    return f"folders cannot be watched: {text}; {every}"


def _identify(roots: Sequence[str]) -> dict[str, tuple[int, int] | None]:
    """Return what each root is on the disk; None for one that is not there."""
    return {root: _identity(root) for root in roots}


def _identity(root: str) -> tuple[int, int] | None:
    try:
        status = os.stat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino
