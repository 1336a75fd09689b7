"""The retriever and the reranker of LlamaIndex."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import crx

pytest.importorskip("llama_index.core")

from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from crx_serve.integrations.llamaindex import CrxIndexRetriever, CrxRerank


def test_a_node_is_the_exact_span_of_its_document(index: crx.Index) -> None:
    (best, *rest) = CrxIndexRetriever(index, similarity_top_k=3).retrieve("humpback song")
    node = best.node
    assert isinstance(node, TextNode)
    assert len(rest) == 2
    assert node.source_node is not None
    row = index.store.document(node.source_node.node_id)
    assert row is not None
    assert node.text == index.store.text(row.doc)[node.start_char_idx : node.end_char_idx]
    assert best.score == node.metadata["score"]


def test_a_language_model_is_shown_the_place_and_no_generated_text(index: crx.Index) -> None:
    (best, *_) = CrxIndexRetriever(index).retrieve("krill")
    shown = best.node.get_content(metadata_mode=MetadataMode.LLM)
    assert f"source: {best.node.metadata['source']}" in shown
    assert "lines:" in shown
    assert "outline:" not in shown
    assert "window:" not in shown


def test_an_asynchronous_search_gives_the_same(index: crx.Index) -> None:
    retriever = CrxIndexRetriever(index.path, where={"path": "**/bread.md"})
    found = asyncio.run(retriever.aretrieve("krill"))
    assert {Path(each.node.metadata["source"]).name for each in found} == {"bread.md"}
    assert found == retriever.retrieve("krill")


def test_the_reranker_keeps_the_most_relevant_nodes() -> None:
    nodes = [
        NodeWithScore(node=TextNode(text=text), score=0.1)
        for text in ("Bake the bread.", "Blue whales eat krill.")
    ]
    rerank = CrxRerank(reranker="overlap", top_n=1)
    (best,) = rerank.postprocess_nodes(nodes, query_str="what do whales eat")
    assert best.node.get_content() == "Blue whales eat krill."
    assert 0.1 < (best.score or 0) < 1
    with pytest.raises(ValueError, match="needs a query"):
        rerank.postprocess_nodes(nodes)
