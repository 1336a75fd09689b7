"""Rule of the reranker: the best candidates are ordered by the scores of a cross-encoder, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.ingest.embedding_prefix import embedding_prefix
from crx.protocols import Remote, Reranker
from crx.retrieve.query_language import declared_langs, undeclared_langs, unread_langs
from crx.retrieve.rows import ChunkRow
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search_state import EMPTY, Search
from crx.retrieve.timed_scoring import TimedScoring
from crx.sending import sending_notice, text_bytes
from crx.types import Note, Ranking


class RerankResult(NamedTuple):
    """A fused ranking after reranking.

    `ranking` is the final order, `scored` the candidates that were scored, by their scores in
    (0, 1). `notes` are warnings of one line each; one says how many were scored if the time was not
    enough for all. `limit` says why candidates were not scored although neither time was missing
    nor anything failed, such as the language of the query; it is empty if all were.
    """

    ranking: Ranking
    scored: Ranking
    notes: tuple[str, ...] = ()
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank:
    """A reranker and its numbers; see `config.Settings`.

    `reads` candidates are scored at most. `asked` tells whether this search asked for it: then a
    query in a language that the reranker does not read is noted. `clock` tells the seconds that
    `ms` limits; None is the machine's.
    """

    name: ClassVar[str] = "rerank"
    reranker: Reranker
    reads: int
    weight: float
    ms: float
    min_relevance: float
    cache: ScoreCache
    asked: bool = True
    clock: Callable[[], float] | None = None

    def applies(self, search: Search) -> bool:
        """Return True: what the reranker does not read is seen by the query and the texts."""
        return True

    def apply(self, search: Search) -> Search:
        """Return the search with its best candidates reranked.

        Source code, and chunks in a language that the reranker does not read, keep their ranks.
        """
        # A chunk that was removed from the store since the legs were searched is no candidate.
        fused = search.ranking
        rows = search.rows.read(fused.keys.tolist())
        stored = np.array([key in rows for key in fused.keys.tolist()], bool)
        candidates = [rows[key] for key in fused.keys.tolist() if key in rows]
        langs = search.searcher.langs
        undeclared = undeclared_langs(declared_langs(self.reranker), langs)
        unread = np.array([row.lang in undeclared for row in candidates], bool)
        is_code = np.array([row.kind == "code" for row in candidates], bool)
        reranked = rerank(
            search.query,
            Ranking(fused.keys[stored], fused.scores[stored]),
            [_situated_text(row) for row in candidates],
            reranker=self.reranker,
            weight=self.weight,
            ms=self.ms,
            min_relevance=self.min_relevance,
            langs=langs,
            in_place=unread | is_code,
            cache=self.cache,
            clock=self.clock,
        )
        limit = reranked.limit
        if not limit and unread.any():
            found = {row.lang for row in candidates}
            which = ", ".join(lang for lang in undeclared if lang in found)
            count = unread.sum()
            limit = f"not reranked: {count} hits in {which}, which the reranker does not read"
        rankings = {**search.rankings, self.name: reranked.scored}
        search = search._replace(ranking=reranked.ranking, rankings=rankings)
        # What the embedder has reranked is not told as left out.
        is_told = self.asked and not len(search.rankings.get("late_interaction", EMPTY).keys)
        return search.noting(*reranked.notes, limit if is_told else "")


def rerank(
    query: str,
    fused: Ranking,
    texts: Sequence[str],
    *,
    reranker: Reranker,
    weight: float,
    ms: float = 0,
    min_relevance: float = 0,
    langs: Sequence[str] = (),
    in_place: NDArray[np.bool_] | None = None,
    cache: ScoreCache | None = None,
    clock: Callable[[], float] | None = None,
) -> RerankResult:
    """Rerank the head of a fused ranking.

    `texts[i]` is the situated text of `fused.keys[i]`; keys without a text are not candidates. The
    candidates that were scored are ordered among themselves, by a convex combination of the
    reranker's logits (`weight`) and the fused scores (1 - `weight`), both relative: 1 is the best
    candidate and 0 the worst. Equal ones keep the fused order. All other keys keep their rank, as
    do those that `in_place` (one element a text) marks, which are not scored. The scores of the
    result are the fused ones, by rank.

    `ms` limits the time, by `clock` in seconds: candidates are scored from the best down while they
    fit, and the first in any case; 0 is no limit. A candidate that scores below `min_relevance` is
    dropped; one without a score stays.
    `langs` are the languages of the index: a query in a language that the reranker does not declare
    is not reranked. `cache` keeps scores between calls.

    If the reranker fails, the fused order is returned with a note. Raises `ValueError` for a weight
    outside 0 to 1 and for more texts than keys.
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"the reranker's weight must be from 0 to 1, not {weight}")
    if len(texts) > len(fused.keys):
        raise ValueError(f"{len(texts)} texts for {len(fused.keys)} keys; give one a key")
    if unread := unread_langs(reranker, query, langs):
        asked, read = " or ".join(unread), ", ".join(declared_langs(reranker))
        limit = f"not reranked: the query is in {asked}, the reranker reads {read}"
        return RerankResult(fused, EMPTY, limit=limit)
    candidates = np.arange(len(texts))
    if in_place is not None:
        candidates = candidates[~in_place]
    cache = ScoreCache() if cache is None else cache
    scoring = TimedScoring(reranker, query, ms=ms, cache=cache, clock=clock)
    try:
        scores = scoring.score([texts[at] for at in candidates.tolist()])
    except ModelError as error:
        notes = [*_sending(reranker, scoring.given), f"not reranked: {error}"]
        return RerankResult(fused, EMPTY, tuple(notes))
    notes = _sending(reranker, scoring.given)
    positions = candidates[: len(scores)]
    best = np.argsort(-scores, kind="stable")
    scored = Ranking(fused.keys[positions][best], scores[best])
    order = fused.keys.copy()
    logits = np.log(scores) - np.log1p(-scores)
    values = weight * _relative(logits) + (1 - weight) * _relative(fused.scores[positions])
    order[positions] = order[positions][np.argsort(-values, kind="stable")]
    kept = ~np.isin(order, scored.keys[scored.scores < min_relevance])
    if dropped := len(order) - int(kept.sum()):
        notes.append(f"dropped {dropped} of {len(scores)} below a relevance of {min_relevance:g}")
    if len(scores) < len(candidates):
        notes.append(Note(f"reranked {len(scores)} of {len(candidates)} within {ms:g} ms", "limit"))
    ranking = Ranking(order[kept], fused.scores[kept])
    return RerankResult(ranking, scored, tuple(notes))


def _situated_text(row: ChunkRow) -> str:
    """Return a chunk after its outline and context, as the embedder and the reranker read it."""
    prefix = embedding_prefix(row.outline, row.context)
    return f"{prefix}\n{row.text}" if prefix else row.text


def _sending(reranker: Reranker, texts: Sequence[str]) -> list[str]:
    """Return the note on the texts that were sent to a service, none if none were."""
    if not texts or not isinstance(reranker, Remote):
        return []
    n_bytes = sum(map(text_bytes, texts))
    notice = sending_notice(reranker, {"query": 1, "chunk": len(texts)}, n_bytes=n_bytes)
    return [notice] if notice else []


def _relative(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores moved and scaled to reach from 0 to 1; equal ones are all 0."""
    lowest, highest = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    relative: NDArray[np.float32] = (scores - lowest) / ((highest - lowest) or np.float32(1))
    return relative
