"""Searches over the snapshot of an engine answer as searches of the folder do."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.retrieve.request import SearchRequest, Where
from crx.retrieve.search import run_search
from crx.types import Result, Window
from crx_engines.engine.legs import make_searcher
from crx_engines.folder.local_engine import LocalEngine

QUERIES = ["how to index a folder", '"the index" of a server', "context windows"]


@pytest.mark.parametrize("where", [None, {"year": {">": 2015}}, {"yaer": 2020}, {"lang": "fr"}])
@pytest.mark.parametrize("window", ["auto", "grow", 1])
def test_an_engine_answers_as_the_folder_does(
    folder: Path, where: Where | None, window: Window
) -> None:
    def answer(query: str) -> Result:
        request = SearchRequest(query=query, where=where, window=window)
        return run_search(request, parameters=parameters, searcher=make_searcher(snapshot))

    with crx.open(folder, create=False) as index, LocalEngine(folder).snapshot() as snapshot:
        asked = SearchRequest(query="any", rerank=False)
        parameters = index.search_models.parameters(asked, has_vectors=True)
        for query in QUERIES:
            expected = index.search(query, where=where, window=window, rerank=False)
            found = answer(query)
            assert (found.passages, found.hits) == (expected.passages, expected.hits)
            assert found.notes == expected.notes


def test_a_searcher_of_an_engine_counts_what_the_folder_does(folder: Path) -> None:
    with crx.open(folder, create=False) as index, LocalEngine(folder).snapshot() as snapshot:
        searcher, status = make_searcher(snapshot), index.status()
    assert (searcher.langs, searcher.lag) == (("en", "zh"), 0)
    counts = {name: status.counts[name] for name in searcher.counts()}
    assert searcher.counts() == counts
    assert counts["documents"] > 0
