"""Cache of the vectors of queries, for processes that answer many."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from crx.protocols import Embedder
from crx.retrieve.query_language import declared_langs


@dataclass(frozen=True, slots=True)
class CacheCounts:
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

    def embed(self, embedder: Embedder, query: str) -> NDArray[np.float32]:
        """Return the (1, d) float32 unit vector of a query."""
        with self._lock:
            known = self._entries.get(query)
            if known is not None:
                self._hits += 1
                self._entries.move_to_end(query)
                return known
            self._misses += 1
        made = embedder.embed([query], query=True)
        with self._lock:
            self._entries[query] = made
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
        return made


class CachedEmbedder:
    """An embedder whose vectors of single queries are looked up in a cache first."""

    def __init__(self, embedder: Embedder, vectors: QueryVectorCache) -> None:
        self._embedder = embedder
        self._vectors = vectors

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the embedder declares; empty if it declares none."""
        return declared_langs(self._embedder)

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        return self._embedder.token_starts(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        if query and len(texts) == 1:
            return self._vectors.embed(self._embedder, texts[0])
        return self._embedder.embed(texts, query=query)
