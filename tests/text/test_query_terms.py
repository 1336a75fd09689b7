"""Terms of a query for one text: the whole of an identifier, and its parts where there is none."""

from __future__ import annotations

from crx._show.excerpt import split_matches
from crx._text.query_terms import terms_for, wholes_of


def marked(query: str, text: str) -> list[str]:
    return [piece for piece, matches in split_matches(text, terms_for(query, text)) if matches]


def test_parts_of_an_identifier_are_marked_only_where_the_whole_is_not() -> None:
    text = "def parse_known_args(args): known = parse_args(args)"
    assert marked("parse_known_args", text) == ["parse_known_args"]
    assert marked("parse_known_args", "known = parse_args(args)") == ["known", "parse_args", "args"]


def test_parts_of_a_code_or_a_number_are_marked_only_where_the_whole_is_not() -> None:
    assert marked("ZX-1042", "ZX-1041, ZX-1042 and 1042") == ["ZX-1042"]
    assert marked("1.2.3", "1.2 came before 1.2.3") == ["1.2.3"]
    assert marked("10,000", "10 of 10,000") == ["10,000"]
    assert marked("std::vec::Vec", "std, and std::vec::Vec") == ["std::vec::Vec"]


def test_a_part_that_is_a_word_of_the_query_too_is_marked() -> None:
    assert marked("master of ControlMaster", "the master: ControlMaster") == [
        "master",
        "ControlMaster",
    ]


def test_the_wholes_of_a_query_are_its_words_of_several_terms() -> None:
    assert wholes_of("what does ControlMaster do in v1.2 whales") == ["ControlMaster", "v1.2"]


def test_a_text_without_spaces_has_no_whole() -> None:
    assert terms_for("机器学习 入门", "机器学习") == {"机器", "器学", "学习", "入门"}
    assert wholes_of("机器学习 入门") == []
