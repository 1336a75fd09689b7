"""Ask every question of one index, once, and work out all configurations from the answers.

Each leg's ranking of a question is made once. Fusing, reranking and filling a prompt start from
those rankings, so a configuration more costs milliseconds; what each step took is measured where
it ran and added up as a search would have spent it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.evaluate.configuration import Configuration
from crx.evaluate.datasets import Gold, GoldSpan, Query
from crx.evaluate.metrics import covered, ndcg_at_k, ranks_found, recall_at_k, reciprocal_rank
from crx.evaluate.results import BUDGETS, DEPTH, METRICS, Values
from crx.evaluate.score_cache import StoredScores
from crx.index import Index
from crx.protocols import Embedder, LanguageLimited, Reranker
from crx.retrieve.rerank import digest_pairs, score_checked
from crx.retrieve.search import LEGS, Ranking, Reranking, fuse

if TYPE_CHECKING:
    from crx.retrieve.search import Leg

# Chunks of a ranking that are kept: more than 8,000 tokens, and than a reranker reads.
KEPT = 150


@dataclass(frozen=True, slots=True)
class Timed:
    """A ranking and the milliseconds it took."""

    ranking: Ranking
    ms: float


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a document and how many of the embedder's tokens it holds."""

    place: GoldSpan
    tokens: int


class QueryVectors:
    """An embedder whose vectors of queries are each made once, however many rungs are asked."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._ms: dict[str, float] = {}

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        return self._embedder.token_starts(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) rows, each of its own call, as a search makes it."""
        for text in texts:
            if text not in self._rows:
                started = time.perf_counter()
                self._rows[text] = self._embedder.embed([text], query=query)[0]
                self._ms[text] = 1000 * (time.perf_counter() - started)
        return np.stack([self._rows[text] for text in texts])

    def put(self, text: str, row: NDArray[np.float32], *, ms: float) -> None:
        """Let a (d,) unit row that took so long stand for a text."""
        self._rows[text], self._ms[text] = row, ms

    def ms(self, text: str) -> float:
        """Return what the vector of a query took when it was made."""
        return self._ms[text]


class TimedReranker:
    """A reranker that counts what it scores, so that a score kept from before has its price too.

    With `kept`, scores of runs before are not made again; they count as what they took then.
    """

    def __init__(self, reranker: Reranker, *, kept: StoredScores | None = None) -> None:
        self._reranker = reranker
        self._kept = kept
        self._seconds, self._texts = kept.spent(self.fingerprint) if kept else (0.0, 0)

    @property
    def fingerprint(self) -> str:
        return self._reranker.fingerprint

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1). Raises what the reranker and the file raise."""
        if self._kept is None:
            return self._score(query, texts)[0]
        keys = digest_pairs(self.fingerprint, query, texts)
        known = self._kept.find(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            scores, seconds = self._score(query, list(missing.values()))
            fresh = dict(zip(missing, scores.tolist(), strict=True))
            self._kept.keep(self.fingerprint, fresh, seconds=seconds)
            known |= fresh
        return np.array([known[key] for key in keys], np.float32)

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes of what it claims to read; none: it does not say."""
        reranker = self._reranker
        return reranker.languages if isinstance(reranker, LanguageLimited) else ()

    @property
    def ms_per_text(self) -> float:
        """Return the mean milliseconds of a text that was scored."""
        return 1000 * self._seconds / max(1, self._texts)

    def _score(self, query: str, texts: Sequence[str]) -> tuple[NDArray[np.float32], float]:
        started = time.perf_counter()
        scores = score_checked(self._reranker, query, texts)
        seconds = time.perf_counter() - started
        self._seconds += seconds
        self._texts += len(texts)
        return scores, seconds


class Asker:
    """One opened index at one rung, and what its legs found of one question after another.

    `notes` counts what a search would have noted, such as a reranker that failed.
    """

    def __init__(
        self,
        index: Index,
        *,
        vectors: QueryVectors,
        reranking: Reranking | None = None,
    ) -> None:
        self._index = index
        self._searcher = index.searcher()
        self._weights = index.weights()
        self._vectors = vectors
        self._reranking = reranking
        self._rows: dict[int, _native.ChunkRow] = {}
        self.notes: Counter[str] = Counter()

    def ask(
        self,
        query: Query,
        configurations: Sequence[Configuration],
        *,
        others: Mapping[str, Timed] | None = None,
    ) -> list[dict[str, float]]:
        """Return the value of each metric for each configuration.

        `others` are rankings that no leg of this index makes, by the name of their legs.
        """
        found = {**self._legs(query.text), **(others or {})}
        ranked: dict[tuple[str, bool], Timed] = {}
        values = []
        for each in configurations:
            key = (each.legs, each.rerank)
            if key not in ranked:
                timed = found[each.legs]
                ranked[key] = self._rerank(query.text, timed) if each.rerank else timed
            values.append(self._measure(query.gold, each, ranked[key]))
        return values

    def dense(self, text: str) -> Timed:
        """Return what the dense leg finds for a text, its embedding included."""
        self._vectors.embed([text], query=True)
        return self._leg(text, "dense", extra=self._vectors.ms(text))

    def _legs(self, text: str) -> dict[str, Timed]:
        legs: dict[str, Timed] = {"bm25": self._leg(text, "bm25"), "dense": self.dense(text)}
        started = time.perf_counter()
        rankings: dict[Leg, Ranking] = {leg: legs[leg].ranking for leg in LEGS}
        fused = fuse(rankings, weights=self._weights, k=KEPT)
        ms = max(timed.ms for timed in legs.values()) + _since(started)
        return {**legs, "hybrid": Timed(fused, ms)}

    def _leg(self, text: str, leg: Leg, *, extra: float = 0.0) -> Timed:
        started = time.perf_counter()
        rankings = self._searcher.retrieve(
            text, weights=self._weights, embedder=self._vectors, legs=(leg,)
        )
        empty = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
        return Timed(rankings.get(leg, empty), _since(started) + extra)

    def _rerank(self, text: str, timed: Timed) -> Timed:
        assert self._reranking is not None, "a configuration reranks, but with nothing"
        reranked = self._searcher.rerank(
            text,
            timed.ranking,
            reranking=self._reranking,
            rrf_k=self._weights.rrf_k,
            k=KEPT,
        )
        self.notes.update(reranked.notes)
        scorer = self._reranking.reranker
        per_text = scorer.ms_per_text if isinstance(scorer, TimedReranker) else 0.0
        return Timed(reranked.ranking, timed.ms + reranked.scored_count * per_text)

    def _measure(
        self, gold: Sequence[Gold], configuration: Configuration, timed: Timed
    ) -> dict[str, float]:
        ranking = timed.ranking
        if isinstance(configuration.window, int):
            ranking = Ranking(
                ranking.keys[: configuration.window], ranking.scores[: configuration.window]
            )
        chunks = [_span(row) for row in self._chunks(ranking.keys)]
        ranks = ranks_found([chunk.place for chunk in chunks[:DEPTH]], gold)
        started = time.perf_counter()
        auto = configuration.window == "auto"
        read = [self._passages(ranking, b) if auto else _within(chunks, b) for b in BUDGETS]
        widened = _since(started) / len(BUDGETS) if auto else 0.0
        values = [
            *(recall_at_k(ranks, k) for k in range(1, DEPTH + 1)),
            reciprocal_rank(ranks),
            ndcg_at_k(ranks, 10),
            *(covered(places, gold) for places in read),
            sum(chunk.tokens for chunk in chunks[:DEPTH]),
            timed.ms + widened,
        ]
        return dict(zip(METRICS, values, strict=True))

    def _passages(self, ranking: Ranking, budget: int) -> list[GoldSpan]:
        """Return the passages that a search hands over for its k best hits under a budget."""
        best = Ranking(ranking.keys[:DEPTH], ranking.scores[:DEPTH])
        passages = self._searcher.widen(
            self._searcher.hits(best, {}),
            window="auto",
            budget_tokens=budget,
            window_tokens=budget,
        )
        return [GoldSpan(p.uri, p.start, p.end) for p in passages]

    def _chunks(self, keys: NDArray[np.int64]) -> list[_native.ChunkRow]:
        """Return the chunks of a ranking, each read from the store once."""
        missing = [key for key in keys.tolist() if key not in self._rows]
        if missing:
            rows = self._index.store.chunks(np.array(missing, dtype=np.int64))
            self._rows |= {row.key: row for row in rows}
        return [self._rows[key] for key in keys.tolist()]


def ask_all(
    asker: Asker,
    queries: Sequence[Query],
    configurations: Sequence[Configuration],
    *,
    others: Sequence[Mapping[str, Timed]] | None = None,
) -> dict[str, Values]:
    """Return each metric as (configurations, queries) float64."""
    table = np.empty((len(METRICS), len(configurations), len(queries)))
    for at, query in enumerate(queries):
        values = asker.ask(query, configurations, others=others[at] if others else None)
        table[:, :, at] = np.array([[each[m] for each in values] for m in METRICS])
    return dict(zip(METRICS, table, strict=True))


def _span(row: _native.ChunkRow) -> Span:
    return Span(GoldSpan(row.uri, row.start, row.end), row.token_end - row.token_start)


def _within(spans: Sequence[Span], budget: int) -> list[GoldSpan]:
    """Return the best spans that a prompt of so many tokens holds whole, in order."""
    held, used = [], 0
    for span in spans:
        used += span.tokens
        if used > budget:
            break
        held.append(span.place)
    return held


def _since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)
