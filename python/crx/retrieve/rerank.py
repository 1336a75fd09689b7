"""Stage of the reranker: the best candidates are ordered by the scores of a cross-encoder, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.ingest.embedding_prefix import embedding_prefix
from crx.ingest.source_code import is_source_code
from crx.protocols import Remote, Reranker
from crx.remote.destination import sending_notice, text_bytes
from crx.retrieve.query_language import declared_langs, undeclared_langs, unread_langs
from crx.retrieve.rows import ChunkRow
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search_state import Search
from crx.thread_count import thread_count
from crx.types import Ranking

# Texts scored before the time that one takes can be estimated.
_FIRST_BATCH = 2
# Estimates from fewer texts are not halved: there is hardly a longer one among them.
_SMALL_BATCH = 8
# Milliseconds of a batch. The time is asked between batches, and other work on the machine can make
# one take ten times as long as those before.
_BATCH_MS = 10
# With fewer scored candidates than these, or than there are, the fused order stays: it is the same
# in every search, and a few scores change it by chance.
LEAST_SCORED = 10


class RerankResult(NamedTuple):
    """A fused ranking after reranking.

    `ranking` is the final order. `scored` holds the candidates that were scored, by their scores
    in (0, 1), and `scored_count` how many there were. `notes` are warnings of one line each; one
    says how many were scored if the time was not enough for all. `limit` says why candidates were
    not scored although neither time was missing nor anything failed, such as the language of the
    query; it is empty if all were.
    """

    ranking: Ranking
    scored: Ranking
    scored_count: int
    notes: tuple[str, ...] = ()
    limit: str = ""


def rerank_candidates(search: Search) -> Search:
    """Return the search with its best candidates reranked, if it has a reranker.

    Source code, and chunks in a language that the reranker does not read, keep their ranks.
    """
    reranking = search.parameters.reranking
    if reranking is None:
        return search
    # A chunk that was removed from the store since the legs were searched is no candidate.
    fused = search.ranking
    head, tail = np.split(fused.keys, [reranking.depth])
    rows = search.rows.read(head.tolist())
    stored = np.array([key in rows for key in head.tolist()], bool)
    stored = np.concatenate([stored, np.ones(len(tail), bool)])
    candidates = [rows[key] for key in head.tolist() if key in rows]
    langs = search.searcher.langs
    undeclared = undeclared_langs(declared_langs(reranking.reranker), langs)
    unread = np.array([row.lang in undeclared for row in candidates], bool)
    is_code = np.array([is_source_code(row.text) for row in candidates], bool)
    reranked = rerank(
        search.query,
        Ranking(fused.keys[stored], fused.scores[stored]),
        [situated_text(row) for row in candidates],
        reranker=reranking.reranker,
        weight=reranking.weight,
        k=search.k,
        ms=reranking.ms,
        min_relevance=reranking.min_relevance,
        langs=langs,
        in_place=unread | is_code,
        cache=reranking.cache,
        clock=reranking.clock,
    )
    limit = reranked.limit
    if not limit and unread.any():
        found = {row.lang for row in candidates}
        which = ", ".join(lang for lang in undeclared if lang in found)
        limit = f"not reranked: {unread.sum()} hits in {which}, which the reranker does not read"
    return search._replace(
        ranking=reranked.ranking, rankings={**search.rankings, "rerank": reranked.scored}
    ).noting(*reranked.notes, limit if reranking.asked else "")


def is_note_on_time(note: str) -> bool:
    """Return whether a note of a search is on candidates that there was no time to score."""
    return note.startswith(("reranked ", "not reranked: fewer"))


def situated_text(row: ChunkRow) -> str:
    """Return a chunk after its outline and context, as the embedder and the reranker read it."""
    before = embedding_prefix(row.outline, row.context)
    return f"{before}\n{row.text}" if before else row.text


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
    clock: Callable[[], float] | None = None,
) -> RerankResult:
    """Rerank the head of a fused ranking and return the best k.

    `texts[i]` is the situated text of `fused.keys[i]`; keys without a text are not candidates. The
    candidates that were scored are ordered among themselves, by a convex combination of the
    reranker's logits (`weight`) and the fused scores (1 - `weight`), both relative: 1 is the best
    candidate and 0 the worst. Equal ones keep the fused order. All other keys keep their rank, as
    do those that `in_place` (one element a text) marks, which are not scored. The scores of the
    result are the fused ones, by rank.

    `ms` limits the time, by `clock` in seconds: candidates are scored from the best down while they
    fit; 0 is no limit. If fewer than `LEAST_SCORED` fit, and not all, the fused order is returned
    with a note. A candidate that scores below `min_relevance` is dropped; one without a
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
            clock=clock or time.perf_counter,
        )
        scores = np.concatenate([np.empty(0, np.float32), *parts])
    except ModelError as error:
        return _not_reranked(fused, k, notes=(f"not reranked: {error}",))
    least = min(LEAST_SCORED, len(candidates))
    if len(scores) < least:
        note = (
            f"not reranked: fewer than {least} of {len(candidates)} candidates fit into "
            f"{ms:g} ms; rerank_ms={ms * 10:g} gives more time"
        )
        return _not_reranked(fused, k, notes=(note,))
    positions = candidates[: len(scores)]
    scored = _sort_by_score(fused.keys[positions], scores)
    order = fused.keys.copy()
    logits = np.log(scores) - np.log1p(-scores)
    values = weight * _relative(logits) + (1 - weight) * _relative(fused.scores[positions])
    order[positions] = order[positions][np.argsort(-values, kind="stable")]
    kept = ~np.isin(order, scored.keys[scored.scores < min_relevance])
    sent = [texts[at] for at in positions.tolist()]
    n_bytes = sum(map(text_bytes, sent)) if isinstance(reranker, Remote) else 0
    notice = sending_notice(reranker, {"query": 1, "chunk": len(sent)}, n_bytes=n_bytes)
    notes = [notice] if notice else []
    if dropped := len(order) - int(kept.sum()):
        notes.append(f"dropped {dropped} of {len(scores)} below a relevance of {min_relevance:g}")
    if len(scores) < len(candidates):
        notes.append(f"reranked {len(scores)} of {len(candidates)} within {ms:g} ms")
    ranking = Ranking(order[kept][:k], fused.scores[kept][:k])
    return RerankResult(ranking, scored, len(scores), tuple(notes))


def _score_batches(
    reranker: Reranker,
    query: str,
    texts: Sequence[str],
    *,
    ms: float,
    cache: ScoreCache,
    clock: Callable[[], float],
) -> Iterator[NDArray[np.float32]]:
    """Yield the scores of the texts, batch by batch, until the time is up or too few fit."""
    if not ms:
        yield cache.score(reranker, query, texts)
        return
    started = clock()
    remote = isinstance(reranker, Remote)
    threads = 1 if remote else thread_count()
    # Those that were scored before take no time, and tell nothing of that of the others.
    known = cache.has(reranker, query, texts)
    least = min(LEAST_SCORED, len(texts))
    at, scored, size, elapsed = 0, 0, _FIRST_BATCH, 0.0
    while at < len(texts) and size:
        end = _reach(known, at, fresh=size)
        fresh = known[at:end].count(False)
        yield cache.score(reranker, query, texts[at:end])
        at, scored = end, scored + fresh
        if not fresh:
            return
        before, elapsed = elapsed, 1000 * (clock() - started)
        fit = int((ms - elapsed) * scored / elapsed) if elapsed > 0 else len(texts)
        if _reach(known, at, fresh=max(0, fit)) < least:
            return
        # Half of the estimate: later texts may be longer than those scored so far.
        fit = max(0, fit if fit < _SMALL_BATCH else fit // 2)
        slowest = max((elapsed - before) / fresh, elapsed / scored)
        # A request to a service takes about as long with many texts as with few.
        size = fit if remote else min(fit, 2 * size, _short_batch(slowest, threads=threads))


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
