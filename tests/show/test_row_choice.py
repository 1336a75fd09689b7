"""Choice of rows: what counts in prose and in source code."""

from __future__ import annotations

from crx._show.row_choice import choose_code, choose_prose, count_code_rows, find_terms


def test_rare_terms_of_the_passage_weigh_more_and_known_ones_less() -> None:
    rows = ["krill and whales", "whales", "whales", "a seal"]
    terms = find_terms(rows, query="whales, krill, seals", known=set())
    assert terms.rows == [{"krill", "whale"}, {"whale"}, {"whale"}, {"seal"}]
    assert terms.weights["krill"] == terms.weights["seal"] > terms.weights["whale"]
    assert round(sum(terms.weights.values()), 6) == 1
    known = find_terms(rows, query="whales, krill, seals", known={"seal"})
    assert known.weights["krill"] > known.weights["whale"] > known.weights["seal"]


def choose(rows: list[str], query: str, hits: list[range], counts: list[int]) -> list[range]:
    terms = find_terms(rows, query=query, known=set())
    full, unseen = [1.0] * len(rows), [0.0] * len(rows)
    return choose_prose(terms, full, unseen, hits, counts=counts)


def test_a_query_without_words_shows_the_best_chunk() -> None:
    rows = ["one", "two", "three", "four"]
    assert choose(rows, "?", [range(2, 4), range(2)], [2, 0]) == [range(2, 4)]


def test_few_rows_are_shown_whole() -> None:
    rows = ["krill", "whales"]
    assert choose(rows, "krill", [], [5]) == [range(2)]
    terms = find_terms(rows, query="krill", known=set())
    assert choose_code(terms, rows, [range(2)], counts=[5]) == [range(2)]


def test_a_hit_is_shown_in_one_piece_where_the_words_are() -> None:
    rows = ["rest"] * 30
    rows[4], rows[20], rows[21] = "krill", "krill", "whales"
    (piece,) = choose(rows, "krill and whales", [range(30)], [6])
    assert len(piece) == 6
    assert {20, 21} < set(piece)


def test_a_piece_goes_on_after_a_row_that_leads_to_the_next() -> None:
    rows = ["rest"] * 9
    rows[3], rows[4] = "whales eat krill", "as in this:"
    terms = find_terms(rows, query="krill", known=set())
    full, unseen = [0.5, 0.5, 1.0, 1.0, 1.0, 0.1, 0.5, 0.5, 0.5], [0.0] * 9
    before = choose_prose(terms, full, unseen, [range(9)], counts=[2])
    assert before == [range(3, 5)]
    after = choose_prose(terms, full, unseen, [range(9)], counts=[2], leads={4})
    assert after == [range(4, 6)]
    # The row that declares what is asked for stays.
    declared = terms._replace(defining=frozenset({3}))
    assert choose_prose(declared, full, unseen, [range(9)], counts=[2], leads={4}) == before


def test_the_best_hit_is_shown_whole_and_the_next_in_part() -> None:
    rows = ["rest"] * 30
    rows[14] = "krill"
    first, second = choose(rows, "krill", [range(20, 28), range(5, 18)], [9, 4])
    assert second == range(20, 29)
    assert (len(first), 14 in first) == (4, True)


def test_what_is_left_goes_to_the_rows_after_the_best_piece_then_before_it() -> None:
    rows = ["rest"] * 9
    assert choose(rows, "krill", [range(3, 5)], [4]) == [range(3, 7)]
    assert choose(rows, "krill", [range(6, 8)], [5]) == [range(4, 9)]


def test_pieces_with_a_row_or_two_between_them_are_joined() -> None:
    rows = ["rest"] * 20
    rows[9] = "krill"
    assert choose(rows, "krill", [range(6), range(6, 20)], [6, 3]) == [range(9)]
    rows[9], rows[15] = "rest", "krill"
    assert len(choose(rows, "krill", [range(6), range(6, 20)], [6, 3])) == 2


def test_the_line_that_defines_an_identifier_is_in_the_piece_that_is_shown() -> None:
    uses = ["x = parse_args(known, parse_args(args))"] * 14
    rows = [*uses, "def parse_known_args(self):", *uses, "parse_known_args(parse_known_args)"]
    (piece,) = choose(rows, "parse_known_args", [range(30)], [4])
    assert 14 in piece
    terms = find_terms(rows, query="parse_known_args", known=set())
    assert 14 in choose_code(terms, rows, [range(30)], counts=[4])[0]


def test_half_of_the_rows_of_source_code_are_further_ones_with_the_name_that_is_asked_for() -> None:
    rows = ["rest"] * 30
    rows[8], rows[20], rows[25] = "self.krill = krill", "x = self.krill", "set_krill()"
    terms = find_terms(rows, query="krill", known=set())
    assert choose_code(terms, rows, [range(30)], counts=[6]) == [range(4, 9), range(20, 21)]
    assert choose_code(terms, rows, [range(30)], counts=[1]) == [range(8, 9)]
    terms = find_terms(rows, query="krill whales", known=set())
    assert choose_code(terms, rows, [range(30)], counts=[6]) == [range(20, 26)]


def test_a_hit_whose_rows_are_all_left_out_counts_for_the_others() -> None:
    rows = ["rest"] * 18
    rows[10] = rows[16] = "krill"
    assert choose(rows, "krill", [range(0), range(8, 14)], [3, 0]) == [range(9, 12)]
    assert choose(rows, "krill", [range(0), range(8, 14)], [2, 1]) == [range(10, 13)]
    assert choose(rows, "krill", [], [0, 3]) == [range(9, 12)]


def test_rows_that_are_shown_already_are_taken_last() -> None:
    rows = ["krill"] * 6
    terms = find_terms(rows, query="krill", known=set())
    hits = [range(6)]
    for shown, expected in (([1.0] * 3 + [0.0] * 3, range(3, 6)), ([1.0] * 6, range(3))):
        assert choose_prose(terms, [1.0] * 6, shown, hits, counts=[3]) == [expected]


def test_of_source_code_the_best_hits_are_shown_in_part() -> None:
    rows = ["rest"] * 30
    rows[8] = rows[28] = "krill"
    terms = find_terms(rows, query="krill, otters", known=set())
    best, second = range(20, 30), range(10)
    assert choose_code(terms, rows, [best, second], counts=[6, 6]) == [range(3, 9), range(23, 29)]
    assert choose_code(terms, rows, [best], counts=[3]) == [range(26, 29)]
    assert choose_code(terms, rows, [], counts=[3]) == [range(6, 9)]


def test_the_part_of_a_hit_in_source_code_holds_half_of_its_characters() -> None:
    rows = ["krill", "a", "b", "whales and seals", "c", "d", "e", "f"]
    assert count_code_rows(rows) == 1
    assert count_code_rows([]) == 0
    terms = find_terms(rows, query="krill, otters", known=set())
    assert choose_code(terms, rows, [range(8)], counts=[2]) == [range(2, 4)]
