"""Choice of rows: what counts in prose and in source code."""

from __future__ import annotations

from crx.retrieve.row_choice import choose_code, choose_prose, count_code_rows, find_terms
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
    hits = [make_hit(9), make_hit(1)]
    holders = [[0], [0], [1], [1]]
    assert choose_prose(terms, holders, hits, [1.0] * 4, [0.0] * 4, count=2) == [range(2, 4)]


def test_few_rows_are_shown_whole() -> None:
    terms = find_terms(["krill", "whales"], query="krill", known=set())
    assert choose_prose(terms, [[], []], [], [1.0, 1.0], [0.0, 0.0], count=5) == [range(2)]
    assert choose_code(terms, ["krill", "whales"], [range(2)], count=5) == [range(2)]


def test_pieces_of_three_rows_are_taken_where_the_words_are() -> None:
    rows = ["rest"] * 30
    rows[4], rows[20] = "krill", "whales"
    terms = find_terms(rows, query="krill and whales", known=set())
    assert choose_prose(terms, [[0]] * 30, [make_hit(1)], [1.0] * 30, [0.0] * 30, count=6) == [
        range(3, 6),
        range(19, 22),
    ]


def test_rows_that_are_shown_already_are_taken_last() -> None:
    rows = ["krill"] * 6
    terms = find_terms(rows, query="krill", known=set())
    hits = [make_hit(1)]
    shown = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert choose_prose(terms, [[0]] * 6, hits, [1.0] * 6, shown, count=3) == [range(3, 6)]
    assert choose_prose(terms, [[0]] * 6, hits, [1.0] * 6, [1.0] * 6, count=3) == [range(3)]


def test_a_better_hit_of_the_passage_is_preferred_where_both_legs_have_the_same_ranks() -> None:
    terms = find_terms(["rest"] * 12, query="krill", known=set())
    hits = [make_hit(3), make_hit(3)]
    for holders, expected in (([[0]] * 6 + [[1]] * 6, 0), ([[1]] * 6 + [[0]] * 6, 6)):
        (piece,) = choose_prose(terms, holders, hits, [1.0] * 12, [0.0] * 12, count=3)
        assert piece.start in range(expected, expected + 4)


def test_a_term_counts_less_in_a_chunk_whose_rank_counts_other_terms_too() -> None:
    rows = ["rest"] * 24
    rows[2] = rows[20] = "krill"
    rows[9] = "whales"
    terms = find_terms(rows, query="krill whales", known={"whale"})
    hits = [make_hit(3), make_hit(3)]
    for holders, expected in (([[0]] * 12 + [[1]] * 12, 18), ([[0]] * 24, 0)):
        (piece,) = choose_prose(terms, holders, hits, [1.0] * 24, [0.0] * 24, count=3)
        assert piece.start in range(expected, expected + 4)


def test_of_source_code_the_best_hits_are_shown_in_part() -> None:
    rows = ["rest"] * 30
    rows[8] = rows[28] = "krill"
    terms = find_terms(rows, query="krill", known=set())
    best, second = range(20, 30), range(10)
    assert choose_code(terms, rows, [best, second], count=12) == [range(3, 9), range(23, 29)]
    assert choose_code(terms, rows, [best, second], count=14) == [range(3, 9), range(22, 30)]
    assert choose_code(terms, rows, [best], count=3) == [range(26, 29)]
    assert choose_code(terms, rows, [], count=3) == [range(6, 9)]


def test_the_part_of_a_hit_in_source_code_holds_half_of_its_characters() -> None:
    rows = ["krill", "a", "b", "whales and seals", "c", "d", "e", "f"]
    assert count_code_rows(rows) == 2
    assert count_code_rows([]) == 0
    terms = find_terms(rows, query="krill", known=set())
    assert choose_code(terms, rows, [range(8)], count=2) == [range(2, 4)]
