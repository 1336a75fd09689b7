"""Metrics of a ranking against gold spans."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from crx_evaluate.datasets import Gold, GoldSpan
from crx_evaluate.metrics import (
    coverage,
    gold_ranks,
    ndcg_at_k,
    recall_at_k,
    reciprocal_rank,
    whole_items,
)


def gold(*places: tuple[str, int, int]) -> Gold:
    return Gold(tuple(GoldSpan(*place) for place in places))


def chunks(*places: tuple[str, int, int]) -> list[GoldSpan]:
    return [GoldSpan(*place) for place in places]


def test_an_item_is_found_by_half_of_its_characters() -> None:
    item = gold(("a", 10, 20))
    assert gold_ranks(chunks(("a", 0, 15)), [item]) == [1]
    assert gold_ranks(chunks(("a", 0, 14)), [item]) == [None]


def test_the_union_of_chunks_counts_and_an_overlap_counts_once() -> None:
    item = gold(("a", 0, 10))
    assert gold_ranks(chunks(("a", 0, 3), ("a", 1, 4), ("a", 4, 5)), [item]) == [3]


def test_another_document_does_not_count() -> None:
    assert gold_ranks(chunks(("b", 0, 10)), [gold(("a", 0, 10))]) == [None]


def test_the_first_of_several_gold_spans_that_is_found_counts() -> None:
    item = gold(("a", 0, 10), ("b", 0, 10))
    assert gold_ranks(chunks(("c", 0, 1), ("b", 0, 10), ("a", 0, 10)), [item]) == [2]


def test_parts_of_two_gold_spans_are_not_added() -> None:
    item = gold(("a", 0, 10), ("b", 0, 10))
    assert gold_ranks(chunks(("a", 0, 4), ("b", 0, 4)), [item]) == [None]


def test_recall_and_reciprocal_rank_of_known_ranks() -> None:
    ranks = [3, None, 1, 20]
    assert [recall_at_k(ranks, k) for k in (1, 3, 20)] == [0.25, 0.5, 0.75]
    assert reciprocal_rank(ranks) == 1.0
    assert reciprocal_rank([None]) == 0.0


def test_ndcg_of_known_ranks() -> None:
    assert ndcg_at_k([1], 10) == 1.0
    assert ndcg_at_k([3], 10) == 1 / math.log2(4)
    assert ndcg_at_k([None, 11], 10) == 0.0
    both = 1 + 1 / math.log2(3)
    assert ndcg_at_k([3, 1], 10) == (1 + 1 / math.log2(4)) / both
    # One chunk that finds two items is no better than two chunks that find one each.
    assert ndcg_at_k([1, 1], 10) == 1.0


@given(st.lists(st.none() | st.integers(1, 20), min_size=1, max_size=8), st.integers(0, 7))
def test_ndcg_is_at_most_1_and_a_better_rank_never_lowers_it(
    ranks: list[int | None], at: int
) -> None:
    before = ndcg_at_k(ranks, 10)
    ranks[at % len(ranks)] = 1
    assert 0 <= before <= ndcg_at_k(ranks, 10) <= 1


def test_coverage_counts_each_gold_character_once() -> None:
    items = [gold(("a", 0, 10)), gold(("b", 0, 30))]
    assert coverage(chunks(("a", 5, 20), ("a", 4, 6), ("c", 0, 99)), items) == 6 / 40
    assert coverage(chunks(("a", 0, 10), ("b", 0, 30)), items) == 1.0
    assert coverage([], items) == 0.0


def test_the_gold_span_with_the_largest_share_counts() -> None:
    item = gold(("a", 0, 100), ("b", 0, 10))
    assert coverage(chunks(("a", 0, 50), ("b", 0, 6)), [item]) == 0.6


def test_an_answer_stands_whole_if_passages_together_have_all_of_one_span() -> None:
    items = [gold(("a", 0, 10), ("b", 0, 10)), gold(("b", 20, 30))]
    assert whole_items(chunks(("b", 0, 6), ("b", 5, 29)), items) == 0.5
    assert whole_items(chunks(("a", 0, 10), ("b", 20, 30)), items) == 1.0
    assert whole_items(chunks(("a", 0, 9), ("b", 1, 10)), items[:1]) == 0.0


spans = st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 10)).map(
    lambda t: (t[0], t[1], t[1] + t[2])
)


@given(st.lists(spans, max_size=8), spans)
def test_the_rank_equals_that_of_counting_characters(
    ranking: list[tuple[str, int, int]], place: tuple[str, int, int]
) -> None:
    wanted = {(place[0], at) for at in range(place[1], place[2])}
    seen: set[tuple[str, int]] = set()
    expected = None
    for rank, (doc, start, end) in enumerate(ranking, start=1):
        seen |= {(doc, at) for at in range(start, end)}
        if 2 * len(seen & wanted) >= len(wanted):
            expected = rank
            break
    assert gold_ranks(chunks(*ranking), [gold(place)]) == [expected]


@given(st.lists(spans, max_size=8), st.lists(spans, min_size=1, max_size=3))
def test_coverage_equals_that_of_counting_characters(
    passages: list[tuple[str, int, int]], places: list[tuple[str, int, int]]
) -> None:
    seen = {(doc, at) for doc, start, end in passages for at in range(start, end)}
    wanted = [[(doc, at) for at in range(start, end)] for doc, start, end in places]
    held = sum(at in seen for place in wanted for at in place)
    share = coverage(chunks(*passages), [gold(place) for place in places])
    assert share == held / sum(map(len, wanted))
