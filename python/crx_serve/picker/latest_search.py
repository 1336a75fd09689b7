"""Searches for a query that changes while it is typed, in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from crx import _native
from crx.errors import CrxError, Interrupted
from crx.types import Passage

Find = Callable[[str], Sequence[Passage]]

# What is searched before a key is pressed, so that the first one need not wait for files.
_WARM_UP = "e"
# How long nothing is typed before what takes longer is searched.
SETTLED_S = 0.3


class Found(NamedTuple):
    """The passages of a query, or why there are none; `is_quick` if a full search follows."""

    query: str
    passages: Sequence[Passage] = ()
    problem: str = ""
    is_quick: bool = False


class LatestSearch:
    """Searches for the latest query only: by `quick` at once, by `full` when typing has stopped.

    A search that is overtaken by another query is interrupted and not told. `on_found` is called in
    the thread of the searches.
    """

    def __init__(self, quick: Find, full: Find, on_found: Callable[[Found], None]) -> None:
        self._quick, self._full, self._on_found = quick, full, on_found
        self._changed = threading.Condition()
        self._query: str | None = None
        self._is_closed = False
        self._interrupt = _native.Interrupt()
        self._thread = threading.Thread(target=self._run, name="crx-picker", daemon=True)
        self._thread.start()

    def ask(self, query: str) -> None:
        """Search for a query instead of the one before."""
        with self._changed:
            self._query = query
            self._interrupt.set()
            self._changed.notify()

    def close(self) -> None:
        """End the searches; the index may be closed then."""
        with self._changed:
            self._is_closed = True
            self._interrupt.set()
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        # What fails here fails in the first search, too, which tells it.
        with contextlib.suppress(CrxError, ValueError), self._interrupt:
            self._quick(_WARM_UP)
        while (query := self._next_query()) is not None:
            if not query.strip():
                self._on_found(Found(query))
            elif self._search(query, self._quick, is_quick=True) and self._is_settled():
                self._search(query, self._full, is_quick=False)

    def _next_query(self) -> str | None:
        """Return the latest query that was not searched for; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._query is not None or self._is_closed)
            query, self._query = self._query, None
            self._interrupt = _native.Interrupt()
            return None if self._is_closed else query

    def _is_settled(self) -> bool:
        """Return whether nothing is typed for a while."""
        with self._changed:
            return not self._changed.wait_for(self._is_overtaken, SETTLED_S)

    def _is_overtaken(self) -> bool:
        return self._query is not None or self._is_closed

    def _search(self, query: str, find: Find, *, is_quick: bool) -> bool:
        """Search and tell what was found; return whether that still is the latest query."""
        try:
            with self._interrupt:
                found = Found(query, find(query), is_quick=is_quick)
        except Interrupted:
            return False
        except (CrxError, ValueError) as error:
            found = Found(query, problem=str(error))
        if self._is_overtaken():
            return False
        self._on_found(found)
        return not found.problem
