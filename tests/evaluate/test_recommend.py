"""Recommendation of the cheapest row that is not significantly worse than the best."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from crx.evaluate import PipelineConfig, Results
from crx.evaluate.recommend import recommend, settings_of
from crx.evaluate.results import METRICS, IndexingStats

DENSE = PipelineConfig(contexts="none", legs="dense")
HYBRID = PipelineConfig(contexts="none")
OUTLINE = PipelineConfig(contexts="outline")
RERANKED = PipelineConfig(contexts="outline", rerank=True)
WRITTEN = PipelineConfig(contexts="outline+llama:a.gguf")


def results(found: Mapping[PipelineConfig, int], *, queries: int = 200) -> Results:
    """Return results in which each row finds its number of questions, the same ones first."""
    table = np.array([[float(at < n) for at in range(queries)] for n in found.values()])
    return Results(
        set="set",
        documents=1,
        queries=tuple(str(at) for at in range(queries)),
        rows=tuple(found),
        indexed={row.contexts: IndexingStats(1, 1.0, 1, 0) for row in found},
        values=dict.fromkeys(METRICS, table),
    )


@pytest.mark.parametrize(
    ("found", "row"),
    [
        ({DENSE: 100, HYBRID: 150, OUTLINE: 190}, OUTLINE),
        # A reranker that finds one question in 200 more is not worth it; ten are.
        ({DENSE: 100, OUTLINE: 180, RERANKED: 181}, OUTLINE),
        ({DENSE: 100, OUTLINE: 180, RERANKED: 190}, RERANKED),
        # A reranker is cheaper than contexts that a model writes.
        ({DENSE: 100, RERANKED: 190, WRITTEN: 190}, RERANKED),
        ({DENSE: 100, RERANKED: 170, WRITTEN: 190}, WRITTEN),
        ({DENSE: 100, HYBRID: 100, OUTLINE: 100}, DENSE),
    ],
)
def test_the_cheapest_row_that_is_not_significantly_worse_is_recommended(
    found: Mapping[PipelineConfig, int], row: PipelineConfig
) -> None:
    recommended = recommend(results(found))
    assert recommended.row == row
    assert recommended.row == recommended.best or not recommended.missed.significant


def test_fewer_questions_recommend_what_is_cheaper() -> None:
    few = results({DENSE: 8, HYBRID: 10}, queries=12)
    many = results({DENSE: 80, HYBRID: 100}, queries=120)
    assert (recommend(few).row, recommend(many).row) == (DENSE, HYBRID)


def test_the_settings_of_a_row_disable_the_legs_it_lacks() -> None:
    hybrid, dense = settings_of(OUTLINE), settings_of(DENSE)
    assert (hybrid["contexts"], hybrid["bm25_depth"], hybrid["dense_depth"]) == (
        "outline",
        None,
        None,
    )
    assert (dense["contexts"], dense["bm25_depth"]) == ("none", 0)
