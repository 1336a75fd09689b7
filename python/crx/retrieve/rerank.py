"""Reranking of a fused ranking by the scores of a cross-encoder."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import ModelError
from crx.protocols import Remote, Reranker
from crx.remote.destination import sending_notice, text_bytes
from crx.retrieve.query_language import declared_langs, unread_langs
from crx.retrieve.query_vectors import CacheCounts
from crx.types import Ranking

# Texts scored before the time that one takes can be estimated.
_FIRST_BATCH = 4


class RerankResult(NamedTuple):
    """A fused ranking after reranking.

    `ranking` is the final order. `scored` holds the candidates that were scored, by their scores
    in (0, 1), and `scored_count` how many there were. `notes` are warnings of one line each.
    `limit` says why candidates were not scored although nothing failed, such as the time or the
    language of the query; it is empty if all were.
    """

    ranking: Ranking
    scored: Ranking
    scored_count: int
    notes: tuple[str, ...] = ()
    limit: str = ""


class ScoreCache:
    """Least-recently-used cache of scores by reranker, query and text; safe for threads.

    An entry takes about 200 bytes.
    """

    def __init__(self, *, max_entries: int = 1 << 16) -> None:
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


def rerank(
    query: str,
    fused: Ranking,
    texts: Sequence[str],
    *,
    reranker: Reranker,
    weight: float,
    k: int,
    ms: float = 0,
    min_relevance: float = 0,
    langs: Sequence[str] = (),
    in_place: NDArray[np.bool_] | None = None,
    cache: ScoreCache | None = None,
) -> RerankResult:
    """Rerank the head of a fused ranking and return the best k.

    `texts[i]` is the situated text of `fused.keys[i]`; keys without a text are not candidates. The
    candidates that were scored are ordered among themselves, by a convex combination of the
    reranker's logits (`weight`) and the fused scores (1 - `weight`), both relative: 1 is the best
    candidate and 0 the worst. Equal ones keep the fused order. All other keys keep their place, as
    do those that `in_place` (one element a text) marks, which are not scored. The scores of the
    result are the fused ones, by place.

    `ms` limits the time: candidates are scored from the best down while they fit, the first four
    always; 0 is no limit. A candidate that scores below `min_relevance` is dropped; one without a
    score stays. `langs` are the languages of the index: a query in a language that the reranker
    does not declare is not reranked. `cache` keeps scores between calls.

    If the reranker fails, the fused order is returned with a note. Raises `ValueError` for a weight
    outside 0 to 1 and for more texts than keys.
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"the reranker's weight must be from 0 to 1, not {weight}")
    if len(texts) > len(fused.keys):
        raise ValueError(f"{len(texts)} texts for {len(fused.keys)} keys; give one a key")
    if mismatch := _language_mismatch(reranker, query, langs):
        return _not_reranked(fused, k, limit=mismatch)
    candidates = np.arange(len(texts))
    if in_place is not None:
        candidates = candidates[~in_place]
    try:
        parts = _score_batches(
            reranker,
            query,
            [texts[at] for at in candidates.tolist()],
            ms=ms,
            cache=ScoreCache() if cache is None else cache,
        )
        scores = np.concatenate([np.empty(0, np.float32), *parts])
    except ModelError as error:
        return _not_reranked(fused, k, notes=(f"not reranked: {error}",))
    places = candidates[: len(scores)]
    scored = _sort_by_score(fused.keys[places], scores)
    order = fused.keys.copy()
    logits = np.log(scores) - np.log1p(-scores)
    values = weight * _relative(logits) + (1 - weight) * _relative(fused.scores[places])
    order[places] = order[places][np.argsort(-values, kind="stable")]
    kept = ~np.isin(order, scored.keys[scored.scores < min_relevance])
    sent = [texts[at] for at in places.tolist()]
    n_bytes = sum(map(text_bytes, sent)) if isinstance(reranker, Remote) else 0
    notice = sending_notice(reranker, {"query": 1, "chunk": len(sent)}, n_bytes=n_bytes)
    notes = [notice] if notice else []
    if dropped := len(order) - int(kept.sum()):
        notes.append(f"dropped {dropped} of {len(scores)} below a relevance of {min_relevance:g}")
    limit = ""
    if len(scores) < len(candidates):
        limit = f"reranked {len(scores)} of {len(candidates)} within {ms:g} ms"
    ranking = Ranking(order[kept][:k], fused.scores[kept][:k])
    return RerankResult(ranking, scored, len(scores), tuple(notes), limit)


def _score_batches(
    reranker: Reranker, query: str, texts: Sequence[str], *, ms: float, cache: ScoreCache
) -> Iterator[NDArray[np.float32]]:
    """Yield the scores of the texts, batch by batch, until the time is up."""
    if not ms:
        yield cache.score(reranker, query, texts)
        return
    started = time.perf_counter()
    at, size = 0, _FIRST_BATCH
    while at < len(texts) and size:
        batch = texts[at : at + size]
        yield cache.score(reranker, query, batch)
        at += len(batch)
        elapsed = 1000 * (time.perf_counter() - started)
        fit = int((ms - elapsed) * at / elapsed) if elapsed > 0 else len(texts)
        # Half of the estimate: later texts may be longer than those scored so far.
        size = max(0, fit if fit < 2 * _FIRST_BATCH else fit // 2)


def _sort_by_score(keys: NDArray[np.int64], scores: NDArray[np.float32]) -> Ranking:
    order = np.argsort(-scores, kind="stable")
    return Ranking(keys[order], scores[order])


def _relative(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores moved and scaled to reach from 0 to 1; equal ones are all 0."""
    lowest, highest = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    relative: NDArray[np.float32] = (scores - lowest) / ((highest - lowest) or np.float32(1))
    return relative


def _not_reranked(
    fused: Ranking, k: int, *, notes: tuple[str, ...] = (), limit: str = ""
) -> RerankResult:
    none = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
    return RerankResult(Ranking(fused.keys[:k], fused.scores[:k]), none, 0, notes, limit)


def _language_mismatch(reranker: Reranker, query: str, langs: Sequence[str]) -> str:
    """Return a note if the query is in no language that the reranker declares, or ""."""
    unread = unread_langs(reranker, query, langs)
    if not unread:
        return ""
    return (
        f"not reranked: the query is in {' or '.join(unread)}, "
        f"the reranker reads {', '.join(declared_langs(reranker))}"
    )


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
