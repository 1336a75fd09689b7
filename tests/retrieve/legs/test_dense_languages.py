"""Weights of dense hits in languages that the embedder does not read, alone and in a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from memory_searcher import PARAMETERS, MemoryChunk, MemorySearcher
from numpy.typing import NDArray

import crx
from crx._backends.hashed import HashedEmbedder
from crx.retrieve._legs.dense_languages import UNREAD_WEIGHT, weigh_by_language
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.query_vectors import CachedEmbedder, QueryVectorCache
from crx.retrieve.request import SearchRequest
from crx.retrieve.search_state import start_search
from crx.types import Document, Ranking


class EnglishEmbedder(HashedEmbedder):
    """An embedder that declares to read English."""

    languages: tuple[str, ...] = ("en",)


LANG_OF = {1: "en", 2: "ja", 3: "", 4: "en-GB"}
QUERY = "where is the library and when does it open?"


def weigh(
    query: str, langs: Sequence[str], *, embedder: HashedEmbedder | None = None
) -> tuple[list[float], str]:
    def langs_of(keys: NDArray[np.int64]) -> list[str]:
        return [LANG_OF[key] for key in keys.tolist()]

    keys = np.array([1, 2, 3, 4], np.int64)
    embedder = embedder or EnglishEmbedder()
    weights, note = weigh_by_language(embedder, query, keys, langs=langs, langs_of=langs_of)
    return weights.tolist(), note


def test_hits_in_a_language_that_is_read_weigh_1() -> None:
    assert weigh(QUERY, ["en", ""]) == ([1.0] * 4, "")


def test_an_embedder_that_declares_no_language_reads_all() -> None:
    assert weigh("図書館はどこですか", ["ja"], embedder=HashedEmbedder()) == ([1.0] * 4, "")


def test_a_query_in_another_language_weighs_the_whole_leg_down() -> None:
    weights, note = weigh("図書館はどこですか", ["ja", "en"])
    assert weights == [UNREAD_WEIGHT] * 4
    assert note == (
        "the dense leg weighs less: the query is in ja, which the embedder does not read"
    )


def test_documents_that_are_all_in_other_languages_weigh_the_whole_leg_down() -> None:
    weights, note = weigh("TCP", ["ja", "zh"])
    assert weights == [UNREAD_WEIGHT] * 4
    assert note == (
        "the dense leg weighs less: the documents are in ja, zh, which the embedder does not read"
    )


def test_in_a_mixed_index_only_hits_in_other_languages_weigh_less() -> None:
    weights, note = weigh(QUERY, ["en", "ja", "en-GB", ""])
    assert weights == [1.0, UNREAD_WEIGHT, 1.0, 1.0]
    assert note == (
        "the dense leg weighs less: 1 of its hits are in ja, which the embedder does not read"
    )


class MistakenEmbedder(EnglishEmbedder):
    """An embedder that takes every query for the last document."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        return super().embed([TEXTS[-1]] * len(texts) if query else texts)


TEXTS = ("図書館は駅の前にあります。", "図書館は古い建物です。", "駅の前で雨が降ります。")


def test_a_search_in_an_unread_language_keeps_the_order_of_bm25_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.registry.load_embedder", lambda spec: MistakenEmbedder())
    with crx.open(tmp_path / "n.crx", settings={"embedder": "hashed", "chunk_chars": 80}) as index:
        index.add_documents(Document(f"d{n}", text, lang="ja") for n, text in enumerate(TEXTS))
        both = index.search("図書館は駅の前", k=2)
        bm25 = index.search("図書館は駅の前", k=2, legs=("bm25",))
    assert [hit.uri for hit in both.hits] == [hit.uri for hit in bm25.hits] == ["d0", "d1"]
    assert both.notes == (
        "the dense leg weighs less: the query is in ja, which the embedder does not read",
    )
    assert bm25.notes == ()


@pytest.mark.parametrize(
    ("query", "langs", "first"),
    [
        ("Đội Panthers đã thua bao nhiêu điểm?", ["en"], 2),
        ("Đội Panthers đã thua bao nhiêu điểm?", ["en", "vi"], 1),
        ("Đội Panthers đã thua bao nhiêu điểm?", [""], 1),
        ("how many points did the Panthers lose?", ["en"], 1),
    ],
)
def test_words_weigh_less_if_the_query_is_in_another_language_than_all_documents(
    query: str, langs: list[str], first: int
) -> None:
    rankings = {
        "bm25": Ranking(np.array([1, 2]), np.array([2, 1], np.float32)),
        "dense": Ranking(np.array([2, 1]), np.array([0.9, 0.5], np.float32)),
    }
    searcher = MemorySearcher([MemoryChunk(1, "Panthers."), MemoryChunk(2, "Points.")], langs=langs)
    embedder = CachedEmbedder(HashedEmbedder(), QueryVectorCache())
    parameters = PARAMETERS._replace(embedder=embedder)
    search = start_search(SearchRequest(query=query), parameters=parameters, searcher=searcher)
    assert fuse_legs(search._replace(rankings=rankings)).ranking.keys[0] == first


def test_an_index_records_what_its_embedder_reads_and_notes_other_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.registry.load_embedder", lambda spec: EnglishEmbedder())
    with crx.open(tmp_path / "n.crx", settings={"embedder": "hashed", "chunk_chars": 80}) as index:
        index.add_documents([Document("a", "The library opens at nine.", lang="en")])
        assert (index.settings["embedder_languages"], index.status().notes) == ("en", ())
        index.add_documents([Document("b", TEXTS[0], lang="ja")])
        assert index.status().notes == (
            "documents in ja are found by BM25 rather than by vectors: the embedder hashed does "
            "not read them",
        )
