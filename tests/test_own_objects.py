"""Programs: own models as objects, reading documents back, dates, and threads that add."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import crx
from crx.errors import Incompatible, Locked

HERONS = crx.Document("herons", "Herons nest in reeds.", metadata={"seen": date(2024, 3, 1)})
WHALES = crx.Document("whales", "Blue whales eat krill.", metadata={"seen": date(2023, 7, 9)})


class Letters:
    """An embedder of one's own: how often a text has each letter."""

    fingerprint = "letters-1"
    dimensions = 26
    max_tokens = 512

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        return np.arange(len(text), dtype=np.uint32)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        counts = [[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts]
        rows = np.array(counts, np.float32) + np.float32(1e-3)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


class Shortest:
    """A reranker of one's own: short texts first."""

    fingerprint = "shortest-1"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([1 / (1 + len(text)) for text in texts], np.float32)


def test_own_models_are_given_as_objects(tmp_path: Path) -> None:
    path = tmp_path / "own.crx"
    with crx.open(path, embedder=Letters(), reranker=Shortest()) as index:
        index.add_documents([HERONS, WHALES])
        result = index.search("krill", legs=["dense"])
        assert {passage.uri for passage in result} == {"herons", "whales"}
        assert "rerank" in index.search("herons", rerank=True).hits[0].stages
    with crx.open(path, embedder=Letters()) as again:
        assert again.search("krill", legs=["dense"])


def test_an_index_of_an_own_embedder_is_searched_by_words_without_it(tmp_path: Path) -> None:
    path = tmp_path / "own.crx"
    with crx.open(path, embedder=Letters()) as index:
        index.add_documents([HERONS])
    with crx.open(path) as without:
        result = without.search("herons")
        assert [passage.uri for passage in result] == ["herons"]
        assert any("crx.open(path, embedder=...)" in note for note in result.notes)


def test_another_embedder_than_the_own_one_is_refused(tmp_path: Path) -> None:
    class Other(Letters):
        fingerprint = "letters-2"

    path = tmp_path / "own.crx"
    with crx.open(path, embedder=Letters()) as index:
        index.add_documents([HERONS])
    with pytest.raises(Incompatible, match="letters-1, but own is now letters-2"):
        crx.open(path, embedder=Other())
    crx.open(tmp_path / "hashed.crx", settings={"embedder": "hashed"}).close()
    with pytest.raises(Incompatible, match="built with embedder = hashed, not own"):
        crx.open(tmp_path / "hashed.crx", embedder=Letters())


def test_documents_are_read_back_and_filtered_by_date(tmp_path: Path) -> None:
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add_documents([WHALES, HERONS])
        assert index.get("herons") == crx.Document(
            "herons", HERONS.text, metadata={"seen": "2024-03-01"}
        )
        assert index.get("bees") is None
        assert [document.uri for document in index.documents()] == ["herons", "whales"]
        late = index.documents(where={"seen": {">=": "2024"}})
        assert [document.uri for document in late] == ["herons"]
        answer = index.ask("what do they eat?", with_="fake:", where={"seen": {"<": "2024"}}, k=1)
        assert [citation.uri for citation in answer.citations] == ["whales"]


def test_threads_that_add_wait_for_each_other(tmp_path: Path) -> None:
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as index:

        def add(n: int) -> None:
            index.add_documents([crx.Document(f"note {n}", f"The note of number {n}.")])

        threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list(index.documents())) == 4


def test_a_write_within_a_write_and_one_that_waits_too_long_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.crx"
    with crx.open(path, settings={"embedder": "hashed"}, timeout=0.01) as index:
        with index._writing():
            with pytest.raises(Locked, match=r"this thread .* is writing"):
                index.add_documents([HERONS])
            refused: list[str] = []

            def add() -> None:
                try:
                    index.add_documents([HERONS])
                except Locked as error:
                    refused.append(str(error))

            thread = threading.Thread(target=add)
            thread.start()
            thread.join()
        assert "another thread of this process" in refused[0]
        index.add_documents([HERONS])
