"""A search of two indexes: the ranking that one index of all documents gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import crx
from crx._per_process import PerProcess
from crx.errors import UsageError
from crx.protocols import Embedder
from crx.retrieve.request import SearchRequest
from crx_engines.folder.joint_search import can_search_jointly, search_jointly

WORDS = (
    *("whale", "krill", "bread", "steam", "harbour", "rent", "lease"),
    *("notice", "tenant", "river", "bridge", "tar", "stone"),
)
QUERIES = (
    "whale krill",
    "the rent of the harbour",
    "notice tenant lease bridge",
    "bread -steam",
    '"tar stone"',
    "whael",
)


def make_documents() -> list[crx.Document]:
    """Return documents of quite different lengths."""
    random = np.random.default_rng(7)
    lengths = random.integers(5, 400, size=40)
    return [
        crx.Document(
            f"mem:{at}",
            f"# Paper {at}\n\n" + " ".join(random.choice(WORDS, size=length)) + ".",
            metadata={"even": at % 2 == 0},
        )
        for at, length in enumerate(lengths.tolist())
    ]


@pytest.fixture(scope="module", params=["hashed", "none"])
def indexes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[crx.Index, list[crx.Index]]]:
    """An index of all documents, and three of a part each."""
    folder = tmp_path_factory.mktemp("joint")
    settings = {"embedder": request.param, "reranker": "overlap", "rank.rerank.ms": 0}
    documents = make_documents()
    opened = [crx.open(folder / f"{at}.crx", settings=settings) for at in range(4)]
    opened[0].add_documents(documents)
    for at, index in enumerate(opened[1:]):
        index.add_documents(documents[at * 7 : (at + 1) * 7 if at < 2 else None])
    yield opened[0], opened[1:]
    for index in opened:
        index.close()


NAMES = ["a", "b", "c"]


@pytest.mark.parametrize("where", [None, {"even": True}])
@pytest.mark.parametrize("query", QUERIES)
def test_hits_and_passages_are_those_of_one_index(
    indexes: tuple[crx.Index, list[crx.Index]], query: str, where: dict[str, bool] | None
) -> None:
    one, several = indexes
    whole = one.search(query, k=10, where=where)
    result, positions = search_jointly(
        several, SearchRequest(query=query, k=10, where=where), names=NAMES
    )
    assert [(h.uri, h.start, h.stages.keys()) for h in result.hits] == [
        (h.uri, h.start, h.stages.keys()) for h in whole.hits
    ]
    assert [h.score for h in result.hits] == pytest.approx([h.score for h in whole.hits], rel=1e-4)
    assert {(p.uri, p.start, p.end, p.text) for p in result.passages} == {
        (p.uri, p.start, p.end, p.text) for p in whole.passages
    }
    assert result.notes == whole.notes
    for passage, at in zip(result.passages, positions, strict=True):
        assert several[at].store.document(passage.uri) is not None
        (key, *_) = (hit.key for hit in passage.hits)
        (row,) = several[at].store.chunks(np.array([key], np.int64))
        assert row.uri == passage.uri


def test_a_pattern_is_found_in_all_indexes(
    indexes: tuple[crx.Index, list[crx.Index]],
) -> None:
    one, several = indexes
    asked = SearchRequest(query="Paper 1.", match="regex", k=50)
    found = search_jointly(several, asked, names=NAMES).result
    assert {hit.uri for hit in found.hits} == {
        hit.uri for hit in one.search("Paper 1.", match="regex", k=50).hits
    }


def test_an_index_without_vectors_is_searched_beside_one_with_vectors(tmp_path: Path) -> None:
    with (
        crx.open(tmp_path / "a.crx", settings={"embedder": "none"}) as words,
        crx.open(tmp_path / "b.crx", settings={"embedder": "hashed"}) as vectors,
        crx.open(tmp_path / "c.crx", settings={"embedder": "hashed:d=8"}) as others,
    ):
        words.add_documents([crx.Document("mem:a", "Blue whales eat krill.")])
        vectors.add_documents([crx.Document("mem:b", "Bake bread with steam.")])
        found = search_jointly(
            [words, vectors], SearchRequest(query="whales krill"), names=["a", "b"]
        )
        assert [each.uri for each in found.result.hits] == ["mem:a", "mem:b"]
        assert found.indexes[0] == 0
        assert not can_search_jointly([vectors, others])


def test_a_search_of_several_has_the_rules_of_a_search_of_one(tmp_path: Path) -> None:
    def opened(name: str, embedder: str) -> crx.Index:
        index = crx.open(tmp_path / name, settings={"embedder": embedder})
        index.add_documents([crx.Document(f"mem:{name}", "Whales eat krill.")], words_only=True)
        return index

    with opened("a", "none") as first, opened("b", "none") as second:
        request = SearchRequest(query="krill", legs=["dense"])
        with pytest.raises(UsageError, match="has no dense leg"):
            search_jointly([first, second], request, names=NAMES[:2])
        with pytest.raises(UsageError, match="has no dense leg"):
            first.search("krill", legs=["dense"])
    # No model is loaded for vectors that are not there yet.
    with opened("c", "hashed") as first, opened("d", "hashed") as second:
        broken = PerProcess[Embedder](_fail)
        first.search_models._embedder = broken
        found = search_jointly([first, second], SearchRequest(query="krill"), names=NAMES[:2])
        assert len(found.result.passages) == 2


def _fail() -> Embedder:
    raise AssertionError("the embedder was loaded")
