"""Passages like one that was found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import crx
from crx.types import Leg

TEXTS = {
    "whales": "Blue whales filter krill from the sea with baleen plates.",
    "baleen": 're: -krill is what "baleen" whales take; the plates of baleen filter it.',
    "bread": "Bread is baked with steam at 240 degrees, until the crust is brown.",
    "whales, again": "Blue whales filter krill from the sea with baleen plates.",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[crx.Index]:
    settings = {"embedder": "hashed:", "reranker": ""}
    with crx.open(tmp_path / "texts.crx", settings=settings) as index:
        index.add_documents(crx.Document(uri, text) for uri, text in TEXTS.items())
        yield index


@pytest.mark.parametrize("legs", [["bm25"], ["dense"], ["bm25", "dense"]])
def test_what_is_like_a_passage_is_found_in_other_documents(
    index: crx.Index, legs: list[Leg]
) -> None:
    found = index.search("bread steam")[0]
    assert found.uri == "bread"
    whales = index.search("blue whales", where={"uri": "whales"})[0]
    for passage in (whales, whales.hits[0]):
        like = index.search(like=passage, legs=legs)
        assert [each.uri for each in like][:2] == ["whales, again", "baleen"]


def test_signs_in_a_passage_are_no_operators(index: crx.Index) -> None:
    baleen = index.search("plates of baleen", where={"uri": "baleen"})[0]
    like = index.search(like=baleen, legs=["bm25"])
    assert [each.uri for each in like] == ["whales", "bread"]
    assert like.notes == ()


def test_a_filter_holds_for_what_is_like_a_passage(index: crx.Index) -> None:
    whales = index.search("blue whales")[0]
    like = index.search(like=whales, where={"uri": {"prefix": "b"}})
    assert [each.uri for each in like] == ["baleen", "bread"]


def test_a_search_is_for_a_query_or_for_what_is_like_a_passage(index: crx.Index) -> None:
    passage = index.search("krill")[0]
    with pytest.raises(ValueError, match="search for a query or like a passage, not both"):
        index.search("krill", like=passage)
