"""The filter of citations in a streamed answer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crx._answer.citations import CitationFilter, escape_citations

Filtered = tuple[str, tuple[int, ...], int]


def filter_answer(answer: str, *, cuts: list[int] | None = None) -> Filtered:
    """Return the filtered answer, the numbers that it cites and how many were removed."""
    citations = CitationFilter(4)
    edges = [0, *sorted(cuts or []), len(answer)]
    emitted = [citations.feed(answer[a:b]) for a, b in itertools.pairwise(edges)]
    return "".join([*emitted, citations.close()]), tuple(citations.cited), citations.removed


@pytest.mark.parametrize(
    ("answer", "text", "cited", "removed"),
    [
        ("Krill [1].", "Krill [1].", (1,), 0),
        ("Krill[2][1], fish [2].", "Krill[2][1], fish [2].", (2, 1), 0),
        ("Krill [1, 3; 4].", "Krill [1, 3; 4].", (1, 3, 4), 0),
        ("Krill [1-3].", "Krill [1-3].", (1, 2, 3), 0),
        ("Krill [2–4].", "Krill [2–4].", (2, 3, 4), 0),
        ("Krill [5].", "Krill.", (), 1),
        ("Krill [0] and [99] fish", "Krill and fish", (), 2),
        ("Krill [1, 9].", "Krill [1].", (1,), 1),
        ("Krill [3-9].", "Krill [3, 4].", (3, 4), 1),
        ("Krill [3-1].", "Krill.", (), 1),
        ("In [2019] krill [1].", "In krill [1].", (1,), 1),
        ("[9]\n[1]", "\n[1]", (1,), 1),
        ("[9]" * 2000, "", (), 2000),
        ("A list [a], [], [1 and ( [ 7 ].", "A list [a], [], [1 and ( [ 7 ].", (), 0),
        ("Use `a[9]` [1].", "Use `a[9]` [1].", (1,), 0),
        ("Use ``b`[9]`` [1].", "Use ``b`[9]`` [1].", (1,), 0),
        ("A ` alone [9]\n`[9]", "A ` alone\n`", (), 2),
        ("```py\na[9] = 1\n```\nso [9] [2]", "```py\na[9] = 1\n```\nso [2]", (2,), 1),
        ("[" + "1" * 300 + "]", "[" + "1" * 300 + "]", (), 0),
        ("open [1", "open [1", (), 0),
        ("trailing  ", "trailing  ", (), 0),
    ],
)
def test_citations_of_passages_that_do_not_exist_are_removed(
    answer: str, text: str, cited: tuple[int, ...], removed: int
) -> None:
    assert filter_answer(answer) == (text, cited, removed)
    assert filter_answer(answer, cuts=list(range(len(answer)))) == (text, cited, removed)


pieces = st.text("ab[]1234 9,-`\n", max_size=40)


@given(pieces, st.lists(st.integers(0, 40), max_size=6))
@example("``` a[9] ```` [9]", [3, 12, 13])
def test_the_output_does_not_depend_on_how_an_answer_is_cut(answer: str, cuts: list[int]) -> None:
    cuts = [min(cut, len(answer)) for cut in cuts]
    assert filter_answer(answer, cuts=cuts) == filter_answer(answer)


no_code = pieces.filter(lambda text: "`" not in text)


@given(no_code)
@example("[[9]1]")
@example("[1, [9]9]")
def test_filtering_a_filtered_answer_changes_nothing(answer: str) -> None:
    text, cited, _ = filter_answer(answer)
    assert filter_answer(text) == (text, cited, 0)


@given(no_code)
def test_an_escaped_text_holds_no_citation(text: str) -> None:
    assert filter_answer(escape_citations(text)) == (escape_citations(text), (), 0)


def test_a_bracket_is_buffered_until_it_is_complete() -> None:
    citations = CitationFilter(2)
    assert [citations.feed(piece) for piece in ("krill", " ", "[", "1", "]", ".")] == [
        "krill",
        "",
        "",
        "",
        " [1]",
        ".",
    ]
