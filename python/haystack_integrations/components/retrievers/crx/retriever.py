"""The component that searches a crx index."""

from __future__ import annotations

import asyncio
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from crx._index.handle import Index
from crx.types import Window
from crx_serve.integrations.haystack_filters import as_where
from crx_serve.integrations.located_hits import locate_hits, open_index


@component
class CrxRetriever:
    """The chunks of a crx index that answer a query, as documents.

    `content` is the exact text of a chunk. `meta` holds its location (`source`, `start`, `end`,
    `lines`, `page`, `headings`), the outline and the context that were generated for it, and as
    `window` the passage around it.
    """

    def __init__(
        self,
        index: str,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        window: Window = "grow",
        rerank: bool | None = None,  # noqa: FBT001 - pipelines give parameters by name
    ) -> None:
        """Name the folder of the index, which is opened by the first run.

        `filters` are those of Haystack; conditions may be combined by AND.
        """
        self.index = index
        self.top_k = top_k
        self.filters = filters
        self.window = window
        self.rerank = rerank
        self._opened: Index | None = None

    def warm_up(self) -> None:
        """Open the index; raises `NotAnIndex`."""
        if self._opened is None:
            self._opened = open_index(self.index)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a dictionary."""
        return default_to_dict(
            self,
            index=self.index,
            top_k=self.top_k,
            filters=self.filters,
            window=self.window,
            rerank=self.rerank,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CrxRetriever:
        """Return the component that `to_dict` described."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """Return the documents that answer the query, best first.

        `filters` replace those of the component.
        """
        self.warm_up()
        assert self._opened is not None
        result = self._opened.search(
            query,
            k=top_k or self.top_k,
            where=as_where(filters or self.filters),
            window=self.window,
            rerank=self.rerank,
        )
        return {
            "documents": [
                Document(id=each.id, content=each.hit.text, meta=each.metadata, score=each.score)
                for each in locate_hits(result)
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """Return what `run` returns, without blocking the event loop."""
        return await asyncio.to_thread(self.run, query, top_k, filters)
