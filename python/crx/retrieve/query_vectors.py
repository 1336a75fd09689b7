"""Cache of the vectors of queries, for processes that answer many."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crx.protocols import Embedder
from crx.retrieve.delegating_embedder import DelegatingEmbedder
from crx.sending import sending_notice, text_bytes


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
        self, queries: Sequence[str], *, make: Callable[[Sequence[str]], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows of queries; `make` embeds those without an entry."""
        with self._lock:
            known = {query: self._entries[query] for query in queries if query in self._entries}
            self._hits += len(known)
            for query in known:
                self._entries.move_to_end(query)
        missing = [query for query in dict.fromkeys(queries) if query not in known]
        if missing:
            known |= dict(zip(missing, make(missing), strict=True))
            with self._lock:
                self._misses += len(missing)
                self._entries |= {query: known[query] for query in missing}
                while len(self._entries) > self._max_entries:
                    self._entries.popitem(last=False)
        return np.stack([known[query] for query in queries])


class CachedEmbedder(DelegatingEmbedder):
    """An embedder whose vectors of queries are looked up in a cache first."""

    def __init__(self, embedder: Embedder, vectors: QueryVectorCache) -> None:
        super().__init__(embedder)
        self._vectors = vectors
        self._embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows; those of queries from the cache if they are there."""
        if query and texts:
            return self._vectors.embed(texts, make=self._embed_queries)
        return self._embedder.embed(texts, query=query)

    def sending_notice(self) -> str:
        """Return the line about queries that were sent to a service, "" if none were."""
        n_bytes = sum(map(text_bytes, self._embedded))
        return sending_notice(self._embedder, {"query": len(self._embedded)}, n_bytes=n_bytes)

    def _embed_queries(self, queries: Sequence[str]) -> NDArray[np.float32]:
        self._embedded += queries
        return self._embedder.embed(queries, query=True)
