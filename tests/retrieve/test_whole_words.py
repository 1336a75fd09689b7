"""A query of one word: what has it as a whole comes before names that it is a part of."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.retrieve.query_terms import count_word, is_plain_word

PARTS = "def _apply_header(x):\n    unapply_header(x)\n\n\ndef unapply_header(x):\n    get(x)\n"
WHOLE = "A server that trusts a proxy reads the header of the request, and takes its address.\n"
OTHER = "The kettle boils, and nobody is in the kitchen to pour the water into the cup of tea.\n"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("header Headers header", (3, 0)),
        ("_apply_header applyHeader x-header", (1, 2)),
        ("self.header = header", (2, 0)),
        ("nothing of it", (0, 0)),
    ],
)
def test_occurrences_are_whole_or_parts_of_names(text: str, counts: tuple[int, int]) -> None:
    assert count_word(text, "header") == counts


@pytest.mark.parametrize("query", ["parse_args", "two words", "HttpClient", "", "機械学習", "-x"])
def test_other_queries_are_no_plain_word(query: str) -> None:
    assert not is_plain_word(query)


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(30):
        (folder / f"parts{number}.py").write_text(f"# {number}\n{PARTS}")
    (folder / "whole.md").write_text(f"{OTHER * 6}{WHOLE}{OTHER * 6}")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(folder)
    return index


def test_a_text_with_the_word_comes_before_names_of_it(index: crx.Index) -> None:
    found = index.search("header", k=5, window=0)
    assert found.hits[0].uri.endswith("whole.md")
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert not index.search("header trusts", k=5).hits[0].uri.endswith(".py")


def test_names_are_found_if_no_text_has_the_word(index: crx.Index) -> None:
    assert index.search("unapply", k=5).hits[0].uri.endswith(".py")
