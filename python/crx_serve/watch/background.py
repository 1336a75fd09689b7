"""Embedding in the time that is left over: a thread beside searches and visits."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from crx._index.handle import Index
from crx.errors import CrxError, Locked, NotAnIndex
from crx.ingest.embed_pending import MadeVectors
from crx.protocols import Remote
from crx_serve.watch.battery import is_on_battery

# Seconds of embedding whose vectors are stored together, which takes the writer's lock.
ROUND_S = 20.0
# Seconds between two looks for pending chunks, at the battery, and at a lock that another holds.
LOOK_EVERY_S = 2.0
BATTERY_EVERY_S = 30.0
# Seconds after a failure, such as a model that is missing.
RETRY_AFTER_S = 60.0
# Seconds between two looks whether a search still runs.
YIELD_S = 0.01
# The least claim to the processor that a thread can have.
_NICENESS = 19


class BackgroundEmbedder:
    """Embeds the pending chunks of an index until it is closed.

    Vectors are made at the lowest priority (on Linux, where a thread has one of its own), and not
    while a search runs; the writer's lock is held only to store them. On a battery none are made
    unless `on_battery`. An embedder on a server is left to `crx embed`. `get_index` returns the
    index as it is now; `is_searching` tells whether a search runs, of this index if it is None;
    `on_problem` is called with a line, once for each problem.
    """

    def __init__(
        self,
        get_index: Callable[[], Index],
        *,
        on_battery: bool = False,
        is_searching: Callable[[], bool] | None = None,
        on_problem: Callable[[str], None] = lambda problem: None,
        has_battery_power: Callable[[], bool] = is_on_battery,
        round_s: float = ROUND_S,
    ) -> None:
        self._get_index = get_index
        self._on_battery = on_battery
        self._is_searching = is_searching
        self._on_problem = on_problem
        self._has_battery_power = has_battery_power
        self._round_s = round_s
        self._closed = threading.Event()
        self._problem = ""
        self._thread = threading.Thread(target=self._run, name="crx-embed", daemon=True)

    def start(self) -> None:
        """Begin to embed."""
        self._thread.start()

    def close(self) -> None:
        """End after the call of the embedder that is under way; vectors of the round are stored."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(LOOK_EVERY_S)

    def _run(self) -> None:
        # Storing has the priority of the process: a search may wait for it.
        with ThreadPoolExecutor(1, initializer=_lower_priority) as maker:
            while not self._closed.is_set():
                try:
                    wait_s = self._round(maker)
                    self._problem = ""
                except NotAnIndex:  # gone, or just being replaced: searches say so
                    wait_s = LOOK_EVERY_S
                except CrxError as error:
                    self._report_problem(str(error))
                    wait_s = RETRY_AFTER_S
                except Exception as error:  # noqa: BLE001 - a model may raise anything
                    if self._closed.is_set():  # and so was the index
                        return
                    self._report_problem(f"{type(error).__name__}: {error}")
                    wait_s = RETRY_AFTER_S
                self._closed.wait(wait_s)

    def _round(self, maker: ThreadPoolExecutor) -> float:
        """Embed for a while and store; return the seconds until the next round."""
        if not self._on_battery and self._has_battery_power():
            return BATTERY_EVERY_S
        index = self._get_index()
        if not len(index.store.pending(limit=1)) or isinstance(index.embedder, Remote):
            return LOOK_EVERY_S
        making = maker.submit(
            index.make_vectors, seconds=self._round_s, go_on=lambda: self._wait_turn(index)
        )
        made = making.result()
        if made.keys:
            self._store(index, made)
        return 0.0 if made.keys else LOOK_EVERY_S

    def _wait_turn(self, index: Index) -> bool:
        """Wait until no search runs; return False if the embedder is closed."""
        is_searching = self._is_searching or (lambda: index.is_searching)
        while is_searching() and not self._closed.is_set():
            self._closed.wait(YIELD_S)
        return not self._closed.is_set()

    def _store(self, index: Index, made: MadeVectors) -> None:
        """Store vectors as soon as nobody else writes, unless the index was replaced."""
        while self._get_index() is index:
            with contextlib.suppress(Locked):
                index.put_vectors(made)
                return
            if self._closed.wait(LOOK_EVERY_S):
                return

    def _report_problem(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._on_problem(f"vectors are not made: {problem}")


def _lower_priority() -> None:
    """Give this thread the lowest priority; threads that it starts inherit it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
