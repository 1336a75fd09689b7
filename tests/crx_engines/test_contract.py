"""What holds for every engine: the same hits, scores and passages from the same documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crx
from crx.retrieve.search_notes import NEAR_IN_MEANING, NOTHING_NEAR
from crx.types import Leg, Result, Window
from crx_engines.engine.protocol import Engine, EngineSnapshot, Saturation
from crx_engines.engine_contract.rules import RULES, Rule
from crx_engines.folder.copy import open_engine

QUERIES = [
    "how does the server answer a search",
    "which file holds the truth",
    "龙头山的寺庙什么时候修复",
    '"the index folder"',
    "the of and",
]
FILTERS: list[dict[str, Any] | None] = [
    None,
    {"lang": "zh"},
    {"year": {">=": 2013, "<": 2018}},
    {"tags": ["n1", "n2"]},
    {"tags": {"!=": "n0"}},
    {"draft": True, "title": {"prefix": "s"}},
    {"uri": "doc:*"},
    {"source": "doc:zh[0-9]"},
    {"uri": {"glob": "**#part"}},
    {"title": {"<": "m"}},
    {"year": 2012.0},
    {"absent": {"!=": 1}},
]


@pytest.fixture(scope="module", params=["folder", "database", "cluster", "lite"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine, with the same documents."""
    engine = open_engine(str(request.getfixturevalue(request.param)))
    yield engine
    engine.close()


@pytest.fixture(scope="module", params=["database", "cluster", "lite"])
def both(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[crx.Index, crx.Index]]:
    """The index in the folder, and in a database: on one server, on three, or in Milvus Lite."""
    url = request.getfixturevalue(request.param)
    with crx.open(folder) as local, crx.open(url, create=False) as remote:
        yield local, remote


def comparable(result: Result) -> list[object]:
    hits: list[object] = [
        (hit.uri, hit.ordinal, hit.text, hit.outline, sorted(hit.stages)) for hit in result.hits
    ]
    passages = [
        (p.uri, p.start, p.end, p.text, p.tokens, p.lines, p.pages, p.headings, len(p.hits))
        for p in result.passages
    ]
    return hits + passages


def scores(result: Result) -> list[float]:
    legs = [stage.score for hit in result.hits for _, stage in sorted(hit.stages.items())]
    return [*(hit.score for hit in result.hits), *legs]


@pytest.mark.parametrize("where", FILTERS, ids=str)
@pytest.mark.parametrize("query", QUERIES)
def test_a_search_of_the_database_is_that_of_the_folder(
    both: tuple[crx.Index, crx.Index],
    query: str,
    where: dict[str, Any] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local, remote = (index.search(query, k=20, where=where) for index in both)
    if {NEAR_IN_MEANING, NOTHING_NEAR} & set(local.notes):
        # A database does not compare a query with every chunk, so it has no floor.
        monkeypatch.setattr("crx.retrieve.rules.unknown_words.FEWEST_CHUNKS", 1_000_000)
        local = both[0].search(query, k=20, where=where)
    assert comparable(remote) == comparable(local)
    np.testing.assert_allclose(scores(remote), scores(local), atol=1e-4)
    assert remote.notes == local.notes


@pytest.mark.parametrize("window", ["auto", "grow", 0, 2])
@pytest.mark.parametrize("options", [{}, {"within_section": True}, {"order": "document"}])
def test_hits_are_widened_alike(
    both: tuple[crx.Index, crx.Index], window: Window, options: dict[str, Any]
) -> None:
    local, remote = (index.search("what is an index", window=window, **options) for index in both)
    # In the order of documents, those of a cluster are by server.
    order = repr if "order" in options else lambda _: ""
    assert sorted(comparable(remote), key=order) == sorted(comparable(local), key=order)


@pytest.mark.parametrize("leg", ["bm25", "dense"])
def test_each_leg_alone_gives_the_same_ranking(both: tuple[crx.Index, crx.Index], leg: Leg) -> None:
    local, remote = (index.search("vectors of chunks", legs=[leg], k=30) for index in both)
    assert len(local.hits) == 30
    assert comparable(remote) == comparable(local)
    np.testing.assert_allclose(scores(remote), scores(local), atol=1e-4)


@pytest.mark.parametrize(
    "where",
    [{"year": {}}, {"year": {"~": 1}}, {"year": {"<": True}}, {"uri": "doc:[a"}, {"year": None}],
    ids=str,
)
def test_a_filter_that_is_not_valid_is_refused(
    both: tuple[crx.Index, crx.Index], where: dict[str, Any]
) -> None:
    for index in both:
        with pytest.raises(ValueError, match="filter: "):
            index.search("anything", where=where)


def test_a_filter_on_a_missing_field_is_explained(both: tuple[crx.Index, crx.Index]) -> None:
    local, remote = (index.search("anything", where={"yaer": 2012}) for index in both)
    assert remote.notes == local.notes
    assert "did you mean year?" in remote.notes[-1]


def test_the_statistics_are_those_of_the_documents(engine: Engine, folder: Path) -> None:
    with crx.open(folder) as index:
        counts = index.status().counts
    with engine.snapshot() as snapshot:
        stats = snapshot.stats()
    assert (stats.documents, stats.chunks) == (counts["documents"], counts["chunks"])
    assert (stats.vectors, stats.pending, stats.langs) == (counts["chunks"], 0, ("en", "zh"))
    assert stats.tokens == counts["tokens"] > 0


def test_a_document_is_read_as_it_was_put(engine: Engine, folder: Path) -> None:
    original = open_engine(str(folder))
    with original.snapshot() as expected, engine.snapshot() as found:
        digests = expected.digests(where=None)
        assert found.digests(where=None) == digests
        for uri, digest in digests.items():
            document = found.read(uri)
            assert document is not None
            assert document.digest() == digest
        assert found.read("doc:none") is None
    original.close()


def some_keys(snapshot: EngineSnapshot, count: int) -> list[int]:
    weights = [("search", 1.0)]
    found = snapshot.sparse_topk(weights, k=count, saturation=Saturation(), where=None)
    keys: list[int] = found.keys.tolist()
    return keys


def test_neighbours_end_where_the_document_does(engine: Engine) -> None:
    with engine.snapshot() as snapshot:
        row = next(row for row in snapshot.rows(some_keys(snapshot, 50)) if row.ordinal == 0)
        layout = snapshot.neighbours([(row.doc, 0), (row.doc, 1)], each_side=1)
    assert layout[:, 1].tolist() == [0, 1, 2]
    assert layout[0].tolist() == [
        *(row.doc, 0, row.start, row.end, row.token_start, row.token_end, row.section)
    ]


def test_a_key_without_a_chunk_is_skipped(engine: Engine) -> None:
    with engine.snapshot() as snapshot:
        first, second = some_keys(snapshot, 2)
        assert [row.key for row in snapshot.rows([second, 10**9, first])] == [second, first]


def test_terms_that_no_chunk_holds_find_nothing(engine: Engine) -> None:
    with engine.snapshot() as snapshot:
        for weights in ([], [("nosuchterm", 1.0)]):
            found = snapshot.sparse_topk(weights, k=5, saturation=Saturation(), where=None)
            assert found.keys.tolist() == []


@pytest.fixture(scope="module", params=["database", "cluster", "lite"])
def new(request: pytest.FixtureRequest) -> Callable[[], Engine]:
    """What makes an engine that holds no index yet."""
    new_address: Callable[[], str] = request.getfixturevalue(f"new_{request.param}")
    return lambda: open_engine(new_address())


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_each_engine_keeps_the_contract(new: Callable[[], Engine], rule: Rule) -> None:
    rule.check(new)
