"""Excerpts of passages: which rows are chosen, and which words are marked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx import _native
from crx._show.excerpt import (
    ExcerptRow,
    columns,
    columns_of,
    find_excerpt,
    shows_code,
    split_matches,
    wrap,
)
from crx._show.shown_text import text_ngrams
from crx.types import Hit, Passage, Stage


def test_an_excerpt_is_the_rows_that_hold_the_query_and_says_what_it_leaves_out() -> None:
    text = "whales\n" + "rest\n" * 20 + "whales eat krill\n" + "rest\n" * 20
    hit = Hit(1, 1.0, "a.md", "A", 0, 0, len(text), text, "", "", {})
    passage = Passage("a.md", "A", 0, len(text), text, 1.0, 9, (hit,))
    found = find_excerpt(passage, query="krill", counts=[2], width=40, visible=str.upper)
    assert [(row.text, row.line) for row in found.rows] == [("WHALES EAT KRILL", 21), ("REST", 22)]
    assert (found.cut_before, found.cut_after) == (True, True)


def test_a_row_names_its_line_also_far_into_a_passage() -> None:
    text = "rest of it\n" * 2000 + "whales eat krill\n"
    hit = Hit(1, 1.0, "a.md", "A", 0, len(text) - 17, len(text), "whales eat krill\n", "", "", {})
    passage = Passage("a.md", "A", 0, len(text), text, 1.0, 9, (hit,))
    found = find_excerpt(passage, query="krill", counts=[2], width=40, visible=str)
    assert [(row.text, row.line) for row in found.rows][1] == ("whales eat krill", 2000)


def make_passage(text: str, *, title: str = "A", chunks: list[str] | None = None) -> Passage:
    """Return a passage whose hits are these pieces of its text, best first."""
    hits = tuple(
        Hit(key, 1.0 / key, "a.md", title, 0, at, at + len(chunk), chunk, "", "", stages)
        for key, chunk in enumerate(chunks or [text], start=1)
        for at in [text.index(chunk)]
        for stages in [{"bm25": Stage(key, 1.0 / key)}]
    )
    return Passage("a.md", title, 0, len(text), text, 1.0, 9, hits)


def shown(passage: Passage, query: str, *, count: int) -> list[list[str]]:
    found = find_excerpt(passage, query=query, counts=[count], width=60, visible=str)
    return [[row.text for row in fragment] for fragment in found.fragments]


def rest(*, lines: int) -> str:
    return "".join(f"nothing of it, line {n}\n" for n in range(lines))


def test_an_excerpt_of_a_hit_is_of_one_place() -> None:
    text = f"{rest(lines=9)}whales eat krill\n{rest(lines=2)}seals sing\n{rest(lines=9)}"
    (rows,) = shown(make_passage(text), "seals and whales", count=6)
    assert {"whales eat krill", "seals sing"} < set(rows)


def test_an_error_message_is_shown_with_its_explanation() -> None:
    message = "the lock is held by another writer\n"
    why = rest(lines=2) + "It is free again when that process ends.\n"
    text = f"{rest(lines=9)}{message}{why}{rest(lines=9)}"
    (rows,) = shown(make_passage(text), "lock is held by another writer", count=6)
    assert "It is free again when that process ends." in rows


def test_rows_of_text_are_preferred_to_short_ones() -> None:
    entry = "krill\n\n" * 3
    text = f"{entry}{rest(lines=9)}a krill is eaten by whales, seals and penguins every day\n"
    (rows,) = shown(make_passage(text), "krill", count=2)
    assert "a krill is eaten by whales, seals and penguins every day" in rows


def test_what_follows_the_words_of_the_query_is_preferred_to_what_precedes_them() -> None:
    text = f"{rest(lines=9)}whales eat krill\n{rest(lines=9)}"
    (rows,) = shown(make_passage(text), "krill", count=2)
    assert rows == ["whales eat krill", "nothing of it, line 0"]


def test_runs_of_spaces_become_one_space_in_a_line_that_does_not_fit_into_a_row() -> None:
    line = "  a list of     krill,     seals and     whales"
    assert wrap(line, 60) == [line]
    assert wrap(line, 20) == ["  a list of krill,", "seals and whales"]


def test_an_excerpt_of_source_code_is_of_one_place() -> None:
    text = "def whales(self):\n" + "    x = [f(y), {1: 2}];\n" * 30 + "def seals(self):\n" * 2
    assert [len(each) for each in shown(make_passage(text), "whales seals", count=10)] == [10]


def test_brackets_on_a_row_of_their_own_join_the_row_before_in_source_code() -> None:
    text = "int krill(int y)\n{\n    if (y) {\n        f(y);\n    }\n}\n\n" * 9
    (rows,) = shown(make_passage(text), "krill whales", count=3)
    assert rows == ["int krill(int y) {", "    if (y) {", "        f(y); } }"]


def test_a_row_that_brackets_join_ends_with_their_line() -> None:
    text = "int krill(int y)\n{\n    f(y);\n}\n"
    found = find_excerpt(
        replace(make_passage(text), uri="a.c"), query="f", counts=[4], width=60, visible=str
    )
    assert [(row.text, row.line, row.last_line) for row in found.rows] == [
        ("int krill(int y) {", 0, 1),
        ("    f(y); }", 2, 3),
    ]


def test_a_further_row_with_the_name_comes_with_the_first_row_of_its_line() -> None:
    use, body = f"    connect({'host, ' * 8}krill)\n", "    x = [f(y), {1: 2}];\n" * 9
    text = f"def krill(x):\n{body}{use}{body}"
    first, further = shown(replace(make_passage(text), uri="a.py"), "krill", count=6)
    assert (first[0], len(first)) == ("def krill(x):", 4)
    assert further == [f"    connect({'host, ' * 8}".rstrip(), "krill)"]
    # A part of a line tells nothing.
    (rows,) = shown(replace(make_passage(text), uri="a.py"), "krill", count=3)
    assert (rows[0], len(rows)) == ("def krill(x):", 3)


def test_brackets_that_do_not_fit_into_the_row_before_keep_their_own() -> None:
    line = f"    f({'y' * 51});"
    text = f"int krill(int y)\n{{\n    if (y) {{\n{line}\n    }}\n}}\n\n" * 9
    (rows,) = shown(make_passage(text), "krill whales", count=4)
    assert rows == ["int krill(int y) {", "    if (y) {", line, "    } }"]


def test_rules_of_tables_are_left_out_as_blank_lines_are() -> None:
    text = f"{rest(lines=9)}|krill|red|\n|-----+---|\n|seal |big|\n{rest(lines=9)}"
    (rows,) = shown(make_passage(text), "krill", count=3)
    assert rows[:2] == ["|krill|red|", "|seal |big|"] or rows[1:] == ["|krill|red|", "|seal |big|"]


def test_a_passage_of_rules_alone_is_shown() -> None:
    assert shown(make_passage("=====\n-----\n" * 9), "krill", count=2) == [["=====", "-----"]]


def test_the_rows_of_a_better_hit_are_preferred() -> None:
    good, other = f"krill is red\n{rest(lines=3)}", f"krill is small\n{rest(lines=3)}"
    text = f"{other}{rest(lines=20)}{good}{rest(lines=20)}"
    (rows,) = shown(make_passage(text, chunks=[good, other]), "krill", count=2)
    assert "krill is red" in rows
    (rows,) = shown(make_passage(text, chunks=[other, good]), "krill", count=2)
    assert "krill is small" in rows


def test_a_hit_comes_before_the_text_around_it() -> None:
    text = f"{rest(lines=9)}krill is red\n{rest(lines=9)}krill is tiny\n"
    (rows,) = shown(make_passage(text, chunks=["krill is tiny\n"]), "krill", count=2)
    assert "krill is tiny" in rows


def test_what_is_shown_above_is_not_shown_again() -> None:
    text = f"{rest(lines=9)}whales eat krill in cold seas\n{rest(lines=9)}krill is small and red\n"
    passage = make_passage(text)
    above = text_ngrams(["Whales: whales eat krill", "in cold seas"])
    found = find_excerpt(passage, query="krill", counts=[3], width=60, visible=str, shown=above)
    assert [row.text for row in found.rows][-1] == "krill is small and red"
    first = find_excerpt(passage, query="krill", counts=[3], width=60, visible=str)
    assert "whales eat krill in cold seas" in [row.text for row in first.rows]


def test_a_word_of_the_title_counts_less_than_another() -> None:
    text = f"{rest(lines=9)}the contract of Acme\n{rest(lines=9)}the notice is a month\n"
    (named,) = shown(make_passage(text, title="Acme contract"), "Acme contract: notice", count=2)
    assert "the notice is a month" in named
    (unnamed,) = shown(make_passage(text), "Acme contract: notice", count=2)
    assert "the contract of Acme" in unnamed


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


def test_words_of_scripts_without_spaces_are_marked_with_their_vowel_signs() -> None:
    terms = set(_native.analyze("ที่นี่"))
    assert split_matches("อยู่ที่นี่ (here)", terms) == [
        ("อยู่", False),
        ("ที่นี่", True),
        (" (here)", False),
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


@given(st.text("ab. ", max_size=60), st.integers(0, 20))
def test_a_line_of_narrow_letters_is_wrapped_like_any_other(line: str, width: int) -> None:
    other = wrap(line.replace("a", "ა"), width)
    assert wrap(line, width) == [row.replace("ა", "a") for row in other]


def test_a_text_takes_the_columns_of_its_characters() -> None:
    characters = map(chr, range(0x11000))
    assert [each for each in characters if columns(each) != columns_of(each)] == []


def test_a_row_with_the_word_is_preferred_to_rows_with_names_of_it() -> None:
    names = "krill_of krill_to many_krill krill_krill tiny_krill all_krill krill_x\n" * 3
    text = f"{names}{rest(lines=9)}krill\n{rest(lines=9)}"
    (rows,) = shown(make_passage(text), "krill", count=2)
    assert "krill" in rows


def test_the_lines_of_a_wrapped_paragraph_are_one_if_asked_for() -> None:
    lines = [
        "- When a symlink that leads outside the static directory is accessed, the",
        "  server answers with an error; krill is found again if the parameter is",
        "  set, which is discouraged.",
    ]
    passage = make_passage("\n".join(lines) + "\n")
    found = find_excerpt(passage, query="krill", counts=[4], width=60, visible=str, reflow=True)
    assert [(row.text, row.line, row.last_line) for row in found.rows] == [
        ("- When a symlink that leads outside the static directory is", 0, 0),
        ("  accessed, the server answers with an error; krill is", 0, 1),
        ("  found again if the parameter is set, which is discouraged.", 1, 2),
    ]
    as_it_is = find_excerpt(passage, query="krill", counts=[9], width=80, visible=str)
    assert [row.text for row in as_it_is.rows] == lines


PARAGRAPH = """\
    The header of a request is removed if it is redirected to another
    host or to another protocol, since whoever answers there would read
    it and could use it."""


def rows_between_code(text: str, *, width: int, reflow: bool = True) -> list[ExcerptRow]:
    """Return the rows of a text that stands between four lines of source code and others."""
    before = "int krill(int y) { return f[y] + g[y]; }\n" * 4
    after = "int whales(int y) { return f[y] + g[y]; }\n" * 4
    passage = replace(make_passage(f"{before}{text}\n{after}"), uri="a.py")
    found = find_excerpt(
        passage, query="header", counts=[20], width=width, visible=str, reflow=reflow
    )
    return [row for row in found.rows if "int" not in row.text]


def test_a_paragraph_in_source_code_that_does_not_fit_leaves_no_short_rows() -> None:
    assert rows_between_code(PARAGRAPH, width=60) == [
        ("    The header of a request is removed if it is redirected", 4, 4),
        ("    to another host or to another protocol, since whoever", 4, 5),
        ("    answers there would read it and could use it.", 5, 6),
    ]
    assert [line for _, line, _ in rows_between_code(PARAGRAPH, width=80)] == [4, 5, 6]


def test_each_row_is_of_one_line_where_paragraphs_are_not_joined() -> None:
    found = rows_between_code(PARAGRAPH, width=60, reflow=False)
    assert [(line, last) for _, line, last in found] == [(4, 4), (4, 4), (5, 5), (5, 5), (6, 6)]


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_the_paragraphs_of_a_string_that_documents_a_function_are_joined(quotes: str) -> None:
    text = PARAGRAPH.replace("The", f"{quotes}The", 1) + f"\n    {quotes}"
    assert rows_between_code(text, width=60) == [
        (f"    {quotes}The header of a request is removed if it is", 4, 4),
        ("    redirected to another host or to another protocol,", 4, 5),
        ("    since whoever answers there would read it and could use", 5, 6),
        (f"    it. {quotes}", 6, 7),
    ]
    text = f"    {quotes}Remove it.\n\n{PARAGRAPH}\n    {quotes}"
    assert rows_between_code(text, width=60) == [
        (f"    {quotes}Remove it.", 4, 4),
        ("    The header of a request is removed if it is redirected", 6, 6),
        ("    to another host or to another protocol, since whoever", 6, 7),
        (f"    answers there would read it and could use it. {quotes}", 7, 9),
    ]


@pytest.mark.parametrize(
    ("before", "after"), [("/*\n", "\n */"), ("  /* A.\n", "\n  */"), ("/**\n", "")]
)
def test_the_lines_of_a_comment_are_not_joined(before: str, after: str) -> None:
    found = rows_between_code(f"{before}{PARAGRAPH}{after}", width=60)
    starts = ["    The header", "to another", "    host or", "there would", "    it and"]
    rows = [(row.text, row.line) for row in found if row.text.strip()[:2] not in ("/*", "*/")]
    assert all(text.startswith(start) for (text, _), start in zip(rows, starts, strict=True))
    assert [line for _, line in rows] == [5, 5, 6, 6, 7]


def test_the_lines_of_a_comment_that_begins_before_the_text_are_not_joined() -> None:
    text = f"{PARAGRAPH}\n*/\n" + "int whales(int y) { return f[y] + g[y]; }\n" * 4
    joined = f'glob("a/*.c", "**/*.c")\n{text}'.replace("*/\n", "")
    for each, is_joined in ((text, False), (joined, True)):
        passage = replace(make_passage(each), uri="a.c")
        found = find_excerpt(
            passage, query="header", counts=[20], width=60, visible=str, reflow=True
        )
        assert any("to another host" in row.text for row in found.rows) == is_joined


def test_a_manual_with_source_code_is_prose() -> None:
    call = "    f(x);  g[y] = {};\n" * 4
    sentence = "The header is removed if a redirect leads to another host or protocol.\n"
    text = f"{call}{sentence}{call}"
    passage = make_passage(text)
    assert not shows_code(passage)
    assert shows_code(replace(passage, uri="a.c"))
    assert shows_code(make_passage(call * 2))
