"""Recommendation: the cheapest configuration that the questions do not tell from the best.

The cheapest whose difference to the best is not significant. Fewer questions tell less apart and so
recommend what is cheaper; the interval says what may be missed by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crx.config import Value
from crx.evaluate.configuration import CHUNKS, Configuration
from crx.evaluate.results import METRIC, Results
from crx.evaluate.statistics import Difference, difference
from crx.registry import parse_contexts


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The row to use, the row it is measured against, the best row, and how they differ.

    `gain` is what the row has over the baseline, `missed` what the best has over the row.
    """

    row: Configuration
    baseline: Configuration
    best: Configuration
    metric: str
    gain: Difference
    missed: Difference


def recommend(results: Results, *, metric: str = "") -> Recommendation:
    """Return the cheapest row that is not significantly worse than the best.

    Cheaper is what needs no contexts of a model, then no reranker, then fewer legs, then no
    outline. Rows that only fill the prompt otherwise are left out, unless the metric is a coverage.
    """
    metric = metric or METRIC
    rows = [row for row in results.rows if metric.startswith("coverage") or row.window == CHUNKS]
    # Of equal rows the cheaper one is the best.
    best = max(sorted(rows, key=_cost), key=lambda row: results.mean(row, metric))
    for row in sorted(rows, key=_cost):
        missed = difference(results.of(best, metric), results.of(row, metric))
        if row == best or not missed.significant:
            break
    baseline = results.rows[0]
    gain = difference(results.of(row, metric), results.of(baseline, metric))
    return Recommendation(row, baseline, best, metric, gain, missed)


def settings_of(row: Configuration, *, reranker: str = "") -> Mapping[str, Value | None]:
    """Return the settings that make a configuration the default; None takes one back to its own.

    Contexts that a model writes are no setting: the index gets them by `crx contextualize`.
    """
    return {
        "contexts": "outline" if parse_contexts(row.contexts).outline else "none",
        "bm25_depth": 0 if row.legs == "dense" else None,
        "dense_depth": 0 if row.legs == "bm25" else None,
        "reranker": reranker if row.rerank else "",
    }


def _cost(row: Configuration) -> tuple[bool, bool, int, bool, bool]:
    return (*row.cost, row.window != CHUNKS)
