"""Scores of candidates within a limit of time: batch by batch, the best candidates first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crx.protocols import Remote, Reranker
from crx.retrieve.score_cache import ScoreCache
from crx.thread_count import thread_count

# Texts scored before the time that one takes can be estimated.
_FIRST_BATCH = 2
# Estimates from fewer texts are not halved: there is hardly a longer one among them.
_SMALL_BATCH = 8
# Milliseconds of a batch. The time is asked between batches, and other work on the machine can make
# one take ten times as long as those before.
_BATCH_MS = 10


class TimedScoring:
    """Scores texts for one query within `ms`; 0 is no limit."""

    def __init__(
        self,
        reranker: Reranker,
        query: str,
        *,
        ms: float,
        cache: ScoreCache,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._reranker = reranker
        self._query = query
        self._ms = ms
        self._cache = cache
        self._clock = clock or time.perf_counter
        # The texts that the reranker was given, in order; it may have failed.
        self.given: list[str] = []

    def score(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the scores of the first texts, in order: those that fit into the time.

        The first batch is scored in any case. Raises `ModelError` if the reranker does.
        """
        if not self._ms:
            return self._score(texts)
        return np.concatenate([np.empty(0, np.float32), *self._score_batches(texts)])

    def _score_batches(self, texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        began = self._clock()
        remote = isinstance(self._reranker, Remote)
        threads = 1 if remote else thread_count()
        # Those that were scored before take no time, and tell nothing of that of the others.
        known = self._cache.has(self._reranker, self._query, texts)
        at, size, elapsed, measured = 0, _FIRST_BATCH, 0.0, 0
        while at < len(texts) and size:
            end = _reach(known, at, fresh=size)
            yield self._score(texts[at:end])
            fresh = known[at:end].count(False)
            at, measured = end, measured + fresh
            if not fresh:
                return
            before, elapsed = elapsed, 1000 * (self._clock() - began)
            fit = int((self._ms - elapsed) * measured / elapsed) if elapsed > 0 else len(texts)
            # Half of the estimate: later texts may be longer than those scored so far.
            fit = max(0, fit if fit < _SMALL_BATCH else fit // 2)
            slowest = max((elapsed - before) / fresh, elapsed / measured)
            # A request to a service takes about as long with many texts as with few.
            size = fit if remote else min(fit, 2 * size, _short_batch(slowest, threads=threads))

    def _score(self, texts: Sequence[str]) -> NDArray[np.float32]:
        known = self._cache.has(self._reranker, self._query, texts)
        fresh = (text for text, scored in zip(texts, known, strict=True) if not scored)
        self.given += dict.fromkeys(fresh)
        return self._cache.score(self._reranker, self._query, texts)


def _reach(known: Sequence[bool], at: int, *, fresh: int) -> int:
    """Return the end of the texts from one on of which so many are not known yet."""
    while at < len(known) and (known[at] or fresh > 0):
        fresh -= not known[at]
        at += 1
    return at


def _short_batch(ms_per_text: float, *, threads: int) -> int:
    """Return how many texts take `_BATCH_MS`, a multiple of the threads that share them."""
    if ms_per_text * threads >= _BATCH_MS:
        return threads
    return threads * int(_BATCH_MS / max(ms_per_text * threads, _BATCH_MS / 1000))
