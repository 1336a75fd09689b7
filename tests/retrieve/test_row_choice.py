"""Choice of rows: what counts in prose and in source code."""

from __future__ import annotations

from crx.retrieve.row_choice import choose_code, choose_prose, find_terms
from crx.types import Hit, Stage


def make_hit(rank: int) -> Hit:
    return Hit(1, 1.0, "a.md", "A", 0, 0, 1, "a", "", "", {"bm25": Stage(rank, 1.0)})


def test_rare_terms_of_the_passage_weigh_more_and_known_ones_less() -> None:
    rows = ["krill and whales", "whales", "whales", "a seal"]
    terms = find_terms(rows, query="whales, krill, seals", known=set())
    assert terms.rows == [{"krill", "whale"}, {"whale"}, {"whale"}, {"seal"}]
    assert terms.weights["krill"] == terms.weights["seal"] > terms.weights["whale"]
    assert round(sum(terms.weights.values()), 6) == 1
    known = find_terms(rows, query="whales, krill, seals", known={"seal"})
    assert known.weights["krill"] > known.weights["whale"] > known.weights["seal"]


def test_a_query_without_words_shows_the_best_chunk() -> None:
    terms = find_terms(["one", "two", "three", "four"], query="?", known=set())
    hits = [[make_hit(9)], [make_hit(9)], [make_hit(1)], [make_hit(1)]]
    assert choose_prose(terms, hits, [1.0] * 4, [0.0] * 4, count=2) == [range(2, 4)]


def test_few_rows_are_shown_whole() -> None:
    terms = find_terms(["krill", "whales"], query="krill", known=set())
    assert choose_prose(terms, [[], []], [1.0, 1.0], [0.0, 0.0], count=5) == [range(2)]
    assert choose_code(terms, [1, 1], count=5) == range(2)


def test_pieces_of_three_rows_are_taken_where_the_words_are() -> None:
    rows = ["rest"] * 30
    rows[4], rows[20] = "krill", "whales"
    terms = find_terms(rows, query="krill and whales", known=set())
    hits = [[make_hit(1)]] * 30
    assert choose_prose(terms, hits, [1.0] * 30, [0.0] * 30, count=6) == [
        range(3, 6),
        range(19, 22),
    ]


def test_rows_that_are_shown_already_are_taken_last() -> None:
    rows = ["krill"] * 6
    terms = find_terms(rows, query="krill", known=set())
    hits = [[make_hit(1)]] * 6
    shown = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert choose_prose(terms, hits, [1.0] * 6, shown, count=3) == [range(3, 6)]
    assert choose_prose(terms, hits, [1.0] * 6, [1.0] * 6, count=3) == [range(3)]


def test_source_code_is_one_window_with_most_terms_in_good_hits() -> None:
    rows = ["rest"] * 30
    rows[4] = rows[20] = "krill"
    terms = find_terms(rows, query="krill", known=set())
    assert choose_code(terms, [0] * 30, count=3) == range(3, 6)
    assert choose_code(terms, [0] * 15 + [1] * 15, count=3) == range(19, 22)
