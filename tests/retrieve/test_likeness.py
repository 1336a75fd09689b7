"""Passages like one that was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import crx
from crx.errors import UsageError
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


@pytest.mark.parametrize("uri", ["notes[1].txt", "draft[.txt", "what?.md", "src/[id].tsx"])
def test_a_name_with_wildcards_is_left_out_as_it_is(index: crx.Index, uri: str) -> None:
    index.add_documents([crx.Document(uri, f"{TEXTS['whales']} So do seals.")])
    (passage,) = index.search("blue whales", where={"title": ""}, k=1, legs=["bm25"])[:1]
    hit = replace(passage.hits[0], uri=uri)
    found = {each.uri for each in index.search(like=hit)}
    assert uri not in found
    assert "baleen" in found


def test_a_filter_of_names_that_are_left_out_holds_too(index: crx.Index) -> None:
    whales = index.search("blue whales", where={"uri": "whales"})[0]
    like = index.search(like=whales, where={"uri": {"!=": "b*"}})
    assert [each.uri for each in like] == ["whales, again"]


@pytest.mark.parametrize("text", ["-re:[ krill", "re:re:krill(", "re: -krill", "--re:-krill"])
def test_no_sign_at_the_start_of_a_passage_is_an_operator(index: crx.Index, text: str) -> None:
    index.add_documents([crx.Document("signs", text)])
    hit = index.search("krill", where={"uri": "signs"}).hits[0]
    assert "whales" in [each.uri for each in index.search(like=hit, legs=["bm25"])]


def test_a_passage_without_a_word_and_what_is_no_passage_are_refused(index: crx.Index) -> None:
    hit = replace(index.search("krill").hits[0], text=" re: - ")
    with pytest.raises(UsageError, match="the passage has no words; search for others"):
        index.search(like=hit)
    with pytest.raises(ValueError, match="like must be a passage or a hit, not str"):
        index.search(like="krill")  # type: ignore[arg-type]


def test_a_threshold_of_the_reranker_does_not_hold_for_what_is_like_a_passage(
    tmp_path: Path,
) -> None:
    settings = {"embedder": "hashed:", "reranker": "overlap", "rank.rerank.min_relevance": 0.99}
    with crx.open(tmp_path / "texts.crx", settings=settings) as index:
        index.add_documents(crx.Document(uri, text) for uri, text in TEXTS.items())
        hit = index.search("krill", legs=["bm25"], rerank=True, without=["rerank"]).hits[0]
        assert len(index.search(like=hit).hits) == 3
