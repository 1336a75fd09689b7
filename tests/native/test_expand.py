"""Window expansion: hits become passages that can be read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._native import PassageRow, widen


def even(chunks: int, *, sections: int = 1) -> np.ndarray:
    """A document of chunks of 10 tokens and 40 code points, in sections of equal length."""
    at = np.arange(chunks, dtype=np.uint32)
    section = at * sections // chunks
    return np.stack([at * 40, at * 40 + 40, at * 10, at * 10 + 10, section], axis=1).astype(
        np.uint32
    )


def passages(
    hits: list[tuple[int, int, float]], layouts: dict[int, np.ndarray], **options: object
) -> list[PassageRow]:
    docs, ordinals, scores = zip(*hits, strict=True)
    return widen(
        np.array(docs, dtype=np.int64),
        np.array(ordinals, dtype=np.uint32),
        np.array(scores, dtype=np.float32),
        layouts=layouts,
        **options,  # type: ignore[arg-type]
    )


def fields(row: PassageRow) -> tuple[object, ...]:
    names = ("doc", "start", "end", "first", "last", "tokens", "score", "hits")
    return tuple(getattr(row, name) for name in names)


def test_a_hit_grows_by_whole_neighbours_up_to_the_budget() -> None:
    (row,) = passages([(7, 3, 0.5)], {7: even(10)}, budget_tokens=35)
    assert fields(row) == (7, 80, 200, 2, 4, 30, 0.5, [0])


def test_neighbours_of_another_section_stay_away() -> None:
    (row,) = passages(
        [(7, 4, 1.0)], {7: even(10, sections=2)}, budget_tokens=60, within_section=True
    )
    assert (row.first, row.last) == (0, 4)


def test_windows_that_touch_merge_and_score_as_their_best_hit() -> None:
    rows = passages([(1, 2, 0.25), (2, 0, 0.5), (1, 5, 0.75)], {1: even(9), 2: even(1)}, window=1)
    assert [fields(row) for row in rows] == [
        (1, 40, 280, 1, 6, 60, 0.75, [2, 0]),
        (2, 0, 40, 0, 0, 10, 0.5, [1]),
    ]


def test_document_order_is_a_choice() -> None:
    hits = [(2, 0, 0.9), (1, 8, 0.1), (1, 0, 0.5)]
    rows = passages(hits, {1: even(9), 2: even(1)}, order="document")
    assert [(row.doc, row.first) for row in rows] == [(1, 0), (1, 8), (2, 0)]


def test_overlapping_chunks_count_their_shared_tokens_once() -> None:
    layout = np.array([[0, 60, 0, 15, 0], [40, 100, 10, 25, 0]], dtype=np.uint32)
    (row,) = passages([(1, 0, 1.0)], {1: layout}, budget_tokens=25)
    assert (row.start, row.end, row.tokens) == (0, 100, 25)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget_tokens": 5, "window": 1}, "give one of them"),
        ({"order": "best"}, "neither"),
        ({"layouts": {}}, "document 1 is missing"),
        ({"layouts": {1: even(2)}}, "3 is not below 2"),
        ({"layouts": {1: even(4)[:, :4].copy()}}, "4 columns"),
    ],
)
def test_a_bad_argument_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        passages([(1, 3, 1.0)], **({"layouts": {1: even(4)}} | options))  # type: ignore[arg-type]


@given(
    hits=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 19), st.integers(0, 5)), min_size=1),
    budget=st.integers(0, 120),
    section=st.booleans(),
)
def test_every_hit_is_in_one_passage_and_passages_are_apart(
    hits: list[tuple[int, int, float]], budget: int, *, section: bool
) -> None:
    layouts = {doc: even(20, sections=3) for doc in range(3)}
    rows = passages(hits, layouts, budget_tokens=budget, within_section=section, order="document")
    assert sorted(hit for row in rows for hit in row.hits) == list(range(len(hits)))
    for row in rows:
        members = [hits[hit] for hit in row.hits]
        assert all(doc == row.doc and row.first <= at <= row.last for doc, at, _ in members)
        assert row.score == max(score for *_, score in members)
        assert row.tokens == (row.last - row.first + 1) * 10
        assert len(members) > 1 or row.tokens <= max(budget, 10)
    for before, after in pairwise(rows):
        assert before.doc < after.doc or before.last + 1 < after.first
