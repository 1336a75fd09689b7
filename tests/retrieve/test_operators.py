"""Operators of a query: what it excludes, and patterns."""

from __future__ import annotations

import pytest

from crx.retrieve.operators import QueryPattern, QueryWords, parse_pattern, parse_words


@pytest.mark.parametrize(
    ("query", "text", "excluded"),
    [
        ("budget -draft", "budget", ("draft",)),
        ("-draft budget -copies, 2024", "-draft budget 2024", ("copies",)),
        ("-crf option x264", "-crf option x264", ()),
        ('budget -"first  draft" plan', "budget plan", ("first draft",)),
        ("budget -«premier jet»", "budget", ("premier jet",)),
        ("parse -parse_args", "parse", ("parse_args",)),
        ("prix -été", "prix", ("été",)),
        ("-draft", "-draft", ()),
        ('-"first draft"', "", ("first draft",)),
        ('"budget -draft"', '"budget -draft"', ()),
        ("git commit --amend", "git commit --amend", ()),
        ("tar -x file", "tar -x file", ()),
        ("at -40 degrees", "at -40 degrees", ()),
        ("well-known - really", "well-known - really", ()),
        ("what does rm -rf do?", "what does rm -rf do?", ()),
        ("何が -krill ？", "何が -krill ？", ()),
        ("two  spaces", "two  spaces", ()),
    ],
)
def test_a_word_after_a_dash_is_excluded(query: str, text: str, excluded: tuple[str, ...]) -> None:
    assert parse_words(query)[:2] == (text, excluded)


def test_words_without_quotes_may_be_options() -> None:
    words = parse_words('x264 -crf -preset -"slow motion"')
    assert words == QueryWords("x264", ("crf", "preset", "slow motion"), ("crf", "preset"))
    kept = parse_words("x264 -crf -preset", kept=["crf"])
    assert kept == QueryWords("x264 -crf", ("preset",), ("preset",))


def test_a_query_that_begins_with_re_is_a_regular_expression() -> None:
    assert parse_pattern(r"re:ERR-\d+ -x", match="words") == QueryPattern(r"ERR-\d+ -x", "regex")
    assert parse_pattern("re:x", match="regex") == QueryPattern("re:x", "regex")
    assert parse_pattern("re:x", match="literal") == QueryPattern("re:x", "literal")
    assert parse_pattern("see re:x", match="words") is None
