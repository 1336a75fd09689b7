"""Reranking: a cross-encoder scores the candidates of a fused ranking, which is reordered."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import ModelError
from crx.protocols import LanguageLimited, Reranker
from crx.retrieve.query_language import query_langs
from crx.types import Ranking

# Texts read before anything is known of their time.
_PROBE = 4


@dataclass(frozen=True, slots=True)
class Reranked:
    """What became of a fused ranking.

    `scored` ranks the `read` candidates that the reranker saw, by its scores in (0, 1); `ranking`
    is the final order. `notes` says in one line each what was not done.
    """

    ranking: Ranking
    scored: Ranking
    read: int
    notes: tuple[str, ...] = ()


class ScoreCache:
    """Scores by reranker, query and text; the one not asked for the longest leaves first.

    An entry takes some 200 bytes. It may be used from several threads.
    """

    def __init__(self, *, size: int = 1 << 16) -> None:
        """Keep at most `size` scores."""
        self._size = size
        self._kept: OrderedDict[bytes, float] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def score(self, reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), in order; only texts not seen before are read.

        Raises `ModelError` where the reranker does, or gives something else.
        """
        keys = pair_keys(reranker.fingerprint, query, texts)
        known = self._find(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = checked_scores(reranker, query, list(missing.values()))
            known |= dict(zip(missing, fresh.tolist(), strict=True))
            self._keep({key: known[key] for key in missing})
        return np.array([known[key] for key in keys], np.float32)

    def _find(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
            for key in known:
                self._kept.move_to_end(key)
        return known

    def _keep(self, scores: dict[bytes, float]) -> None:
        with self._lock:
            self._kept.update(scores)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)


def rerank(
    query: str,
    fused: Ranking,
    texts: Sequence[str],
    *,
    reranker: Reranker,
    weight: float,
    rrf_k: float,
    k: int,
    ms: float = 0,
    min_relevance: float = 0,
    langs: Sequence[str] = (),
    cache: ScoreCache | None = None,
) -> Reranked:
    """Return the best k of a fused ranking once the reranker has read its head.

    `texts[i]` is the situated text of `fused.keys[i]`; where there are fewer texts than keys, the
    others are no candidates. The final order is the fusion by reciprocal ranks of the reranker's
    ranking (`weight`) and the fused one (1 - `weight`). What is not read stands behind what is, in
    the fused order.

    With `ms`, as many candidates are read, from the best down, as fit into that time; a first few
    always are. What scores below `min_relevance` is dropped; what was not read has no score and
    stays. `langs` are the languages of the index: a query in a language that the reranker does not
    claim is not reranked. `cache` keeps scores from call to call.

    A reranker that fails leaves the fused order, and a note. Raises `ValueError` for a weight
    outside of 0 to 1 and for more texts than keys.
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"the reranker's weight must be from 0 to 1, not {weight}")
    if len(texts) > len(fused.keys):
        raise ValueError(f"{len(texts)} texts for {len(fused.keys)} keys; give one a key")
    if why := _unclaimed(reranker, query, langs):
        return _unread(fused, k, why)
    try:
        parts = _scores(
            reranker, query, texts, ms=ms, cache=ScoreCache() if cache is None else cache
        )
        scores = np.concatenate([np.empty(0, np.float32), *parts])
    except ModelError as error:
        return _unread(fused, k, f"not reranked: {error}")
    scored = _ranked(fused.keys[: len(scores)], scores)
    order = np.concatenate([scored.keys, fused.keys[len(scores) :]])
    keys, values = _native.fuse(
        [order, fused.keys], weights=[weight, 1 - weight], rrf_k=rrf_k, k=len(order)
    )
    kept = ~np.isin(keys, scored.keys[scored.scores < min_relevance])
    notes = []
    if len(scores) < len(texts):
        notes.append(f"reranked {len(scores)} of {len(texts)} within {ms:g} ms")
    if dropped := len(keys) - int(kept.sum()):
        notes.append(f"dropped {dropped} of {len(scores)} below a relevance of {min_relevance:g}")
    return Reranked(Ranking(keys[kept][:k], values[kept][:k]), scored, len(scores), tuple(notes))


def _scores(
    reranker: Reranker, query: str, texts: Sequence[str], *, ms: float, cache: ScoreCache
) -> Iterator[NDArray[np.float32]]:
    """Yield the scores of the texts, slice by slice, until the time is up."""
    if not ms:
        yield cache.score(reranker, query, texts)
        return
    started = time.perf_counter()
    at, size = 0, _PROBE
    while at < len(texts) and size:
        part = texts[at : at + size]
        yield cache.score(reranker, query, part)
        at += len(part)
        elapsed = 1000 * (time.perf_counter() - started)
        fit = int((ms - elapsed) * at / elapsed) if elapsed > 0 else len(texts)
        # Half of what seems to fit: later texts may be longer than those before.
        size = max(0, fit if fit < 2 * _PROBE else fit // 2)


def _ranked(keys: NDArray[np.int64], scores: NDArray[np.float32]) -> Ranking:
    order = np.lexsort((keys, -scores))
    return Ranking(keys[order], scores[order])


def _unread(fused: Ranking, k: int, why: str) -> Reranked:
    none = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
    return Reranked(Ranking(fused.keys[:k], fused.scores[:k]), none, 0, (why,))


def _unclaimed(reranker: Reranker, query: str, langs: Sequence[str]) -> str:
    """Return why a query is not in a language that the reranker reads, or ""."""
    claimed = reranker.languages if isinstance(reranker, LanguageLimited) else ()
    asked = query_langs(query, langs) if claimed else ()
    if not asked or set(asked) & set(claimed):
        return ""
    return (
        f"not reranked: the query is in {' or '.join(asked)}, "
        f"the reranker reads {', '.join(claimed)}"
    )


def pair_keys(fingerprint: str, query: str, texts: Sequence[str]) -> list[bytes]:
    """Return what a score is kept by: a digest of the reranker, the query and the text."""
    who, asked = fingerprint.encode(), query.encode("utf-8", "surrogatepass")
    return [_native.digest(who, asked, text.encode("utf-8", "surrogatepass")) for text in texts]


def checked_scores(reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return (n,) float32 scores in (0, 1). Raises `ModelError` where it gives something else."""
    scores = reranker.score(query, texts)
    if scores.shape != (len(texts),) or scores.dtype != np.float32:
        raise ModelError(
            f"{reranker.fingerprint}: gave {scores.dtype} {scores.shape}, "
            f"not float32 {(len(texts),)}"
        )
    # Written so that a NaN fails too.
    if not ((scores > 0) & (scores < 1)).all():
        raise ModelError(f"{reranker.fingerprint}: gave a score that is not between 0 and 1")
    return scores
