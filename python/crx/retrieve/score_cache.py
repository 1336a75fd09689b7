"""Cache of the scores of a reranker, which are checked before they are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx._lru_cache import LruCache
from crx.errors import ModelError
from crx.protocols import Reranker


class ScoreCache(LruCache[bytes, float]):
    """Scores by reranker, query and text.

    An entry takes about 200 bytes. By default the searches of a day fit, 300 to 1,000.
    """

    def __init__(self, *, max_entries: int = 1 << 14) -> None:
        super().__init__(max_entries=max_entries)

    def score(self, reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), in order; only texts without an entry are scored.

        Raises `ModelError` if the reranker does, or if its scores have another shape or range.
        """
        keys = digest_pairs(reranker.fingerprint, query, texts)
        text_of = dict(zip(keys, texts, strict=True))

        def score(missing: list[bytes]) -> Iterator[float]:
            yield from score_checked(reranker, query, [text_of[key] for key in missing]).tolist()

        scores = self.find_or_make(keys, score)
        return np.array([scores[key] for key in keys], np.float32)

    def has(self, reranker: Reranker, query: str, texts: Sequence[str]) -> list[bool]:
        """Return which texts have an entry."""
        return [key in self for key in digest_pairs(reranker.fingerprint, query, texts)]


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
