"""The watch of a served index: a thread that keeps the index equal to its folders."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

from crx._index.handle import Index
from crx.errors import CrxError
from crx.ingest.report import Progress
from crx_serve.responses import WatchStatus
from crx_serve.served_index import ServedIndex
from crx_serve.watch import Visit, Watcher

# Seconds before another try after a failure that ended the watch, such as an index that is gone.
RETRY_AFTER_S = 2.0
# Seconds that `close` waits for the thread.
STOP_S = 10.0


class _Stopped(Exception):
    """The server ends: the visit that is under way is broken off, and the next run goes on."""


class IndexWatch:
    """Watches the folders of an index until it is closed, also of one that replaces it.

    `on_visit` is called after each visit that changed something, `on_problem` with a line for each
    problem; both get the name of the index first. `leave_many` is that of `Watcher`.
    """

    def __init__(
        self,
        served: ServedIndex,
        *,
        keep_missing: bool = False,
        leave_many: bool = False,
        on_visit: Callable[[str, Visit], None] = lambda name, visit: None,
        on_problem: Callable[[str, str], None] = lambda name, problem: None,
    ) -> None:
        self._served = served
        self._keep_missing = keep_missing
        self._leave_many = leave_many
        self._on_visit = on_visit
        self._on_problem = on_problem
        self._closed = threading.Event()
        self._status = WatchStatus()
        self._thread = threading.Thread(target=self._run, name="crx-watch", daemon=True)

    @property
    def status(self) -> WatchStatus:
        """What the watch does now, and its last visit."""
        return self._status

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to watch, with a sweep over all files."""
        self._thread.start()

    def close(self) -> None:
        """End the watch; a visit that is under way is broken off."""
        self._closed.set()
        if self.is_running:
            self._thread.join(STOP_S)

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._watch(self._served.get())
            except _Stopped:
                return
            except CrxError as error:
                self._note_problem(str(error))
                self._closed.wait(RETRY_AFTER_S)

    def _watch(self, index: Index) -> None:
        """Watch until the server ends or another index replaces this one."""
        self._status = replace(self._status, folders=index.roots)
        watcher = Watcher(
            index,
            keep_missing=self._keep_missing,
            leave_many=self._leave_many,
            is_current=lambda: self._is_current(index),
            on_progress=self._note_progress,
            on_visit=self._note_visit,
            on_problem=self._note_problem,
        )
        watcher.run()

    def _is_current(self, index: Index) -> bool:
        return not self._closed.is_set() and self._served.get() is index

    def _note_progress(self, progress: Progress) -> None:
        if self._closed.is_set():
            raise _Stopped
        self._status = replace(
            self._status, files_read=progress.documents, files_found=progress.found
        )

    def _note_visit(self, visit: Visit) -> None:
        report = visit.report
        changed = report.added + report.changed + report.renamed + report.removed
        self._status = replace(
            self._status,
            folders=self._served.get().roots,
            visits=self._status.visits + 1,
            last_visit=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            changed=self._status.changed + changed,
            problem="",
            files_read=0,
            files_found=0,
        )
        if changed or report.failures:
            self._on_visit(self._served.name, visit)

    def _note_problem(self, problem: str) -> None:
        is_new = problem != self._status.problem
        self._status = replace(self._status, problem=problem, files_read=0, files_found=0)
        if is_new:
            self._on_problem(self._served.name, problem)
