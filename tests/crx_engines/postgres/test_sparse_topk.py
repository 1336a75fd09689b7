"""BM25 over postings: the best chunks are those of a full read, however postings are read."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from corpus_of_engines import make_documents

from crx import _native
from crx.types import Ranking
from crx_engines.engine.bm25 import query_weights
from crx_engines.engine.protocol import Saturation
from crx_engines.folder.copy import open_engine
from crx_engines.postgres import snapshot as postgres
from crx_engines.postgres.connection import Connection, Row


def make_queries(count: int) -> list[str]:
    """Return queries of words of the documents, most of them frequent."""
    words = re.findall(r"[A-Za-z]+", " ".join(each.text for each in make_documents()))
    chance = random.Random(1)
    return [" ".join(chance.sample(words, chance.randint(2, 12))) for _ in range(count)]


def rank(url: str, queries: list[str]) -> list[Ranking]:
    engine = open_engine(url)
    found = []
    with engine.snapshot() as snapshot:
        for at, query in enumerate(queries):
            saturation = Saturation(weights=(1.0, 2.0, 1.0)) if at % 2 else Saturation()
            terms = _native.query_words(query, langs=["en"])
            weights = query_weights(terms, snapshot=snapshot, saturation=saturation)
            where = {"draft": True} if at % 5 == 0 else None
            k = (1, 5, 30)[at % 3]
            ranking = snapshot.sparse_topk(weights, k=k, saturation=saturation, where=where)
            found.append(ranking)
    engine.close()
    return found


@pytest.mark.parametrize("lookup_rows", [0, 10**9], ids=["looked up", "read"])
def test_optional_terms_leave_the_result_the_same(
    database: str, folder: Path, monkeypatch: pytest.MonkeyPatch, lookup_rows: int
) -> None:
    queries = make_queries(60)
    reached: list[float] = []
    run = Connection.run

    def watched(connection: Connection, sql: str, **parameters: object) -> list[Row]:
        if "reached" in parameters:
            assert ("coalesce((\n" in sql) == (lookup_rows == 0)
            reached.append(float(str(parameters["reached"])))
        return run(connection, sql, **parameters)

    monkeypatch.setattr(postgres, "_LOOKUP_ROWS", lookup_rows)
    monkeypatch.setattr(Connection, "run", watched)
    found = rank(database, queries)
    assert sum(each > 0 for each in reached) > 5, "too few second reads"
    assert sum(each == 0 for each in reached) > 20, "too few first reads"
    monkeypatch.setattr(postgres, "_FREQUENT", -1.0)
    first_reads = len(reached)
    for one, other in zip(found, rank(database, queries), strict=True):
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-6)
        # Chunks whose scores are nearly equal may be in another order, or left out, at the end.
        clear = one.scores > one.scores.min(initial=np.inf) + 1e-4
        assert set(one.keys[clear].tolist()) <= set(other.keys.tolist())
    assert len(reached) == first_reads
