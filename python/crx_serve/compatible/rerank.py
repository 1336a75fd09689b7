"""`POST /v1/rerank`: the requests of Cohere, Jina and vLLM, which Open WebUI sends, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from crx_serve.operation import Operation
from crx_serve.requests import MAX_QUERY_CHARS
from crx_serve.service import SearchService

MAX_DOCUMENTS = 1_000


class RerankText(Struct, frozen=True, kw_only=True):
    """A text that is given or returned as an object."""

    text: str


class RerankQuery(Struct, frozen=True, kw_only=True):
    """A query, and the texts to score for it."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    documents: Annotated[list[str | RerankText], Meta(max_length=MAX_DOCUMENTS)]
    model: str = ""
    top_n: Annotated[int, Meta(ge=1)] | None = None
    return_documents: bool = False


class RerankResultItem(Struct, frozen=True, kw_only=True):
    """The score, 0 to 1, of the text at an index of the request."""

    index: int
    relevance_score: float
    document: RerankText | UnsetType = UNSET


class Reranked(Struct, frozen=True, kw_only=True):
    """The texts, best first."""

    model: str
    results: list[RerankResultItem]


def rerank(service: SearchService, request: RerankQuery, _: Mapping[str, str]) -> Reranked:
    """Return the scores of the texts of a request, best first."""
    texts = [each if isinstance(each, str) else each.text for each in request.documents]
    model, scores = service.score(request.query, texts, model=request.model)
    order = sorted(range(len(texts)), key=lambda at: (-scores[at], at))
    return Reranked(
        model=model,
        results=[
            RerankResultItem(
                index=at,
                relevance_score=scores[at],
                document=RerankText(text=texts[at]) if request.return_documents else UNSET,
            )
            for at in order[: request.top_n]
        ],
    )


# Clients of Cohere's API of version 2 add their own path.
OPERATIONS = tuple(
    Operation(
        method="POST",
        path=path,
        summary="Score texts for a query, as Cohere, Jina and vLLM do.",
        body=RerankQuery,
        answer=Reranked,
        run=rerank,
    )
    for path in ("/v1/rerank", "/v2/rerank")
)
