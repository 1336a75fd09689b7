"""Queries that name a document: the words of the name weigh less than the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import crx
from crx import _native
from crx._native import BEST
from crx.protocols import Embedder
from crx.retrieve._legs.leg_search import search_legs
from crx.retrieve._query.document_name import (
    DocumentName,
    are_of_one_document,
    find_document_name,
)
from crx.retrieve.ports import Found, LexicalLeg
from crx.retrieve.request import SearchRequest
from crx.retrieve.search_state import start_search

OUTLINE = "Supply Agreement of Acme Corporation and Beta Limited, 2019"
QUESTION = "Supply Agreement of Acme Corporation and Beta Limited: which court decides?"


@pytest.fixture
def lexical(tmp_path: Path) -> Iterator[_native.Lexical]:
    lexical = _native.Lexical.open(str(tmp_path / "bm25"), write=True)
    yield lexical
    lexical.close()


@pytest.mark.parametrize(
    ("query", "name", "rest"),
    [
        (
            QUESTION,
            "Supply Agreement of Acme Corporation and Beta Limited",
            "which court decides?",
        ),
        (
            "Which law governs the supply agreements between Acme and Beta?",
            "supply agreements between Acme and Beta",
            "Which law governs the ?",
        ),
        (
            "In the ACME corporation supply agreement, who\n pays",
            "ACME corporation supply agreement",
            "In the , who pays",
        ),
    ],
)
def test_the_name_is_the_stretch_whose_words_the_outlines_of_a_document_have(
    lexical: _native.Lexical, query: str, name: str, rest: str
) -> None:
    found = find_document_name(query, [OUTLINE] * BEST, terms=lexical, langs=["en", "fr"])
    assert found == DocumentName(name, rest)


@pytest.mark.parametrize(
    ("query", "outlines"),
    [
        ("Acme Corporation Supply Agreement", [OUTLINE]),
        ("what does the Acme Corporation have", [OUTLINE]),
        ("disputes of Acme", [OUTLINE]),
        ("In the Acme corporation, who pays", [OUTLINE]),
        ("", [OUTLINE]),
        (QUESTION, [OUTLINE, "Lease of Gamma"]),
    ],
)
def test_a_query_has_no_name_if_the_outlines_disagree_or_nothing_is_left(
    lexical: _native.Lexical, query: str, outlines: list[str]
) -> None:
    assert find_document_name(query, outlines, terms=lexical, langs=["en"]) is None


PARTIES = (("Acme Corporation", "Beta Limited"), ("Gamma Foundry", "Delta Shipping"))
NOISE = "Clause {n}. {a} and {b}: {a} supplies {b} under this agreement, and {b} pays {a}."
ANSWER = "Clause 20. Disputes are decided in Oslo, and the language of proceedings is Norwegian."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two agreements of 25 clauses; those without the answer repeat the names of the parties."""
    folder = tmp_path / "agreements"
    folder.mkdir()
    for a, b in PARTIES:
        clauses = [NOISE.format(n=n, a=a, b=b) for n in range(1, 25)]
        text = "\n\n".join([*clauses[:19], ANSWER, *clauses[19:]])
        (folder / f"{a}.md").write_text(f"# Supply Agreement of {a} and {b}\n\n{text}\n")
    for n in range(40):
        (folder / f"whales{n}.md").write_text(
            f"# Whales\n\nWhale {n} decided to sing in the north.\n"
        )
    return folder


def test_the_best_chunks_are_of_one_document_if_all_ten_are_prose_of_it(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "code.py").write_text(
        "".join(f"def f{n}(x):\n    return {n}\n\n\n" for n in range(99))
    )
    with crx.open(tmp_path / "i.crx", settings={"embedder": "none", "chunk_chars": 100}) as index:
        index.add(folder)
        store = index.store
        acme, gamma, code = (
            store.chunks(store.chunk_keys(each.doc))
            for each in sorted(store.documents(), key=lambda each: each.uri)
            if "whales" not in each.uri
        )
    assert are_of_one_document(acme[:BEST])
    assert not are_of_one_document(acme[: BEST - 1])
    assert not are_of_one_document([*acme[: BEST - 1], gamma[0]])
    assert not are_of_one_document(code[:BEST])


@pytest.mark.parametrize("embedder", ["none", "hashed"])
def test_the_answer_is_found_in_the_document_that_the_query_names(
    folder: Path, tmp_path: Path, embedder: str
) -> None:
    settings = {"embedder": embedder, "chunk_chars": 100}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add(folder)
        assert index.status().counts["chunks"] > 2 * BEST
        (best, *_) = index.search(QUESTION).hits
    assert "decided in Oslo" in best.text
    assert "Acme" in best.uri


def test_the_query_is_embedded_with_its_name_and_without(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"embedder": "hashed", "chunk_chars": 100}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add(folder)
        embed = type(index.embedder).embed
        queries: list[str] = []

        def record(
            embedder: Embedder, texts: Sequence[str], *, query: bool = False
        ) -> NDArray[np.float32]:
            queries.extend(texts)
            return embed(embedder, texts, query=query)

        monkeypatch.setattr(type(index.embedder), "embed", record)
        index.search(QUESTION)
        index.search("disputes", legs=["dense"])
    assert queries == [QUESTION, "which court decides?", "disputes"]


class RecordingLeg(NamedTuple):
    """A BM25 leg that records the weight of outlines by the name it was given."""

    lexical: LexicalLeg
    outline_weights: dict[str, float]

    def search(
        self,
        query: str,
        *,
        k: int,
        name: str = "",
        langs: Sequence[str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
    ) -> Found:
        self.outline_weights[name] = weights[1]
        return self.lexical.search(query, k=k, name=name, langs=langs, k1=k1, b=b, weights=weights)


def test_outlines_weigh_more_once_the_document_is_known(folder: Path, tmp_path: Path) -> None:
    settings = {
        "embedder": "none", "chunk_chars": 100,
        "rank.outline.code": 1.5, "rank.outline.named": 4.5,
    }  # fmt: skip
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add(folder)
        request = SearchRequest(query=QUESTION, rerank=False)
        parameters = index.search_models.parameters(request, has_vectors=False)
        with index.searcher() as searcher:
            search = start_search(request, parameters=parameters, searcher=searcher)
            leg = RecordingLeg(search.legs.lexical, {})
            search_legs(search._replace(legs=search.legs._replace(lexical=leg)))
    name = "Supply Agreement of Acme Corporation and Beta Limited"
    assert leg.outline_weights == {"": 1.0, name: 4.5}


@pytest.mark.parametrize(("query", "weight"), [("which court decides?", 1.0), ("def ends", 1.5)])
def test_outlines_weigh_as_the_kind_of_the_best_chunks_wants_if_no_document_is_named(
    query: str, weight: float, folder: Path, tmp_path: Path
) -> None:
    code = "".join(f"def ends_{n}(term):\n    return term + {n}\n\n\n" for n in range(40))
    (folder / "code.py").write_text(code)
    settings = {
        "embedder": "none", "chunk_chars": 100,
        "rank.outline.code": 1.5, "rank.outline.named": 4.5,
    }  # fmt: skip
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add(folder)
        request = SearchRequest(query=query, rerank=False)
        parameters = index.search_models.parameters(request, has_vectors=False)
        with index.searcher() as searcher:
            search = start_search(request, parameters=parameters, searcher=searcher)
            leg = RecordingLeg(search.legs.lexical, {})
            search_legs(search._replace(legs=search.legs._replace(lexical=leg)))
    assert leg.outline_weights == {"": weight}
