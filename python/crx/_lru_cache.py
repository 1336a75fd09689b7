"""Least-recently-used cache that any thread may use, and the counts of its lookups."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

_Key = TypeVar("_Key")
_Entry = TypeVar("_Entry")


class CacheCounts(NamedTuple):
    """How many lookups of a cache found an entry, and how many did not."""

    hits: int
    misses: int


class LruCache(Generic[_Key, _Entry]):
    """A cache of at most `max_entries` entries, of which those used last are kept."""

    def __init__(self, *, max_entries: int) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._lock = Lock()
        self.counts = CacheCounts(0, 0)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: _Key) -> bool:
        return key in self._entries

    def find_or_make(
        self, keys: Iterable[_Key], make: Callable[[list[_Key]], Iterable[_Entry]]
    ) -> dict[_Key, _Entry]:
        """Return the entries of these keys; `make` returns those that are missing, in order."""
        wanted = list(dict.fromkeys(keys))
        with self._lock:
            found = {key: self._entries[key] for key in wanted if key in self._entries}
            for key in found:
                self._entries.move_to_end(key)
            hits, misses = self.counts
            self.counts = CacheCounts(hits + len(found), misses + len(wanted) - len(found))
        if missing := [key for key in wanted if key not in found]:
            made = dict(zip(missing, make(missing), strict=True))
            found |= made
            with self._lock:
                self._entries |= made
                while len(self._entries) > self._max_entries:
                    self._entries.popitem(last=False)
        return found
