"""A retriever and a reranker for LangChain, installed by `pip install "crx[langchain]"`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, PrivateAttr

from crx._index.handle import Index
from crx.protocols import Reranker
from crx_serve.integrations.located_hits import locate_hits, open_index, open_reranker, score_texts


class CrxRetriever(BaseRetriever):
    """The chunks of a crx index that answer a query, as documents.

    `page_content` is the exact text of a chunk. The metadata hold its location (`source`, `start`,
    `end`, `lines`, `page`, `headings`), the outline and the context that were generated for it,
    and as `window` the passage around it.
    """

    index: Any = Field(description="An open index, or the path of its folder.")
    k: int = Field(default=10, ge=1, description="Documents to return.")
    where: dict[str, Any] | None = Field(default=None, description="Filter of documents.")
    window: int | str = Field(
        default="grow", description='The passage around a chunk: "grow", "auto" or a number.'
    )
    rerank: bool | None = Field(default=None, description="Whether to rerank.")

    _opened: Index = PrivateAttr()

    def model_post_init(self, _: object) -> None:
        """Open the index; raises `NotAnIndex`."""
        self._opened = open_index(self.index)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        where: dict[str, Any] | None = None,
    ) -> list[Document]:
        result = self._opened.search(
            query,
            k=self.k if k is None else k,
            where=self.where if where is None else where,
            window=self.window,  # type: ignore[arg-type] # checked by the search
            rerank=self.rerank,
        )
        return [
            Document(page_content=each.hit.text, id=each.id, metadata=each.metadata)
            for each in locate_hits(result)
        ]


class CrxReranker(BaseDocumentCompressor):
    """A crx reranker, for documents of any retriever.

    The documents that are returned have the metadata `relevance_score`, from 0 to 1.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reranker: Any = Field(default="crx", description="A reranker, or a specification of one.")
    top_n: int = Field(default=5, ge=1, description="Documents to keep.")

    _loaded: Reranker = PrivateAttr()

    def model_post_init(self, _: object) -> None:
        """Load the reranker; raises `ModelError`."""
        self._loaded = open_reranker(self.reranker)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return the best documents, the most relevant first."""
        records = [(each.page_content, each.metadata) for each in documents]
        ranked = score_texts(self._loaded, query, records)[: self.top_n]
        return [
            documents[at].model_copy(
                update={"metadata": {**documents[at].metadata, "relevance_score": score}}
            )
            for at, score in ranked
        ]
