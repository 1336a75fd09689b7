"""The retriever of Haystack: in a pipeline, from YAML, with filters."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import crx

pytest.importorskip("haystack")

from haystack import Document, Pipeline

from haystack_integrations.components.retrievers.crx import CrxRetriever


def names(documents: list[Document]) -> set[str]:
    return {Path(document.meta["source"]).name for document in documents}


def test_a_pipeline_read_from_yaml_finds_the_documents(index: crx.Index) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", CrxRetriever(str(index.path), top_k=2))
    again = Pipeline.loads(pipeline.dumps())
    documents = again.run({"retriever": {"query": "humpback song"}})["retriever"]["documents"]
    assert len(documents) == 2
    assert Path(documents[0].meta["source"]).name == "whales.md"
    assert documents[0].meta["lines"] == [5, 7]
    assert documents[0].score >= documents[1].score


def test_filters_of_a_run_replace_those_of_the_component(index: crx.Index) -> None:
    bread = {"field": "meta.path", "operator": "==", "value": f"{index.path.parent}/docs/bread.md"}
    retriever = CrxRetriever(str(index.path), filters=bread)
    assert names(retriever.run("whales")["documents"]) == {"bread.md"}
    other = {"operator": "AND", "conditions": [{**bread, "operator": "!="}]}
    found = retriever.run("whales", filters=other)["documents"]
    assert names(found) == {"whales.md", "tides.md", "ports.md"}


def test_an_asynchronous_run_gives_the_same(index: crx.Index) -> None:
    retriever = CrxRetriever(str(index.path))
    assert asyncio.run(retriever.run_async("krill", top_k=1)) == retriever.run("krill", top_k=1)


def test_a_missing_index_is_an_error_of_the_first_run(tmp_path: Path) -> None:
    retriever = CrxRetriever(str(tmp_path / "none.crx"))
    with pytest.raises(crx.NotAnIndex):
        retriever.run("whales")
