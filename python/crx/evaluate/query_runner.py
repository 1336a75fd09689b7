"""Runs each question against one index and derives the metrics of all configurations.

Each leg ranks a question once. Fusion, reranking and passages are computed from those rankings, so
another configuration costs milliseconds. The time of a configuration is the sum of the times of
its steps, as a search would spend it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from crx.evaluate.datasets import GoldSpan, Query
from crx.evaluate.failures import FailureLog
from crx.evaluate.metrics import (
    gold_ranks,
    ndcg_at_k,
    recall_at_k,
    reciprocal_rank,
    whole_items,
)
from crx.evaluate.pipeline_config import PipelineConfig
from crx.evaluate.results import BUDGETS, MAX_K, METRICS, Values
from crx.evaluate.timed_models import QueryVectors
from crx.retrieve.code_order import order_code
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.hits import read_hits
from crx.retrieve.leg_search import search_legs
from crx.retrieve.parameters import Reranking, SearchParameters
from crx.retrieve.ports import Searcher
from crx.retrieve.recency import boost_newer
from crx.retrieve.request import SearchRequest
from crx.retrieve.rerank import is_note_on_time, rerank_candidates
from crx.retrieve.rows import ChunkRow
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search import run_stages
from crx.retrieve.search_models import SearchModels
from crx.retrieve.search_state import EMPTY, ChunkRows, Search, Stage, start_search
from crx.retrieve.unknown_words import keep_near
from crx.retrieve.widen import widen
from crx.types import LEGS, Leg, Ranking

# Chunks of a ranking: more than fit into 4,000 tokens, and more than are reranked.
RANKING_DEPTH = 150
_ORDERING: Sequence[tuple[str, Stage]] = (("fuse", fuse_legs), ("code", order_code))
_BOTH_LEGS = (("retrieve", search_legs), ("words", keep_near), *_ORDERING)


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
        self._parameters = SearchParameters(
            weights=models.weights,
            k=RANKING_DEPTH,
            budget_tokens=max(BUDGETS),
            window_tokens=max(BUDGETS),
            embedder=vectors,
            reranking=reranking,
            recency=models.recency,
            code=models.code,
        )
        self._vectors = vectors
        self._failures = failures
        self._rows = ChunkRows(searcher)
        self.notes: Counter[str] = Counter()
        # How many candidates of each ranking were scored.
        self._scored: list[int] = []

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
        wanted = {configuration.legs for configuration in configurations}
        found = {**self._search_legs(query.text, wanted), **(baselines or {})}
        ranked: dict[tuple[str, bool, bool], TimedRanking] = {}
        values = []
        for configuration in configurations:
            key = (configuration.legs, configuration.recency, configuration.rerank)
            if key not in ranked:
                timed = found[configuration.legs]
                if configuration.recency:
                    timed = self._boost_newer(query.text, timed)
                ranked[key] = self._rerank(query.text, timed) if configuration.rerank else timed
            values.append(self._measure(query, configuration, ranked[key]))
        return values

    def search_dense(self, text: str) -> TimedRanking:
        """Return the ranking of the dense leg for a text; its time includes the embedding."""
        self._vectors.embed([text], query=True)
        return self._search_leg(text, "dense", extra_ms=self._vectors.ms(text))

    def _search_legs(self, text: str, wanted: Set[str]) -> dict[str, TimedRanking]:
        found = {}
        if "bm25" in wanted:
            found["bm25"] = self._search_leg(text, "bm25")
        if not wanted.isdisjoint(("dense", "hybrid")):
            # The query is embedded once, before the search whose time is taken.
            found["dense"] = self.search_dense(text)
            found["hybrid"] = self._search_both(text)
        return found

    def _search_both(self, text: str) -> TimedRanking:
        search = self._run(self._start(text), _BOTH_LEGS)
        ms = sum(search.times.get(name, 0) for name in ("retrieve", "words", "fuse", "code"))
        return TimedRanking(search.ranking, ms + self._vectors.ms(text))

    def _search_leg(self, text: str, leg: Leg, *, extra_ms: float = 0.0) -> TimedRanking:
        search = self._run(self._start(text, legs=(leg,)), [("retrieve", search_legs)])
        if leg == "bm25":
            # As a search without vectors, which orders source code, too.
            search = self._run(search, _ORDERING)
            ms = search.times["retrieve"] + search.times.get("code", 0)
            return TimedRanking(search.ranking, ms)
        return TimedRanking(search.rankings.get(leg, EMPTY), search.times["retrieve"] + extra_ms)

    def _boost_newer(self, text: str, timed: TimedRanking) -> TimedRanking:
        assert self._parameters.recency is not None, "ranks by time, but the setting is off"
        search = self._run(self._start(text, ranking=timed.ranking), [("recency", boost_newer)])
        return TimedRanking(search.ranking, timed.ms + search.times["recency"])

    def _rerank(self, text: str, timed: TimedRanking) -> TimedRanking:
        reranking = self._parameters.reranking
        assert reranking is not None, "a configuration is reranked, but there is no reranker"
        search = self._start(text, ranking=timed.ranking)
        # Scores that another configuration asked for would take no time.
        alone = search.parameters._replace(reranking=reranking._replace(cache=ScoreCache()))
        clock = reranking.clock or time.perf_counter
        started = clock()
        search = self._run(search._replace(parameters=alone), [("rerank", rerank_candidates)])
        ms = 1000 * (clock() - started)
        scored = len(search.rankings["rerank"].keys)
        if all(map(is_note_on_time, search.notes)):
            self._scored.append(scored)
        return TimedRanking(search.ranking, timed.ms + ms)

    def _start(self, text: str, *, legs: Sequence[Leg] = LEGS, ranking: Ranking = EMPTY) -> Search:
        """Return the search for a text after the stages that gave a ranking."""
        request = SearchRequest(query=text, legs=legs)
        search = start_search(request, parameters=self._parameters, searcher=self._searcher)
        return search._replace(ranking=ranking)

    def _run(self, search: Search, stages: Sequence[tuple[str, Stage]]) -> Search:
        after = run_stages(search, stages)
        self.notes.update(note for note in after.notes if not is_note_on_time(note))
        return after

    def describe_reranking(self) -> str:
        """Return how many candidates were scored, and within which time; "" if nothing was."""
        reranking = self._parameters.reranking
        if reranking is None or not self._scored:
            return ""
        limit = (
            f"within rerank_ms = {reranking.ms:g}" if reranking.ms else "without a limit of time"
        )
        none = sum(not scored for scored in self._scored)
        left = f"; {none} of {len(self._scored)} rankings were not reranked" if none else ""
        mean = sum(self._scored) / len(self._scored)
        return f"reranked {mean:.1f} of at most {reranking.depth} candidates, {limit}{left}"

    def _measure(
        self, query: Query, configuration: PipelineConfig, timed: TimedRanking
    ) -> dict[str, float]:
        gold = query.gold
        ranking = timed.ranking
        if isinstance(configuration.window, int):
            ranking = Ranking(
                ranking.keys[: configuration.window], ranking.scores[: configuration.window]
            )
        keys = ranking.keys.tolist()
        known = self._rows.read(keys)
        rows = [known[key] for key in keys]
        chunks = [_sized_span(row) for row in rows]
        ranks = gold_ranks([chunk.span for chunk in chunks[:MAX_K]], gold)
        if self._failures is not None:
            self._failures.record(configuration, query, ranks=ranks, chunks=rows[:MAX_K])
        started = time.perf_counter()
        auto = configuration.window == "auto"
        returned = self._passages(query.text, ranking) if auto else chunks
        widening_ms = _ms_since(started) if auto else 0.0
        values = [
            *(recall_at_k(ranks, k) for k in range(1, MAX_K + 1)),
            reciprocal_rank(ranks),
            ndcg_at_k(ranks, 10),
            *(whole_items(_first_tokens(returned, budget), gold) for budget in BUDGETS),
            sum(chunk.tokens for chunk in chunks[:MAX_K]),
            timed.ms + widening_ms,
        ]
        return dict(zip(METRICS, values, strict=True))

    def _passages(self, text: str, ranking: Ranking) -> list[SizedSpan]:
        """Return the passages of a ranking, best first.

        They are chosen among as many hits as the best chunks are, with which they are compared.
        """
        passages = widen(
            read_hits(self._start(text, ranking=ranking)).hits,
            documents=self._searcher.documents,
            window="auto",
            budget_tokens=max(BUDGETS),
            window_tokens=max(BUDGETS),
        )
        return [SizedSpan(GoldSpan(p.uri, p.start, p.end), p.tokens) for p in passages]


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
        table[:, :, at] = np.array([[value[m] for value in values] for m in METRICS])
    return dict(zip(METRICS, table, strict=True))


def _sized_span(row: ChunkRow) -> SizedSpan:
    return SizedSpan(GoldSpan(row.uri, row.start, row.end), row.token_end - row.token_start)


def _first_tokens(spans: Sequence[SizedSpan], budget: int) -> list[GoldSpan]:
    """Return the first `budget` tokens of spans in order; the last span is cut in proportion."""
    first: list[GoldSpan] = []
    left = budget
    for each in spans:
        span = each.span
        if each.tokens > left:
            end = span.start + (span.end - span.start) * left // each.tokens
            return [*first, replace(span, end=end)]
        first.append(span)
        left -= each.tokens
    return first


def _ms_since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)
