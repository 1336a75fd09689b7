"""Removal of the reasoning block that a model writes before its answer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx_contexts.reasoning import strip_reasoning


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Krill.", "Krill."),
        ("<think>\nhm</think>\n\nKrill.", "Krill."),
        ("<thinking>a</thinking> <thought>b</thought>Krill", "Krill"),
        ("\n The tag <think> opens a thought.", "The tag <think> opens a thought."),
        ("<thin ice", "<thin ice"),
        ("<th", "<th"),
        ("<think>for ever", ""),
        ("", ""),
    ],
)
@given(data=st.data())
def test_leading_reasoning_is_removed_however_the_answer_is_cut(
    data: st.DataObject, answer: str, expected: str
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)), max_size=4)))
    edges = [0, *cuts, len(answer)]
    pieces = [answer[a:b] for a, b in itertools.pairwise(edges)]
    assert "".join(strip_reasoning(pieces)) == expected


def test_an_answer_that_starts_inside_reasoning_begins_after_it() -> None:
    assert list(strip_reasoning(["hm", "m</th", "ink>", "Krill", "."], starts_inside=True)) == [
        "Krill",
        ".",
    ]
