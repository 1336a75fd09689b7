"""The retriever and the reranker of LangChain; its own suite of tests for retrievers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import crx

pytest.importorskip("langchain_core")
pytest.importorskip("langchain_tests")

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from crx_serve.integrations.langchain import CrxReranker, CrxRetriever


class TestStandardSuite(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _index(self, index: crx.Index) -> None:
        self._opened = index

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return CrxRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self._opened}

    @property
    def retriever_query_example(self) -> str:
        return "whales"


def test_a_document_holds_the_chunk_and_its_metadata_the_place(index: crx.Index) -> None:
    retriever = CrxRetriever(index=index.path, k=1, where={"path": "**/bread.md"})
    (document,) = retriever.invoke("how hot is the oven?")
    assert document.page_content.startswith("# Bread")
    assert Path(document.metadata["source"]).name == "bread.md"
    assert document.metadata["lines"] == [1, 3]
    assert document.id == f"{document.metadata['source']}#0-{document.metadata['end']}"


def test_a_misspelt_argument_is_an_error(index: crx.Index) -> None:
    with pytest.raises(TypeError, match="top_k"):
        CrxRetriever(index=index).invoke("whales", top_k=3)


def test_an_asynchronous_search_gives_the_same(index: crx.Index) -> None:
    retriever = CrxRetriever(index=index)
    assert asyncio.run(retriever.ainvoke("krill")) == retriever.invoke("krill")


def test_the_reranker_keeps_the_most_relevant_documents() -> None:
    documents = [
        Document(page_content="Bake the bread.", metadata={"page": 1}),
        Document(page_content="Blue whales eat krill.", metadata={"page": 2}),
    ]
    reranker = CrxReranker(reranker="overlap", top_n=1)
    (best,) = reranker.compress_documents(documents, "what do whales eat")
    assert (best.page_content, best.metadata["page"]) == ("Blue whales eat krill.", 2)
    assert 0 < best.metadata["relevance_score"] < 1
    assert documents[1].metadata == {"page": 2}
    assert reranker.compress_documents([], "whales") == []
