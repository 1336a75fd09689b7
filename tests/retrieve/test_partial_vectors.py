"""Fusion while chunks have no vector yet: they are not punished, and few vectors weigh little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pytest
from memory_searcher import PARAMETERS as BY_WORDS
from memory_searcher import MemoryChunk, MemorySearcher
from numpy.typing import NDArray

import crx
from crx._backends.hashed import HashedEmbedder
from crx._index.reader import open_reader
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.query_vectors import CachedEmbedder, QueryVectorCache
from crx.retrieve.request import SearchRequest
from crx.retrieve.search_state import start_search
from crx.types import Ranking

EMBEDDER = CachedEmbedder(HashedEmbedder(), QueryVectorCache())
PARAMETERS = BY_WORDS._replace(k=9, embedder=EMBEDDER)
CHUNKS = [MemoryChunk(key, f"Whale {key}.", doc=key) for key in range(1, 7)]


def ranking(keys: list[int]) -> Ranking:
    return Ranking(np.array(keys, np.int64), np.linspace(1, 0.02, len(keys), dtype=np.float32))


def fused(bm25: list[int], dense: list[int], *, pending: list[int]) -> list[int]:
    """Return the order of the legs fused."""
    search = start_search(
        SearchRequest(query="whales"),
        parameters=PARAMETERS,
        searcher=MemorySearcher(CHUNKS, pending=pending),
    )
    search = search._replace(rankings={"bm25": ranking(bm25), "dense": ranking(dense)})
    return list(map(int, fuse_legs(search).ranking.keys))


def test_a_chunk_without_a_vector_keeps_its_rank_before_one_that_has_little_else() -> None:
    assert fused([1, 2, 3, 4], [2, 3, 4, 5], pending=[])[0] == 2
    assert fused([1, 2, 3, 4], [2, 3, 4, 5], pending=[1])[0] == 1


def test_without_vectors_among_the_chunks_of_bm25_its_order_is_kept() -> None:
    assert fused([3, 1, 2], [6, 5, 4], pending=[1, 2, 3])[:3] == [3, 1, 2]


def test_the_dense_leg_weighs_more_the_more_chunks_have_a_vector() -> None:
    # 6 is found by vectors alone; it rises with the share of BM25's chunks that have one.
    ranks = [
        fused([1, 2, 3, 4, 5], [6, 1], pending=pending).index(6)
        for pending in ([1, 2, 3, 4, 5], [2, 3, 4, 5], [4, 5], [])
    ]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] == 5
    assert ranks[-1] < 5


def test_a_search_of_an_index_without_vectors_embeds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> NDArray[np.float32]:
        raise AssertionError("the query was embedded")

    monkeypatch.setattr(HashedEmbedder, "embed", refuse)
    with crx.open(tmp_path / "i.crx", settings={"embedder": "hashed"}) as index:
        index.add_documents([crx.Document("a", "Whales eat krill.")], words_only=True)
        result = index.search("krill")
    assert [hit.uri for hit in result.hits] == ["a"]
    assert "dense" not in result.hits[0].stages
    (note,) = result.notes
    assert note == (
        "1 of 1 chunks are found by words alone until they have their vector; "
        '"crx embed" goes on with them'
    )


def test_a_search_beside_the_second_pass_uses_the_vectors_that_are_there(tmp_path: Path) -> None:
    texts = [f"Whale number {n} is blue." for n in range(40)]
    with crx.open(tmp_path / "i.crx", settings={"embedder": "hashed"}) as index:
        index.add_documents([crx.Document("first", texts[0])])
        index.add_documents(
            [crx.Document(f"{n}", text) for n, text in enumerate(texts)], words_only=True
        )
        result = index.search("whale number 7 is blue")
        assert result.hits[0].uri == "7"
        stages = {hit.uri: set(hit.stages) for hit in result.hits}
    assert "dense" in stages["first"]
    assert "dense" not in stages["7"]
    assert "39 of 41 chunks" in result.notes[0]  # one text is that of the first document


WRITER = """
import sys, crx
def documents():
    for n in range(60):
        yield crx.Document(f"mem:{n}", f"Whale {n} eats krill.")
    print("read", flush=True)
    sys.stdin.read()
with crx.open(sys.argv[1], settings={"embedder": "hashed"}) as index:
    index.add_documents(documents())
"""


def test_chunks_that_are_not_found_by_words_yet_either_are_not_counted(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "i.crx")]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "read\n"
        with open_reader(tmp_path / "i.crx") as index:
            result = index.search("krill")
        writer.communicate("")
    assert result.hits == ()
    assert "changes behind: " in result.notes[0]
    assert result.notes[-1] == (
        "nothing found: no document that can be searched yet has these words"
    )
    assert not any("0 of 0" in note for note in result.notes)
    assert writer.returncode == 0
