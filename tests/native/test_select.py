"""Selection of passages under a budget, through the binding; see also `rust/passages/tests.rs`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._native import PassageRow, choose


def even(chunks: int) -> np.ndarray:
    """A document of chunks of 100 tokens and 400 code points."""
    at = np.arange(chunks, dtype=np.uint32)
    columns = (at * 400, at * 400 + 400, at * 100, at * 100 + 100, at * 0)
    return np.stack(columns, axis=1).astype(np.uint32)


def chosen(
    hits: list[tuple[int, int]], layouts: dict[int, np.ndarray], **options: object
) -> list[PassageRow]:
    """Return the passages of hits (document, ordinal), best first."""
    docs, ordinals = zip(*hits, strict=True)
    return choose(
        np.array(docs, dtype=np.int64),
        np.array(ordinals, dtype=np.uint32),
        np.float32(1) / np.arange(1, len(hits) + 1, dtype=np.float32),
        layouts=layouts,
        **options,  # type: ignore[arg-type]
    )


def test_what_hits_leave_of_the_budget_goes_to_the_weak_chunk_between_two_of_them() -> None:
    rows = chosen([(1, 4), (2, 0), (1, 6)], {1: even(30), 2: even(30)}, budget_tokens=400)
    assert [(row.doc, row.first, row.last, row.tokens, row.hits) for row in rows] == [
        (1, 4, 6, 300, [0, 2]),
        (2, 0, 0, 100, [1]),
    ]
    assert [(row.start, row.end, row.score) for row in rows] == [(1600, 2800, 1.0), (0, 400, 0.5)]


def test_the_last_hits_are_left_out_where_the_budget_is_short() -> None:
    rows = chosen([(1, 4), (2, 0), (1, 6)], {1: even(30), 2: even(30)}, budget_tokens=250)
    assert [(row.doc, row.first, row.last, row.hits) for row in rows] == [
        (1, 4, 4, [0]),
        (2, 0, 0, [1]),
    ]


def test_document_order_is_by_document_and_start() -> None:
    rows = chosen([(2, 9), (1, 3)], {1: even(30), 2: even(30)}, budget_tokens=200, order="document")
    assert [(row.doc, row.first) for row in rows] == [(1, 3), (2, 9)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "best"}, "neither"),
        ({"layouts": {}}, "document 1 is missing"),
        ({"layouts": {1: even(2)}}, "3 is not below 2"),
        ({"layouts": {1: even(4)[:, :4].copy()}}, "4 columns"),
    ],
)
def test_a_bad_argument_is_named(options: dict[str, object], message: str) -> None:
    given = {"layouts": {1: even(4)}, "budget_tokens": 100} | options
    with pytest.raises(ValueError, match=message):
        chosen([(1, 3)], **given)  # type: ignore[arg-type]


@given(
    hits=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 19)), min_size=1, max_size=30),
    budget=st.integers(1, 3000),
    section=st.booleans(),
)
def test_passages_fit_the_budget_and_one_holds_the_best_hit(
    hits: list[tuple[int, int]], budget: int, *, section: bool
) -> None:
    layouts = {doc: even(20) for doc in range(3)}
    rows = chosen(hits, layouts, budget_tokens=budget, within_section=section)
    assert sum(row.tokens for row in rows) <= max(budget, 100)
    assert 0 in rows[0].hits
    assert all(hits[hit][0] == row.doc for row in rows for hit in row.hits)
