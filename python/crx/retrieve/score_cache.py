"""Cache of the scores of a reranker, which are checked before they are used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import ModelError
from crx.protocols import Reranker
from crx.retrieve.query_vectors import CacheCounts


class ScoreCache:
    """Least-recently-used cache of scores by reranker, query and text; safe for threads.

    An entry takes about 200 bytes. By default the searches of a day fit, 300 to 1,000.
    """

    def __init__(self, *, max_entries: int = 1 << 14) -> None:
        """Keep at most `max_entries` scores."""
        self._max_entries = max_entries
        self._entries: OrderedDict[bytes, float] = OrderedDict()
        self._lock = Lock()
        self._hits = 0
        self._misses = 0

    @property
    def counts(self) -> CacheCounts:
        """The lookups so far."""
        return CacheCounts(self._hits, self._misses)

    def __len__(self) -> int:
        return len(self._entries)

    def score(self, reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), in order; only texts without an entry are scored.

        Raises `ModelError` if the reranker does, or if its scores have another shape or range.
        """
        keys = digest_pairs(reranker.fingerprint, query, texts)
        known = self._find(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = score_checked(reranker, query, list(missing.values()))
            known |= dict(zip(missing, fresh.tolist(), strict=True))
            self._put({key: known[key] for key in missing})
        return np.array([known[key] for key in keys], np.float32)

    def has(self, reranker: Reranker, query: str, texts: Sequence[str]) -> list[bool]:
        """Return which texts have an entry."""
        keys = digest_pairs(reranker.fingerprint, query, texts)
        with self._lock:
            return [key in self._entries for key in keys]

    def _find(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        with self._lock:
            known = {key: self._entries[key] for key in keys if key in self._entries}
            self._hits += len(known)
            self._misses += len(keys) - len(known)
            for key in known:
                self._entries.move_to_end(key)
        return known

    def _put(self, scores: dict[bytes, float]) -> None:
        with self._lock:
            self._entries.update(scores)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)


def digest_pairs(fingerprint: str, query: str, texts: Sequence[str]) -> list[bytes]:
    """Return the cache key of each pair: a digest of the reranker, the query and the text."""
    shared = fingerprint.encode(), query.encode("utf-8", "surrogatepass")
    return [_native.digest(*shared, text.encode("utf-8", "surrogatepass")) for text in texts]


def score_checked(reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return (n,) float32 scores in (0, 1); raises `ModelError` for any other shape or value."""
    scores = reranker.score(query, texts)
    if scores.shape != (len(texts),) or scores.dtype != np.float32:
        raise ModelError(
            f"{reranker.fingerprint}: gave {scores.dtype} {scores.shape}, "
            f"not float32 {(len(texts),)}"
        )
    # A NaN fails both comparisons.
    if not ((scores > 0) & (scores < 1)).all():
        raise ModelError(f"{reranker.fingerprint}: gave a score that is not between 0 and 1")
    return scores
