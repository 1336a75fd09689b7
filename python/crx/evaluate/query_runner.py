"""Runs each question against one index and derives the metrics of all configurations.

Each leg ranks a question once. Fusion, reranking and passages are computed from those rankings, so
another configuration costs milliseconds. The time of a configuration is the sum of the times of
its steps, as a search would spend it.
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
from crx.evaluate.datasets import GoldSpan, Query
from crx.evaluate.failures import FailureLog
from crx.evaluate.metrics import coverage, gold_ranks, ndcg_at_k, recall_at_k, reciprocal_rank
from crx.evaluate.pipeline_config import PipelineConfig
from crx.evaluate.results import BUDGETS, MAX_K, METRICS, Values
from crx.evaluate.timed_models import QueryVectors, TimedReranker
from crx.retrieve.search import LEGS, Ranking, Reranking, Searcher
from crx.retrieve.search_models import SearchModels

if TYPE_CHECKING:
    from crx.retrieve.search import Leg

# Chunks of a ranking: more than fit into 8,000 tokens, and more than are reranked.
RANKING_DEPTH = 150


@dataclass(frozen=True, slots=True)
class TimedRanking:
    """A ranking and the milliseconds it took."""

    ranking: Ranking
    ms: float


@dataclass(frozen=True, slots=True)
class SizedSpan:
    """A span of a document and its length in tokens of the embedder."""

    span: GoldSpan
    tokens: int


class QueryRunner:
    """Runs questions against one committed state of an index, with its models.

    `notes` counts the notes of the searches, such as a reranker that failed. Failed questions are
    recorded in `failures`.
    """

    def __init__(
        self,
        searcher: Searcher,
        *,
        models: SearchModels,
        vectors: QueryVectors,
        reranking: Reranking | None = None,
        failures: FailureLog | None = None,
    ) -> None:
        self._searcher = searcher
        self._weights = models.weights
        self._recency = models.recency
        self._vectors = vectors
        self._reranking = reranking
        self._failures = failures
        self._rows: dict[int, _native.ChunkRow] = {}
        self.notes: Counter[str] = Counter()

    def run(
        self,
        query: Query,
        configurations: Sequence[PipelineConfig],
        *,
        baselines: Mapping[str, TimedRanking] | None = None,
    ) -> list[dict[str, float]]:
        """Return the value of each metric for each configuration.

        `baselines` are rankings that were made elsewhere, by the name of their legs.
        """
        found = {**self._search_legs(query.text), **(baselines or {})}
        ranked: dict[tuple[str, bool, bool], TimedRanking] = {}
        values = []
        for each in configurations:
            key = (each.legs, each.recency, each.rerank)
            if key not in ranked:
                timed = found[each.legs]
                if each.recency:
                    timed = self._boost_recent(timed)
                ranked[key] = self._rerank(query.text, timed) if each.rerank else timed
            values.append(self._measure(query, each, ranked[key]))
        return values

    def search_dense(self, text: str) -> TimedRanking:
        """Return the ranking of the dense leg for a text; its time includes the embedding."""
        self._vectors.embed([text], query=True)
        return self._search_leg(text, "dense", extra_ms=self._vectors.ms(text))

    def _search_legs(self, text: str) -> dict[str, TimedRanking]:
        return {
            "bm25": self._search_leg(text, "bm25"),
            "dense": self.search_dense(text),
            "hybrid": self._search_both(text),
        }

    def _search_both(self, text: str) -> TimedRanking:
        started = time.perf_counter()
        rankings = self._retrieve(text, LEGS)
        fused, notes = self._searcher.fuse(
            text, rankings, weights=self._weights, embedder=self._vectors, k=RANKING_DEPTH
        )
        self.notes.update(notes)
        return TimedRanking(fused, _ms_since(started) + self._vectors.ms(text))

    def _search_leg(self, text: str, leg: Leg, *, extra_ms: float = 0.0) -> TimedRanking:
        started = time.perf_counter()
        rankings = self._retrieve(text, (leg,))
        empty = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
        return TimedRanking(rankings.get(leg, empty), _ms_since(started) + extra_ms)

    def _retrieve(self, text: str, legs: Sequence[Leg]) -> dict[Leg, Ranking]:
        return self._searcher.retrieve(
            text, weights=self._weights, embedder=self._vectors, legs=legs
        )

    def _boost_recent(self, timed: TimedRanking) -> TimedRanking:
        assert self._recency is not None, "a configuration ranks by time, but the setting is off"
        started = time.perf_counter()
        boosted = self._searcher.boost_recent(timed.ranking, recency=self._recency, k=RANKING_DEPTH)
        self.notes.update(boosted.notes)
        return TimedRanking(boosted.ranking, timed.ms + _ms_since(started))

    def _rerank(self, text: str, timed: TimedRanking) -> TimedRanking:
        assert self._reranking is not None, "a configuration is reranked, but there is no reranker"
        reranked = self._searcher.rerank(
            text,
            timed.ranking,
            reranking=self._reranking,
            k=RANKING_DEPTH,
        )
        self.notes.update([*reranked.notes, *([reranked.limit] if reranked.limit else [])])
        scorer = self._reranking.reranker
        per_text = scorer.ms_per_text if isinstance(scorer, TimedReranker) else 0.0
        return TimedRanking(reranked.ranking, timed.ms + reranked.scored_count * per_text)

    def _measure(
        self, query: Query, configuration: PipelineConfig, timed: TimedRanking
    ) -> dict[str, float]:
        gold = query.gold
        ranking = timed.ranking
        if isinstance(configuration.window, int):
            ranking = Ranking(
                ranking.keys[: configuration.window], ranking.scores[: configuration.window]
            )
        rows = self._load_chunks(ranking.keys)
        chunks = [_sized_span(row) for row in rows]
        ranks = gold_ranks([chunk.span for chunk in chunks[:MAX_K]], gold)
        if self._failures is not None:
            self._failures.record(configuration, query, ranks=ranks, chunks=rows[:MAX_K])
        started = time.perf_counter()
        auto = configuration.window == "auto"
        prompts = [
            self._passages(ranking, budget) if auto else _fit_budget(chunks, budget)
            for budget in BUDGETS
        ]
        widening_ms = _ms_since(started) / len(BUDGETS) if auto else 0.0
        values = [
            *(recall_at_k(ranks, k) for k in range(1, MAX_K + 1)),
            reciprocal_rank(ranks),
            ndcg_at_k(ranks, 10),
            *(coverage(spans, gold) for spans in prompts),
            sum(chunk.tokens for chunk in chunks[:MAX_K]),
            timed.ms + widening_ms,
        ]
        return dict(zip(METRICS, values, strict=True))

    def _passages(self, ranking: Ranking, budget: int) -> list[GoldSpan]:
        """Return the passages of a ranking under a budget of tokens.

        They are chosen among as many hits as the best chunks are, with which they are compared.
        """
        passages = self._searcher.widen(
            self._searcher.hits(ranking, {}),
            window="auto",
            budget_tokens=budget,
            window_tokens=budget,
        )
        return [GoldSpan(p.uri, p.start, p.end) for p in passages]

    def _load_chunks(self, keys: NDArray[np.int64]) -> list[_native.ChunkRow]:
        """Return the chunks of a ranking; each is read from the store once."""
        missing = [key for key in keys.tolist() if key not in self._rows]
        if missing:
            rows = self._searcher.store.chunks(np.array(missing, dtype=np.int64))
            self._rows |= {row.key: row for row in rows}
        return [self._rows[key] for key in keys.tolist()]


def run_queries(
    runner: QueryRunner,
    queries: Sequence[Query],
    configurations: Sequence[PipelineConfig],
    *,
    baselines: Sequence[Mapping[str, TimedRanking]] | None = None,
) -> dict[str, Values]:
    """Return each metric as (configurations, queries) float64."""
    table = np.empty((len(METRICS), len(configurations), len(queries)))
    for at, query in enumerate(queries):
        values = runner.run(query, configurations, baselines=baselines[at] if baselines else None)
        table[:, :, at] = np.array([[each[m] for each in values] for m in METRICS])
    return dict(zip(METRICS, table, strict=True))


def _sized_span(row: _native.ChunkRow) -> SizedSpan:
    return SizedSpan(GoldSpan(row.uri, row.start, row.end), row.token_end - row.token_start)


def _fit_budget(spans: Sequence[SizedSpan], budget: int) -> list[GoldSpan]:
    """Return the best spans that fit whole into a prompt of `budget` tokens, in order."""
    held, used = [], 0
    for span in spans:
        used += span.tokens
        if used > budget:
            break
        held.append(span.span)
    return held


def _ms_since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)
