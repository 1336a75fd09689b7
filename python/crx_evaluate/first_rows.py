"""The rows of an ablation that a reader needs first, each compared with the same row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crx_evaluate.pipeline_config import CHUNKS, PipelineConfig
from crx_evaluate.recommend import Recommendation
from crx_evaluate.results import PRIMARY_METRIC, Results
from crx_evaluate.statistics import Difference, difference

# Rows that are shown before the table of all.
MOST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRow:
    """A row, what it is ("best"), its figures, and its difference to the row of comparison.

    Figures are shares, and milliseconds a query. `difference` is None for the row of comparison.
    """

    name: str
    roles: tuple[str, ...]
    recall_at_5: float
    recall_at_20: float
    mrr: float
    ms: float
    difference: Difference | None


def choose_first_rows(
    results: Results,
    found: Recommendation,
    *,
    metric: str = "",
    baseline: PipelineConfig | None = None,
) -> list[FirstRow]:
    """Return at most `MOST` rows, in the order of the results.

    They are the row of comparison, the recommended and the best row, and then the search by both
    legs and each leg of the last source of contexts, and of those before it.
    """
    compared = baseline if baseline is not None else found.baseline
    chosen = list(dict.fromkeys(_by_interest(results, found, compared)))[:MOST]
    roles = {
        "compared with": compared,
        "recommended": found.row if found.supported else None,
        "best": found.best,
    }
    metric = metric or PRIMARY_METRIC
    return [
        FirstRow(
            name=row.name,
            roles=tuple(role for role, holder in roles.items() if holder == row),
            recall_at_5=results.mean(row, "recall@5"),
            recall_at_20=results.mean(row, PRIMARY_METRIC),
            mrr=results.mean(row, "mrr"),
            ms=results.mean(row, "ms"),
            difference=None
            if row == compared
            else difference(results.values_of(row, metric), results.values_of(compared, metric)),
        )
        for row in results.rows
        if row in chosen
    ]


def _by_interest(
    results: Results, found: Recommendation, compared: PipelineConfig
) -> Iterator[PipelineConfig]:
    yield from (compared, found.row, found.best)
    searches = [row for row in results.rows if row.window == CHUNKS]
    sources = list(dict.fromkeys(row.contexts for row in searches))
    for source in reversed(sources):
        own = [row for row in searches if row.contexts == source]
        yield from sorted(own, key=lambda row: (row.legs != "hybrid", not row.rerank))
