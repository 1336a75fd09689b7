"""The row that is recommended: the cheapest that the questions do not tell from the best."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from crx.evaluate import Configuration, Results
from crx.evaluate.recommend import recommend, settings_of
from crx.evaluate.results import METRICS, Indexed

DENSE = Configuration(contexts="none", legs="dense")
HYBRID = Configuration(contexts="none")
OUTLINE = Configuration(contexts="outline")
RERANKED = Configuration(contexts="outline", rerank=True)
WRITTEN = Configuration(contexts="outline+llama:a.gguf")


def results(found: Mapping[Configuration, int], *, queries: int = 200) -> Results:
    """Rows that each find the first so many of the questions."""
    table = np.array([[float(at < n) for at in range(queries)] for n in found.values()])
    return Results(
        set="set",
        documents=1,
        queries=tuple(str(at) for at in range(queries)),
        rows=tuple(found),
        indexed={row.contexts: Indexed(1, 1.0, 1, 0) for row in found},
        values=dict.fromkeys(METRICS, table),
    )


@pytest.mark.parametrize(
    ("found", "row"),
    [
        ({DENSE: 100, HYBRID: 150, OUTLINE: 190}, OUTLINE),
        # One question in 200 is no reason for a reranker, ten are.
        ({DENSE: 100, OUTLINE: 180, RERANKED: 181}, OUTLINE),
        ({DENSE: 100, OUTLINE: 180, RERANKED: 190}, RERANKED),
        # A reranker is cheaper than contexts that a model writes.
        ({DENSE: 100, RERANKED: 190, WRITTEN: 190}, RERANKED),
        ({DENSE: 100, RERANKED: 170, WRITTEN: 190}, WRITTEN),
        ({DENSE: 100, HYBRID: 100, OUTLINE: 100}, DENSE),
    ],
)
def test_the_cheapest_row_that_is_not_told_from_the_best(
    found: Mapping[Configuration, int], row: Configuration
) -> None:
    recommended = recommend(results(found))
    assert recommended.row == row
    assert recommended.row == recommended.best or not recommended.missed.significant


def test_fewer_questions_recommend_what_is_cheaper() -> None:
    few = results({DENSE: 8, HYBRID: 10}, queries=12)
    many = results({DENSE: 80, HYBRID: 100}, queries=120)
    assert (recommend(few).row, recommend(many).row) == (DENSE, HYBRID)


def test_the_settings_of_a_row_switch_off_what_it_lacks() -> None:
    hybrid, dense = settings_of(OUTLINE), settings_of(DENSE)
    assert (hybrid["contexts"], hybrid["bm25_depth"], hybrid["dense_depth"]) == (
        "outline",
        None,
        None,
    )
    assert (dense["contexts"], dense["bm25_depth"]) == ("none", 0)
