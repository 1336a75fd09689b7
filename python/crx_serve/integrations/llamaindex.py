"""A retriever and a reranker for LlamaIndex, installed by `pip install "crx[llamaindex]"`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from crx._index.handle import Index
from crx.protocols import Reranker
from crx.retrieve.request import Where
from crx.types import Window
from crx_serve.integrations.located_hits import (
    LocatedHit,
    locate_hits,
    open_index,
    open_reranker,
    score_texts,
)

# What a language model is shown of the metadata beside the text.
_SHOWN = frozenset({"source", "title", "headings", "lines", "page", "anchor"})


class CrxIndexRetriever(BaseRetriever):
    """The chunks of a crx index that answer a query, as nodes.

    A node's text is the exact text of a chunk, `start_char_idx` and `end_char_idx` are its span,
    and the relationship `SOURCE` names its document. The metadata are those of
    `crx_serve.integrations.langchain.CrxRetriever`; a language model is shown the location alone.
    """

    def __init__(
        self,
        index: Index | str | os.PathLike[str],
        *,
        similarity_top_k: int = 10,
        where: Where | None = None,
        window: Window = "grow",
        rerank: bool | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """Open the index unless it is open already; raises `NotAnIndex`."""
        self._index = open_index(index)
        self._similarity_top_k = similarity_top_k
        self._where = where
        self._window = window
        self._rerank = rerank
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        result = self._index.search(
            query_bundle.query_str,
            k=self._similarity_top_k,
            where=self._where,
            window=self._window,
            rerank=self._rerank,
        )
        return [
            NodeWithScore(node=_as_node(each), score=each.score) for each in locate_hits(result)
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class CrxRerank(BaseNodePostprocessor):
    """A crx reranker, for nodes of any retriever; scores are from 0 to 1."""

    reranker: Any = Field(default="crx", description="A reranker, or a specification of one.")
    top_n: int = Field(default=5, ge=1, description="Nodes to keep.")

    _loaded: Reranker = PrivateAttr()

    def model_post_init(self, context: object) -> None:
        """Load the reranker; raises `ModelError`."""
        super().model_post_init(context)
        self._loaded = open_reranker(self.reranker)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores the component."""
        return "CrxRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("CrxRerank needs a query; give query_str or query_bundle")
        records = [
            (each.node.get_content(metadata_mode=MetadataMode.NONE), each.node.metadata)
            for each in nodes
        ]
        ranked = score_texts(self._loaded, query_bundle.query_str, records)[: self.top_n]
        return [NodeWithScore(node=nodes[at].node, score=score) for at, score in ranked]


def _as_node(located: LocatedHit) -> TextNode:
    hit = located.hit
    hidden = [name for name in located.metadata if name not in _SHOWN]
    return TextNode(
        id_=located.id,
        text=hit.text,
        start_char_idx=hit.start,
        end_char_idx=hit.end,
        metadata=located.metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.uri)},
    )
