"""Recommendation of the cheapest row that is not significantly worse than the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from crx_evaluate import PipelineConfig, Results, plots
from crx_evaluate.recommend import recommend, settings_of
from crx_evaluate.results import METRICS, IndexingStats

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


@pytest.mark.parametrize(
    ("found", "queries", "supported"),
    [
        # The difference of 3 in 20 is not significant, but may be as large as 6 in 20.
        ({DENSE: 14, HYBRID: 17}, 20, False),
        ({DENSE: 17, HYBRID: 17}, 20, False),
        ({DENSE: 84, HYBRID: 85}, 100, True),
        ({DENSE: 140, HYBRID: 170}, 200, True),
    ],
)
def test_too_few_questions_support_no_recommendation(
    *, found: Mapping[PipelineConfig, int], queries: int, supported: bool
) -> None:
    assert recommend(results(found, queries=queries)).supported is supported


def test_the_steps_are_not_drawn_for_too_few_questions() -> None:
    pytest.importorskip("matplotlib")
    few, many = (results({DENSE: 7 * n, HYBRID: 10 * n}, queries=10 * n) for n in (2, 20))
    one_row = results({DENSE: 100}, queries=200)
    drawn = ["steps" in plots.draw_figures(each) for each in (few, many, one_row)]
    assert drawn == [False, True, False]


def test_the_settings_of_a_row_disable_the_legs_it_lacks() -> None:
    hybrid, dense = settings_of(OUTLINE), settings_of(DENSE)
    assert (hybrid["contexts"], hybrid["rank.fusion.dense"]) == ("outline", None)
    assert (dense["contexts"], dense["rank.fusion.dense"]) == ("none", 1.0)
    assert settings_of(replace(DENSE, legs="bm25"))["rank.fusion.dense"] == 0.0
