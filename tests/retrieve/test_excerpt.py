"""Excerpts of passages: which rows are chosen, and which words are marked."""

from __future__ import annotations

import pytest

from crx import _native
from crx.retrieve.excerpt import find_excerpt, split_matches, wrap
from crx.types import Hit, Passage


def test_an_excerpt_is_the_rows_that_hold_the_query_and_says_what_it_leaves_out() -> None:
    text = "whales\n" + "rest\n" * 20 + "whales eat krill\n" + "rest\n" * 20
    hit = Hit(1, 1.0, "a.md", "A", 0, 0, len(text), text, "", "", {})
    passage = Passage("a.md", "A", 0, len(text), text, 1.0, 9, (hit,))
    found = find_excerpt(passage, query="krill", count=2, width=40, visible=str.upper)
    assert [(row.text, row.line) for row in found.rows] == [("REST", 20), ("WHALES EAT KRILL", 21)]
    assert (found.cut_before, found.cut_after) == (True, True)


def test_a_row_names_its_line_also_far_into_a_passage() -> None:
    text = "rest of it\n" * 2000 + "whales eat krill\n"
    hit = Hit(1, 1.0, "a.md", "A", 0, len(text) - 17, len(text), "whales eat krill\n", "", "", {})
    passage = Passage("a.md", "A", 0, len(text), text, 1.0, 9, (hit,))
    found = find_excerpt(passage, query="krill", count=1, width=40, visible=str)
    assert [(row.text, row.line) for row in found.rows] == [("whales eat krill", 2000)]


def test_the_words_of_the_query_are_marked_in_any_form() -> None:
    terms = set(_native.analyze("singing whales 鯨の歌"))
    assert split_matches("A whale sings; 白鯨の歌。", terms) == [
        ("A ", False),
        ("whale", True),
        (" ", False),
        ("sings", True),
        ("; 白", False),
        ("鯨の", True),
        ("歌", True),
        ("。", False),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", [""]),
        ("one two three", ["one two", "three"]),
        ("averyverylongword", ["averyver", "ylongwor", "d"]),
        ("鯨はオキアミを", ["鯨はオキ", "アミを"]),
        ("a reallylongword", ["a really", "longword"]),
    ],
)
def test_a_line_is_wrapped_by_the_columns_it_takes(line: str, expected: list[str]) -> None:
    assert wrap(line, 8) == expected
