"""Exact results from stored saturations of another mean length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crx.types import Ranking
from crx_engines.engine.bm25 import query_weights
from crx_engines.engine.protocol import Engine, EngineSnapshot, Saturation, StoredDocument
from crx_engines.folder.copy import copy_documents, open_engine
from crx_engines.milvus import milvus_snapshot
from crx_engines.milvus.milvus_connection import MilvusConnection

QUERIES = ["the index of a folder", "search server", "chunk", "of the and a"]


def short_documents(folder: Path) -> list[StoredDocument]:
    """Return documents of one short chunk each, whose lengths are far from those of the others."""
    source = open_engine(str(folder))
    with source.snapshot() as snapshot:
        found = snapshot.read("doc:zh0#part")
    source.close()
    assert found is not None
    texts = ("search", "server index", "a folder", "chunk", "the chunk")
    chunk = replace(found.chunks[0], start=0, outline="", context=None)
    return [
        replace(
            found,
            uri=f"short:{at}",
            lang="en",
            text=text,
            marks="[]",
            chunks=(replace(chunk, end=len(text)),),
        )
        for at, text in enumerate(texts)
    ]


@pytest.fixture
def drifted(folder: Path, new_lite: Callable[[], str], tmp_path: Path) -> tuple[Engine, Engine]:
    """The same documents in a folder and in Milvus, where the mean was that of short ones."""
    engines = open_engine(str(tmp_path / "i.crx")), open_engine(new_lite())
    source = open_engine(str(folder))
    for engine in engines:
        engine.create(source.settings())
        engine.upsert(short_documents(folder))
        copy_documents(source, engine)
    source.close()
    return engines


def named(snapshot: EngineSnapshot, found: Ranking) -> list[tuple[str, int, float]]:
    rows = snapshot.rows(found.keys.tolist())
    scores = [round(float(score), 4) for score in found.scores]
    ordered = [(r.uri, r.ordinal, s) for r, s in zip(rows, scores, strict=True)]
    return sorted(ordered, key=lambda each: (-each[2], each[:2]))


@pytest.mark.parametrize(
    "saturation",
    [
        Saturation(weights=(1, 2, 1)),
        Saturation(k1=0.4, b=0.1, weights=(1, 0.5, 3)),
        Saturation(k1=2.5, b=1.0, weights=(1, 0, 0)),
    ],
    ids=str,
)
def test_results_stay_exact_when_the_mean_length_has_changed(
    drifted: tuple[Engine, Engine], saturation: Saturation, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few candidates, so that only the bound makes it ask for more.
    monkeypatch.setattr(milvus_snapshot, "_LEAST_CANDIDATES", 3)
    monkeypatch.setattr(milvus_snapshot, "_OVERSAMPLE", 1)
    local, remote = drifted
    with local.snapshot() as one, remote.snapshot() as other:
        for query in QUERIES:
            terms = [(term, 1.0, word) for word, term in enumerate(query.split())]
            results = []
            for snapshot in (one, other):
                weights = query_weights(terms, snapshot=snapshot, saturation=saturation)
                found = snapshot.sparse_topk(weights, k=7, saturation=saturation, where=None)
                results.append(named(snapshot, found))
            # Equal scores may be cut differently at the end.
            last = results[0][-1][2]
            above = [[each for each in result if each[2] > last] for result in results]
            assert above[0] == above[1], query
            assert [s for _, _, s in results[0]] == pytest.approx(
                [s for _, _, s in results[1]], abs=2e-4
            )
    for engine in drifted:
        engine.close()


def test_a_search_asks_for_no_more_than_it_needs(
    folder: Path, lite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[object] = []
    search = MilvusConnection.search

    def counted(self: MilvusConnection, kind: str, **options: object) -> Ranking:
        limits.append(options["limit"])
        return search(self, kind, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(MilvusConnection, "search", counted)
    engine = open_engine(lite)
    with engine.snapshot() as snapshot:
        saturation = Saturation(weights=(1, 2, 1))
        weights = query_weights([("search", 1.0, 0)], snapshot=snapshot, saturation=saturation)
        snapshot.sparse_topk(weights, k=3, saturation=saturation, where=None)
    engine.close()
    assert limits == [100]


def test_equal_chunks_are_in_the_order_of_their_keys(
    folder: Path, new_lite: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = MilvusConnection.search

    def backwards(self: MilvusConnection, kind: str, *, limit: int, **options: Any) -> Ranking:
        """Search as a server may that puts equal rows in any order."""
        found = search(self, kind, limit=1000, **options)
        order = np.lexsort((-found.keys, -found.scores))[:limit]
        return Ranking(found.keys[order], found.scores[order])

    monkeypatch.setattr(MilvusConnection, "search", backwards)
    monkeypatch.setattr(milvus_snapshot, "_LEAST_CANDIDATES", 3)
    monkeypatch.setattr(milvus_snapshot, "_OVERSAMPLE", 1)
    source, engine = open_engine(str(folder)), open_engine(new_lite())
    engine.create(source.settings())
    source.close()
    document = short_documents(folder)[0]
    engine.upsert([replace(document, uri=f"copy:{at:02}") for at in range(40)])
    with engine.snapshot() as snapshot:
        vector = np.ones(256, np.float32)
        weights = [("search", 1.0)]
        for found in (
            snapshot.dense_topk(vector, k=5, where=None),
            snapshot.sparse_topk(weights, k=5, saturation=Saturation(), where=None),
        ):
            uris = [row.uri for row in snapshot.rows(found.keys.tolist())]
            assert uris == [f"copy:{at:02}" for at in range(5)]
    engine.close()
