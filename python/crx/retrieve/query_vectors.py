"""Cache of the vectors of queries, for processes that answer many."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crx.protocols import Embedder
from crx.remote.destination import sending_notice, text_bytes
from crx.retrieve.delegating_embedder import DelegatingEmbedder


class QueryEmbedder(Embedder, Protocol):
    """An embedder that a search embeds its query with."""

    def sending_notice(self) -> str:
        """Return the line about queries that were sent to a service, "" if none were."""
        ...


class CacheCounts(NamedTuple):
    """How many lookups of a cache found an entry, and how many did not."""

    hits: int
    misses: int


class QueryVectorCache:
    """Least-recently-used cache of vectors by query, of one embedder; safe for threads.

    An entry of 384 dimensions takes about 2 kB.
    """

    def __init__(self, *, max_entries: int = 1024) -> None:
        """Keep at most `max_entries` vectors."""
        self._max_entries = max_entries
        self._entries: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()
        self._hits = 0
        self._misses = 0

    @property
    def counts(self) -> CacheCounts:
        """The lookups so far."""
        return CacheCounts(self._hits, self._misses)

    def embed(
        self, query: str, *, make: Callable[[str], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """Return the (1, d) float32 unit vector of a query, which `make` embeds if need be."""
        with self._lock:
            known = self._entries.get(query)
            if known is not None:
                self._hits += 1
                self._entries.move_to_end(query)
                return known
            self._misses += 1
        made = make(query)
        with self._lock:
            self._entries[query] = made
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
        return made


class CachedEmbedder(DelegatingEmbedder):
    """An embedder whose vectors of single queries are looked up in a cache first."""

    def __init__(self, embedder: Embedder, vectors: QueryVectorCache) -> None:
        super().__init__(embedder)
        self._vectors = vectors
        self._embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows; that of a single query from the cache if it is there."""
        if query and len(texts) == 1:
            return self._vectors.embed(texts[0], make=self._embed_query)
        return self._embedder.embed(texts, query=query)

    def sending_notice(self) -> str:
        """Return the line about queries that were sent to a service, "" if none were."""
        n_bytes = sum(map(text_bytes, self._embedded))
        return sending_notice(self._embedder, {"query": len(self._embedded)}, n_bytes=n_bytes)

    def _embed_query(self, query: str) -> NDArray[np.float32]:
        self._embedded.append(query)
        return self._embedder.embed([query], query=True)
