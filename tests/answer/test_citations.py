"""Citations are checked as an answer comes, however it is cut into pieces."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crx.answer.citations import Checker, spaced


def checked(answer: str, *, passages: int = 4, cuts: list[int] | None = None) -> tuple:
    checker = Checker(passages)
    edges = [0, *sorted(cuts or []), len(answer)]
    told = [checker.feed(answer[a:b]) for a, b in itertools.pairwise(edges)]
    return "".join([*told, checker.close()]), tuple(checker.cited), checker.removed


@pytest.mark.parametrize(
    ("answer", "told", "cited", "removed"),
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
def test_citations_of_nothing_are_taken_out(
    answer: str, told: str, cited: tuple[int, ...], removed: int
) -> None:
    assert checked(answer) == (told, cited, removed)
    assert checked(answer, cuts=list(range(len(answer)))) == (told, cited, removed)


pieces = st.text("ab[]1234 9,-`\n", max_size=40)


@settings(deadline=None)
@given(pieces, st.lists(st.integers(0, 40), max_size=6))
@example("``` a[9] ```` [9]", [3, 12, 13])
def test_however_an_answer_is_cut_the_same_comes_out(answer: str, cuts: list[int]) -> None:
    cuts = [min(cut, len(answer)) for cut in cuts]
    assert checked(answer, cuts=cuts) == checked(answer)


no_code = pieces.filter(lambda text: "`" not in text)


@settings(deadline=None)
@given(no_code)
@example("[[9]1]")
@example("[1, [9]9]")
def test_an_answer_that_was_checked_cites_the_same_and_nothing_else(answer: str) -> None:
    told, cited, _ = checked(answer)
    assert checked(told) == (told, cited, 0)


@settings(deadline=None)
@given(no_code)
def test_a_spaced_text_cites_nothing(text: str) -> None:
    assert checked(spaced(text)) == (spaced(text), (), 0)


def test_a_bracket_is_held_back_until_it_is_decided() -> None:
    checker = Checker(2)
    assert [checker.feed(piece) for piece in ("krill", " ", "[", "1", "]", ".")] == [
        "krill",
        "",
        "",
        "",
        " [1]",
        ".",
    ]
