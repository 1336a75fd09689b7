"""Recommendation of a configuration: the cheapest one that is not significantly worse.

A difference that is not significant is no evidence that two rows are equally good: with few
questions no difference is significant. So the interval must also exclude that the row loses more
than `MAX_LOSS` against the best; otherwise there are too few questions for a recommendation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crx.config import Value
from crx.context_registry import parse_contexts
from crx_evaluate.pipeline_config import CHUNKS, PipelineConfig
from crx_evaluate.results import PRIMARY_METRIC, WHOLE, Results
from crx_evaluate.statistics import Difference, difference, upper_bound_of_none

# The largest loss against the best row that a recommendation may leave open, of a metric in [0, 1].
MAX_LOSS = 0.1


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The cheapest row that is not significantly worse than the best, and how the two differ.

    `gain` is the difference of the row to the baseline, `missed` that of the best to the row. The
    questions do not exclude that the row loses `max_missed` against the best.
    """

    row: PipelineConfig
    baseline: PipelineConfig
    best: PipelineConfig
    metric: str
    gain: Difference
    missed: Difference
    max_missed: float

    @property
    def supported(self) -> bool:
        """Whether there are enough questions to recommend the row."""
        return self.max_missed <= MAX_LOSS


def recommend(results: Results, *, metric: str = "") -> Recommendation:
    """Find the cheapest row that is not significantly worse than the best; see `supported`.

    Rows are ordered by cost: contexts by a model, then a reranker, then the number of legs, then
    the outline. Rows that differ only in the window are left out unless the metric is of tokens.
    """
    metric = metric or PRIMARY_METRIC
    rows = [row for row in results.rows if metric in WHOLE or row.window == CHUNKS]
    # Of equally good rows, the cheapest is the best.
    best = max(sorted(rows, key=_cost), key=lambda row: results.mean(row, metric))
    for row in sorted(rows, key=_cost):
        missed = difference(results.values_of(best, metric), results.values_of(row, metric))
        if row == best or not missed.significant:
            break
    baseline = results.rows[0]
    gain = difference(results.values_of(row, metric), results.values_of(baseline, metric))
    # The bootstrap interval has no width if the two rows agree on every question.
    max_missed = max(missed.high, upper_bound_of_none(len(results.queries)))
    return Recommendation(row, baseline, best, metric, gain, missed, max_missed)


def settings_of(row: PipelineConfig, *, reranker: str = "") -> Mapping[str, Value | None]:
    """Return the settings that make a configuration the default; None resets one to its default.

    Contexts by a model are not a setting: `crx contextualize` adds them to an index.
    """
    return {
        "contexts": "outline" if parse_contexts(row.contexts).outline else "none",
        "rank.fusion.dense": {"bm25": 0.0, "dense": 1.0}.get(row.legs),
        "reranker": reranker if row.rerank else "",
    }


def _cost(row: PipelineConfig) -> tuple[bool, bool, int, bool, bool]:
    return (*row.cost, row.window != CHUNKS)
