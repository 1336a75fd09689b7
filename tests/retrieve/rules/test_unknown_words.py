"""A query whose words no document has: it is said, and what is found is near in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import crx
from crx._backends.hashed import HashedEmbedder
from crx.retrieve.rules.unknown_words import FEWEST_CHUNKS

NEAR = "no document has these words; what is found is near in meaning"
NOTHING_NEAR = "nothing found: no document has these words, and none is near in meaning"
DOCUMENTS = 60
DIMENSIONS = 64


class TopicEmbedder(HashedEmbedder):
    """An embedder of which all vectors are much alike, and "cetacean" is near to whale number 7."""

    def __init__(self) -> None:
        super().__init__(dimensions=DIMENSIONS)
        rng = np.random.default_rng(3)
        self._topics = rng.standard_normal((DOCUMENTS, DIMENSIONS)) / DIMENSIONS**0.5
        self._common = 3 * rng.standard_normal(DIMENSIONS) / DIMENSIONS**0.5

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        rows = np.array([self._common + self._topic(text) for text in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def _topic(self, text: str) -> NDArray[np.float64]:
        numbers = [int(word) for word in text.split() if word.isdigit()]
        if "cetacean" in text:
            numbers = [7]
        if numbers:
            return np.asarray(self._topics[numbers[0]], np.float64)
        rng = np.random.default_rng(sum(map(ord, text)))
        return np.asarray(rng.standard_normal(DIMENSIONS) / DIMENSIONS**0.5, np.float64)


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every index has the embedder of topics."""
    monkeypatch.setattr("crx.registry.load_embedder", lambda spec: TopicEmbedder())


def index_of(tmp_path: Path, *, documents: int) -> crx.Index:
    index = crx.open(tmp_path / "i.crx", settings={"embedder": f"hashed:d={DIMENSIONS}"})
    index.add_documents(
        crx.Document(f"mem:{number}", f"The whale number {number} of the sea is here.", lang="en")
        for number in range(documents)
    )
    return index


@pytest.mark.parametrize("query", ["cetacean", "what is the cetacean of"])
def test_what_is_near_is_found_and_nothing_that_is_merely_the_nearest(
    tmp_path: Path, query: str
) -> None:
    with index_of(tmp_path, documents=DOCUMENTS) as index:
        near = index.search(query, rerank=False)
        assert [hit.uri for hit in near.hits] == ["mem:7"]
        # The dense leg is fused again, without what BM25 finds of "what is the".
        assert near.hits[0].stages["fuse"].score == near.hits[0].score
        assert NEAR in near.notes
        far = index.search("what is the lattice", rerank=False)
        assert (far.hits, NOTHING_NEAR in far.notes) == ((), True)
        known = index.search("what is the whale", rerank=False)
        assert len(known.hits) == 20
        assert not {NEAR, NOTHING_NEAR} & {*known.notes}


def test_what_a_third_of_the_documents_are_about_is_near(tmp_path: Path) -> None:
    with index_of(tmp_path, documents=DOCUMENTS) as index:
        boats = [f"Boat{'s' * number} and whale 7 here." for number in range(DOCUMENTS // 2)]
        index.add_documents(
            crx.Document(f"boat:{number}", text, lang="en") for number, text in enumerate(boats)
        )
        near = index.search("cetacean", rerank=False)
        uris = {hit.uri for hit in near.hits}
    assert len(uris) == 20
    assert all(uri == "mem:7" or uri.startswith("boat:") for uri in uris)


def test_what_is_merely_the_nearest_does_not_make_up_for_copies(tmp_path: Path) -> None:
    text = "Whale number 7 is here, it swims and dives, and nobody in the boat can see where it is."
    with index_of(tmp_path, documents=DOCUMENTS) as index:
        index.add_documents(crx.Document(f"copy:{number}", text, lang="en") for number in range(4))
        boats = (crx.Document(f"boat:{n}", f"A boat{'s' * n}.", lang="en") for n in range(60))
        index.add_documents(boats)
    with crx.open(tmp_path / "i.crx", settings={"rank.fusion.depth": 3}) as index:
        hits = index.search("cetacean", rerank=False).hits
    assert [(hit.uri, hit.copies) for hit in hits] == [("mem:7", 0), ("copy:0", 3)]


def test_words_are_looked_for_in_the_documents_of_the_filter(tmp_path: Path) -> None:
    with index_of(tmp_path, documents=DOCUMENTS) as index:
        index.add_documents([crx.Document("doc:lattice", "A lattice.", lang="en")])
        found = index.search("the lattice", where={"uri": {"glob": "mem:*"}}, rerank=False)
        assert NOTHING_NEAR in found.notes
        assert index.search("the lattice", rerank=False).hits[0].uri == "doc:lattice"


def test_a_query_of_function_words_is_searched_for_as_it_is(tmp_path: Path) -> None:
    with index_of(tmp_path, documents=DOCUMENTS) as index:
        assert len(index.search("of the", rerank=False).hits) == 20


@pytest.mark.parametrize("query", ["car rental", "hay bale", "pour mortar", "son"])
def test_a_word_counts_that_is_a_function_word_of_a_language_of_no_document(
    tmp_path: Path, query: str
) -> None:
    text = "Every car of the hire stands in the hay; pour in the oil, says his son."
    with crx.open(tmp_path / "i.crx", settings={"embedder": "none"}) as index:
        index.add_documents([crx.Document("mem:1", text, lang="en")])
        found = index.search(query)
        assert (len(found.hits), found.notes) == (1, ())


def test_function_words_of_another_language_do_not_count_if_a_query_has_several(
    tmp_path: Path,
) -> None:
    with crx.open(tmp_path / "i.crx", settings={"embedder": "none"}) as index:
        index.add_documents([crx.Document("mem:1", "A car. Pour it, son.", lang="en")])
        found = index.search("quel son pour une voiture")
        assert (found.hits, found.notes) == ((), ("nothing found: no document has these words",))


def test_a_query_in_another_language_has_no_floor(tmp_path: Path) -> None:
    with index_of(tmp_path, documents=DOCUMENTS) as index:
        found = index.search("海の格子", rerank=False)
        assert (len(found.hits), NEAR in found.notes) == (20, True)


def test_few_chunks_have_no_floor(tmp_path: Path) -> None:
    with index_of(tmp_path, documents=FEWEST_CHUNKS - 1) as index:
        found = index.search("lattice", rerank=False)
        assert (len(found.hits), NEAR in found.notes) == (FEWEST_CHUNKS - 1, True)


def test_more_chunks_than_are_compared_have_no_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.retrieve.rules.unknown_words._MOST_CHUNKS", DOCUMENTS - 10)
    with index_of(tmp_path, documents=DOCUMENTS) as index:
        found = index.search("what is the lattice", rerank=False)
        assert (len(found.hits), NEAR in found.notes) == (20, True)


def test_without_vectors_nothing_is_near(tmp_path: Path) -> None:
    with crx.open(tmp_path / "i.crx", settings={"embedder": "none"}) as index:
        index.add_documents([crx.Document("mem:1", "The whale is in the sea.", lang="en")])
        found = index.search("what is the lattice")
        assert found.notes == ("nothing found: no document has these words",)
        assert found.passages == ()


@pytest.mark.parametrize(
    ("query", "is_told"),
    [
        ("number_whale", True),
        (" number_whale ", True),
        ("WHALE-NUMBER-7", True),
        ("number whale", False),
        ("whale_song", False),
        ("whale/number.md", False),
        ("whale.md", False),
        ("song_of_whales", True),
        ("song_of", False),
        ("a-nation", True),
        ("song-book", False),
    ],
)
def test_it_is_said_that_only_parts_of_an_identifier_are_found(
    tmp_path: Path, query: str, *, is_told: bool
) -> None:
    with index_of(tmp_path, documents=3) as index:
        text = "A whale_song and a song_of_the_sea."
        documents = {"mem:song": text, "mem:song-book": "The song, in a book of the nation."}
        index.add_documents(crx.Document(uri, text, lang="en") for uri, text in documents.items())
        result = index.search(query)
        assert result.passages
        note = f'no document has "{query.strip()}"; what is found has parts of it'
        assert (note in result.notes) == is_told


def test_it_is_said_of_documents_without_a_language_and_not_of_an_empty_index(
    tmp_path: Path,
) -> None:
    with crx.open(tmp_path / "code.crx", settings={"embedder": "none"}) as index:
        (empty,) = index.search("cetacean").notes
        assert empty.startswith("nothing found: the index holds no documents")
        index.add_documents([crx.Document("mem:1", "x = 1\n")])
        assert index.search("cetacean").notes == ("nothing found: no document has these words",)
