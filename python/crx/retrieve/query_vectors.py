"""Cache of the vectors of queries, for processes that answer many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crx._lru_cache import LruCache
from crx.protocols import Embedder
from crx.retrieve.delegating_embedder import DelegatingEmbedder
from crx.sending import sending_notice, text_bytes


class QueryEmbedder(Embedder, Protocol):
    """An embedder that a search embeds its query with."""

    def sending_notice(self) -> str:
        """Return the line about queries that were sent to a service, "" if none were."""


class QueryVectorCache(LruCache[str, NDArray[np.float32]]):
    """The vectors of queries of one embedder.

    An entry of 384 dimensions takes about 2 kB.
    """

    def __init__(self, *, max_entries: int = 1024) -> None:
        super().__init__(max_entries=max_entries)

    def embed(
        self, queries: Sequence[str], *, make: Callable[[Sequence[str]], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows of queries; `make` embeds those without an entry."""
        rows = self.find_or_make(queries, make)
        return np.stack([rows[query] for query in queries])


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
