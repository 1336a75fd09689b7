"""Runs each question against one index and derives the metrics of all configurations.

Each configuration is the search that ships, without the rules that it leaves out. A vector and a
score of the reranker are computed once. The time of a configuration is the sum of the times of its
steps, as a search would spend it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crx.retrieve import search as shipped
from crx.retrieve.hits import read_hits
from crx.retrieve.ports import Searcher
from crx.retrieve.request import SearchRequest
from crx.retrieve.rows import ChunkRow
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search import LEG_STEPS, run_rules, run_steps
from crx.retrieve.search_models import SearchModels
from crx.retrieve.search_state import EMPTY, ChunkRows, Search, append, start_search
from crx.retrieve.widen import widen
from crx.types import LEGS, Leg, Ranking
from crx_evaluate.datasets import GoldSpan, Query
from crx_evaluate.failures import FailureLog
from crx_evaluate.metrics import (
    gold_ranks,
    ndcg_at_k,
    recall_at_k,
    reciprocal_rank,
    whole_items,
)
from crx_evaluate.pipeline_config import CHUNKS, PipelineConfig
from crx_evaluate.results import BUDGETS, MAX_K, METRICS, Values
from crx_evaluate.timed_models import QueryVectors

# Chunks of a ranking: more than fit into 4,000 tokens, and more than are reranked.
RANKING_DEPTH = 150
# Times that are parts of another, and that of the reranker, whose clock tells it.
_PARTS = frozenset({"bm25", "dense", "embed", "rerank"})


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
        rerank: Rerank | None = None,
        failures: FailureLog | None = None,
    ) -> None:
        self._searcher = searcher
        self._models = models
        self._rerank = rerank
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
        ranked: dict[PipelineConfig, TimedRanking] = {}
        values = []
        for configuration in configurations:
            row = replace(configuration, window=CHUNKS)
            if row not in ranked:
                ranked[row] = self.rank(query.text, row, (baselines or {}).get(row.legs))
            values.append(self._measure(query, configuration, ranked[row]))
        return values

    def search_dense(self, text: str) -> TimedRanking:
        """Return the ranking of the dense leg for a text; its time includes the embedding."""
        self._vectors.embed([text], query=True)
        search = run_steps(self._start(text, legs=("dense",)), LEG_STEPS)
        return TimedRanking(search.ranking, search.times["retrieve"] + self._vectors.ms(text))

    def rank(
        self, text: str, row: PipelineConfig, baseline: TimedRanking | None = None
    ) -> TimedRanking:
        """Return the ranking of a configuration: the hits, and behind them the other candidates."""
        rerank_rule = self._rerank_alone() if row.rerank else None
        clock = (rerank_rule and rerank_rule.clock) or time.perf_counter
        started = clock()
        if baseline is None:
            search = self._search(text, row, rerank_rule)
        else:
            search = self._start(text, ranking=baseline.ranking)
            search = run_rules(search, [rerank_rule] if rerank_rule else [])
        rerank_ms = 1000 * (clock() - started) if rerank_rule else 0.0
        ms = sum(ms for name, ms in search.times.items() if name not in _PARTS) + rerank_ms
        if baseline is not None:
            ms += baseline.ms
        elif row.legs != "bm25":
            ms += self._vectors.ms(text)
        self._note(search)
        return TimedRanking(_whole_ranking(search), ms)

    def _search(self, text: str, row: PipelineConfig, rerank_rule: Rerank | None) -> Search:
        has_vectors = row.legs != "bm25"
        if has_vectors:
            # The query is embedded once, before the search whose time is taken.
            self._vectors.embed([text], query=True)
        request = SearchRequest(
            query=text,
            # The row of BM25 is a search without vectors, which orders source code, too.
            legs=("dense",) if row.legs == "dense" else LEGS,
            without=[row.without] * bool(row.without) + ["recency"] * (not row.recency),
        )
        parameters = self._models.parameters_of(
            self._vectors if has_vectors else None, rerank=rerank_rule
        )
        return shipped.rank(request, parameters=parameters, searcher=self._searcher)

    def _rerank_alone(self) -> Rerank:
        """Return the rule; scores that another configuration asked for would take no time."""
        assert self._rerank is not None, "a configuration is reranked, but there is no reranker"
        return replace(self._rerank, cache=ScoreCache())

    def _start(self, text: str, *, legs: Sequence[Leg] = LEGS, ranking: Ranking = EMPTY) -> Search:
        """Return the search for a text after the steps that gave a ranking."""
        request = SearchRequest(query=text, legs=legs)
        parameters = self._models.parameters_of(self._vectors, rerank=None)
        search = start_search(request, parameters=parameters, searcher=self._searcher)
        return search._replace(ranking=ranking)

    def _note(self, search: Search) -> None:
        """Count the notes of a search, but those on its query, and what was reranked."""
        self.notes.update(note for note in search.notes if note.kind not in ("limit", "query"))
        if "rerank" in search.rankings and all(note.kind == "limit" for note in search.notes):
            self._scored.append(len(search.rankings["rerank"].keys))

    def describe_reranking(self) -> str:
        """Return how many candidates were scored, and within which time; "" if nothing was."""
        rule = self._rerank
        if rule is None or not self._scored:
            return ""
        limit = f"within rank.rerank.ms = {rule.ms:g}" if rule.ms else "without a limit of time"
        none = sum(not scored for scored in self._scored)
        left = f"; {none} of {len(self._scored)} rankings were not reranked" if none else ""
        mean = sum(self._scored) / len(self._scored)
        return f"reranked {mean:.1f} of at most {rule.reads} candidates, {limit}{left}"

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


def _whole_ranking(search: Search) -> Ranking:
    """Return the hits of a search and, behind them, candidates that were cut off."""
    left_out = np.array([*search.dropped.union(*search.copies.values())], np.int64)
    rest = search.rest
    kept = ~np.isin(rest.keys, left_out)
    whole = append(search.ranking, rest.keys[kept], rest.scores[kept])
    return Ranking(whole.keys[:RANKING_DEPTH], whole.scores[:RANKING_DEPTH])


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
