"""Splitting: where a text is cut, and what never happens to it."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._native import split
from crx._show.marks import read_position
from crx.ingest.split import SectionLabels
from crx.types import Mark, MarkKind

NO_CUTS = np.empty((0, 2), dtype=np.uint32)
PIECES = st.sampled_from(
    [
        "word ",
        "Word ",
        ". ",
        ", ",
        "\n",
        "\n\n",
        "  ",
        "x" * 40,
        "漢字",
        "。",
        "e\u0301",
        "👩‍👩‍👧",
        "- ",
    ]
)
TEXTS = st.lists(PIECES, max_size=80).map("".join)


def token_starts(text: str) -> np.ndarray:
    """One token a word."""
    starts = [i for i, c in enumerate(text) if not c.isspace() and text[i - 1 : i].strip() == ""]
    return np.array(starts, dtype=np.uint32)


def chunks(text: str, budget: int, *, cuts: list[tuple[int, int]] = (), overlap: int = 0) -> list:  # type: ignore[assignment, type-arg]
    spans = split(
        text,
        cuts=np.array(cuts, dtype=np.uint32).reshape(-1, 2),
        token_starts=token_starts(text),
        budget=budget,
        overlap=overlap,
    )
    return [text[start:end] for start, end in spans.tolist()]


def test_sentences_that_fill_the_budget_are_chunks_of_their_own() -> None:
    text = "Sales rose by 4.2 percent. Costs fell. Mr. Ito, e.g., was glad."
    assert chunks(text, 5) == [
        "Sales rose by 4.2 percent. ",
        "Costs fell. ",
        "Mr. Ito, e.g., was glad.",
    ]


def test_a_paragraph_is_a_better_place_than_a_sentence() -> None:
    text = "One two three. Four five.\n\nSix seven. Eight nine ten.\n"
    assert chunks(text, 8) == ["One two three. Four five.\n\n", "Six seven. Eight nine ten.\n"]


def test_a_heading_stays_with_its_text() -> None:
    text = "Some words of an end.\n\n# Beginning\n\nMore words of a start.\n"
    assert chunks(text, 8, cuts=[(text.index("#"), 1)]) == [text[:23], text[23:]]


def test_overlap_repeats_whole_sentences() -> None:
    text = "A b. C d. E f. G h. "
    assert chunks(text, 7, overlap=3) == ["A b. C d. ", "C d. E f. G h. "]


def test_budget_and_fill_hold_for_prose() -> None:
    rng = np.random.default_rng(3)
    sentence = [" ".join(["word"] * n) + ". " for n in rng.integers(6, 40, 2000)]
    text = "".join(s.capitalize() + ("\n\n" if i % 5 == 4 else "") for i, s in enumerate(sentence))
    sizes = np.array([len(chunk.split()) for chunk in chunks(text, 256)])
    assert sizes.max() <= 256
    assert 0.70 <= sizes.mean() / 256 <= 0.85


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 5, "overlap": 5}, "overlap: 5 is not below"),
        ({"budget": 0}, "overlap: 0 is not below"),
        ({"cuts": np.zeros((1, 3), dtype=np.uint32)}, "cuts: 3 columns"),
        ({"token_starts": np.array([4, 2], dtype=np.uint32)}, "token_starts: not ascending"),
    ],
)
def test_a_bad_argument_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split("a text", **({"cuts": NO_CUTS, "token_starts": None, "budget": 9} | options))  # type: ignore[arg-type]


@given(text=TEXTS, budget=st.integers(1, 60), data=st.data())
def test_chunks_cover_the_text_in_order_within_the_budget(
    text: str, budget: int, data: st.DataObject
) -> None:
    levels = st.lists(st.tuples(st.integers(0, len(text) + 5), st.integers(1, 6)), max_size=6)
    cuts = np.array(data.draw(levels), dtype=np.uint32).reshape(-1, 2)
    tokens = token_starts(text) if data.draw(st.booleans()) else None
    arguments = {"cuts": cuts, "token_starts": tokens, "budget": budget}
    spans = split(text, **arguments).tolist()  # type: ignore[arg-type]
    assert "".join(text[start:end] for start, end in spans) == (text if text.strip() else "")
    assert all(end == start for (_, end), (start, _) in pairwise(spans))
    for start, end in spans:
        inside = end - start if tokens is None else ((tokens >= start) & (tokens < end)).sum()
        letters = text[start:end].strip()
        assert letters
        assert inside <= budget or len(letters) == 1
    assert split(text, **arguments).tolist() == spans  # type: ignore[arg-type]


@given(text=TEXTS, budget=st.integers(1, 60))
def test_the_width_of_a_letter_in_bytes_changes_nothing(text: str, budget: int) -> None:
    def spans(letter: str) -> list[list[int]]:
        shifted = text.replace("w", letter)
        return split(shifted, cuts=NO_CUTS, token_starts=None, budget=budget).tolist()  # type: ignore[no-any-return]

    assert spans("w") == spans("\U00010428") == spans("é")


def test_the_labels_around_a_position_are_those_of_all_sections_that_hold_it() -> None:
    """Sections may overlap where another package's reader made them."""
    chosen = random.Random(5)
    for _ in range(200):
        marks = []
        for number in range(chosen.randrange(12)):
            start = chosen.randrange(20)
            end = start + chosen.randrange(12)
            kinds: tuple[MarkKind, ...] = ("heading", "definition", "page")
            marks.append(Mark(chosen.choice(kinds), start, end, str(number)))
        labels = SectionLabels(marks)
        for position in range(34):
            around = [m for m in marks if m.is_section and m.start <= position < m.end]
            around.sort(key=lambda m: (m.start, -m.end))
            expected = tuple(m.label for m in around)
            read, _ = read_position(orjson.dumps(marks).decode(), position)
            assert labels.around(position) == read == expected


def test_labels_of_many_definitions_take_linear_time() -> None:
    def seconds(count: int) -> float:
        inner = [Mark("definition", 10 * n, 10 * n + 9, "f", 2) for n in range(count)]
        labels = SectionLabels([Mark("definition", 0, 10 * count, "A", 1), *inner])
        start = time.process_time()
        for n in range(count):
            assert len(labels.around(10 * n)) == 2
        return time.process_time() - start

    assert seconds(40_000) < 12 * seconds(10_000) + 0.1
