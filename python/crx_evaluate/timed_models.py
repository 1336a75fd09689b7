"""Embedder and reranker that cache what they compute and record the time it took."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx.protocols import Embedder, Remote, Reranker
from crx.retrieve.delegating_embedder import DelegatingEmbedder
from crx.retrieve.query_language import declared_langs
from crx.retrieve.score_cache import ScoreCache, digest_pairs, score_checked
from crx.sending import sending_notice, text_bytes
from crx_evaluate.score_file import ScoreFile, TimeSpent


class QueryVectors(DelegatingEmbedder):
    """An embedder that caches query vectors and the time each took."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._ms: dict[str, float] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) unit rows, each embedded in a call of its own, as in a search."""
        for text in texts:
            if text not in self._rows:
                started = time.perf_counter()
                self._rows[text] = self._embedder.embed([text], query=query)[0]
                self._ms[text] = 1000 * (time.perf_counter() - started)
        return np.stack([self._rows[text] for text in texts])

    def put(self, text: str, row: NDArray[np.float32], *, ms: float) -> None:
        """Store a (d,) unit row for a text, with the milliseconds that it took."""
        self._rows[text], self._ms[text] = row, ms

    def ms(self, text: str) -> float:
        """Return the milliseconds that embedding a query took."""
        return self._ms[text]

    def sending_notice(self) -> str:
        """Return the line about queries that were sent to a service, "" if none were."""
        n_bytes = sum(map(text_bytes, self._rows))
        return sending_notice(self._embedder, {"query": len(self._rows)}, n_bytes=n_bytes)


MAX_CACHED_SCORES = 1 << 19  # 100 MB at most


class TimedReranker:
    """A reranker that measures the time of a score, also of those from an earlier run.

    With `stored_scores`, pairs scored by an earlier run are not scored again; their time counts.
    `clock` tells the seconds of all scores that were asked for, at the mean speed so far: it goes
    on alike whether a score is computed or known.
    """

    def __init__(self, reranker: Reranker, *, stored_scores: ScoreFile | None = None) -> None:
        self._reranker = reranker
        self._stored_scores = stored_scores
        self._seconds, _, self._characters = (
            stored_scores.time_spent(self.fingerprint) if stored_scores else TimeSpent(0.0, 0, 0)
        )
        self._known = ScoreCache(max_entries=MAX_CACHED_SCORES)
        self._clock_s = 0.0

    @property
    def fingerprint(self) -> str:
        return self._reranker.fingerprint

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1); raises what the reranker and the file raise."""
        if not self._characters and not isinstance(self._reranker, Remote):
            score_checked(self._reranker, "warm", ["warm"])
        scores = self._known.score(_Scorer(self), query, texts)
        if not self._characters and not isinstance(self._reranker, Remote):
            # The file is of a version that did not count characters.
            self._score(query, texts)
        self._clock_s += _count_characters(query, texts) * self.ms_per_char / 1000
        return scores

    def clock(self) -> float:
        """Return the seconds that the scores so far take, one after the other."""
        return self._clock_s

    def score_unknown(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return scores that this run has not computed; those of an earlier run are read."""
        if self._stored_scores is None:
            return self._score(query, texts)[0]
        keys = digest_pairs(self.fingerprint, query, texts)
        known = self._stored_scores.find(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            scores, seconds = self._score(query, list(missing.values()))
            fresh = dict(zip(missing, scores.tolist(), strict=True))
            characters = _count_characters(query, list(missing.values()))
            self._stored_scores.add(self.fingerprint, fresh, seconds=seconds, characters=characters)
            known |= fresh
        return np.array([known[key] for key in keys], np.float32)

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes; empty if the reranker does not declare them."""
        return declared_langs(self._reranker)

    @property
    def ms_per_char(self) -> float:
        """Mean milliseconds for a character of a text and of its query."""
        return 1000 * self._seconds / max(1, self._characters)

    def _score(self, query: str, texts: Sequence[str]) -> tuple[NDArray[np.float32], float]:
        started = time.perf_counter()
        scores = score_checked(self._reranker, query, texts)
        seconds = time.perf_counter() - started
        self._seconds += seconds
        self._characters += _count_characters(query, texts)
        return scores, seconds


class _Scorer:
    """What scores the pairs that a cache does not know."""

    def __init__(self, timed: TimedReranker) -> None:
        self.fingerprint = timed.fingerprint
        self.score = timed.score_unknown


def _count_characters(query: str, texts: Sequence[str]) -> int:
    """Return the characters of the pairs of a query and texts."""
    return sum(len(query) + len(text) for text in texts)
