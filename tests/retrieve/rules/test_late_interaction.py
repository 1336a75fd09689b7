"""The rule that reranks by the states of the embedder's tokens what the reranker does not read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import crx
from crx._backends.hashed import HashedEmbedder
from crx.errors import ModelError
from crx.protocols import Reranker

NETWORK = "Le serveur du réseau redémarre lorsque le paquet est installé, et le journal le dit."
PACKAGE = "Le paquet du réseau est installé lorsque le serveur redémarre, et le journal se tait."
BREAD = "La farine du pain est moulue avant que le boulanger ne se lève, et la nuit est longue."
QUERY = "le réseau du serveur et le paquet"


class EnglishReranker:
    """A reranker that reads English alone."""

    fingerprint = "english"
    languages = ("en",)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full(len(texts), 0.5, np.float32)


class States:
    """Scores the text about the package 0.9 and others 0.1, and counts the texts of each call."""

    fingerprint = "states"

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += [(query, len(texts))] * (query != "warm")
        return np.array([0.9 if "se tait" in text else 0.1 for text in texts], "f")


class FailingStates(States):
    """States of a damaged model."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ModelError("states: damaged; add the model again")


class StatesEmbedder(HashedEmbedder):
    """The hashed embedder, which has such a reranker."""

    def __init__(self, states: States | None) -> None:
        super().__init__()
        self._states = states

    def load_token_reranker(self) -> Reranker | None:
        return self._states


def open_index(tmp_path: Path, states: States | None, **settings: object) -> crx.Index:
    index = crx.open(
        tmp_path / "notes.crx",
        settings={"reranker": "overlap", **settings},
        embedder=StatesEmbedder(states),
        reranker=EnglishReranker(),
    )
    texts = {"network": NETWORK, "package": PACKAGE, "bread": BREAD}
    index.add_documents([crx.Document(uri, text, lang="fr") for uri, text in texts.items()])
    return index


def uris(result: crx.Result) -> list[str]:
    return [hit.uri for hit in result.hits]


def test_close_candidates_in_another_language_are_ordered_by_the_states(tmp_path: Path) -> None:
    states = States()
    index = open_index(tmp_path, states)
    plain, found = index.search(QUERY, rerank=False), index.search(QUERY)
    assert uris(plain)[:2] == ["network", "package"]
    assert uris(found)[:2] == ["package", "network"]
    assert found.hits[0].stages["late_interaction"].score == pytest.approx(0.9)
    assert "rerank" not in found.hits[0].stages
    assert states.asked == [(QUERY, 2), (QUERY, 1)]
    assert "late_interaction" in (found.timings_ms or {})
    assert found.notes == plain.notes


def test_a_first_candidate_far_ahead_is_not_reranked(tmp_path: Path) -> None:
    states = States()
    found = open_index(tmp_path, states).search("la farine du pain est moulue avant la nuit")
    assert (uris(found)[0], states.asked) == ("bread", [])


@pytest.mark.parametrize("query", ["the package of the network is installed", "鲸鱼吃什么"])
def test_a_query_in_a_language_of_no_document_is_not_reranked(tmp_path: Path, query: str) -> None:
    states = States()
    open_index(tmp_path, states).search(query)
    assert states.asked == []


def test_it_is_left_out_with_the_reranker_and_by_its_name(tmp_path: Path) -> None:
    states = States()
    index = open_index(tmp_path, states)
    index.search(QUERY, rerank=False)
    index.search(QUERY, without=["late_interaction"])
    index.search(QUERY, legs=("bm25",), rerank=True)
    assert states.asked == []
    assert "late_interaction" not in index.search(QUERY, legs=("dense",)).hits[0].stages


def test_a_search_that_asks_for_reranking_is_not_told_that_there_is_none(tmp_path: Path) -> None:
    index = open_index(tmp_path, States())
    assert index.search(QUERY, rerank=True).notes == index.search(QUERY, rerank=False).notes
    plain = index.search(QUERY, rerank=True, without=["late_interaction"])
    assert any("not reranked: the query is in fr" in note for note in plain.notes)


def test_that_an_embedder_has_no_states_is_asked_once(tmp_path: Path) -> None:
    index, loaded = open_index(tmp_path, None), 0

    def load(_: StatesEmbedder) -> None:
        nonlocal loaded
        loaded += 1

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StatesEmbedder, "load_token_reranker", load)
        index.search(QUERY)
        index.search(QUERY + " du boulanger")
    assert loaded == 1


def test_an_embedder_without_states_says_nothing(tmp_path: Path) -> None:
    index = open_index(tmp_path, None)
    found = index.search(QUERY)
    assert uris(found)[:2] == ["network", "package"]
    assert found.notes == index.search(QUERY, rerank=False).notes


def test_a_model_that_fails_leaves_the_order_and_a_note(tmp_path: Path) -> None:
    found = open_index(tmp_path, FailingStates()).search(QUERY)
    assert uris(found)[:2] == ["network", "package"]
    assert "not reranked: states: damaged; add the model again" in found.notes


def test_a_model_that_fails_does_not_hide_that_nothing_was_reranked(tmp_path: Path) -> None:
    found = open_index(tmp_path, FailingStates()).search(QUERY, rerank=True)
    assert any("not reranked: the query is in fr" in note for note in found.notes)


def test_a_threshold_of_relevance_drops_nothing_by_the_states(tmp_path: Path) -> None:
    index = open_index(tmp_path, States(), **{"rank.rerank.min_relevance": 0.5})
    assert len(index.search(QUERY).hits) == len(
        index.search(QUERY, without=["late_interaction"]).hits
    )
