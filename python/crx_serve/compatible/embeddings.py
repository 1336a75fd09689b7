"""`POST /v1/embeddings`: vectors of texts by the embedder of an index, in OpenAI's shape."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from crx.errors import UsageError
from crx_serve.operation import Operation
from crx_serve.service import SearchService

MAX_INPUTS = 2_048


class EmbeddingQuery(Struct, frozen=True, kw_only=True):
    """Texts to embed. `model` is an embedder of the server or the name of an index.

    `input_type` is an addition of crx: some embedders read queries and passages differently.
    """

    input: str | Annotated[list[str], Meta(min_length=1, max_length=MAX_INPUTS)]
    model: str
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: Literal["passage", "query"] = "passage"


class EmbeddingItem(Struct, frozen=True, kw_only=True):
    """The vector of the text at an index: numbers, or little-endian float32 in base64."""

    index: int
    embedding: list[float] | str
    object: Literal["embedding"] = "embedding"


class EmbeddingUsage(Struct, frozen=True, kw_only=True):
    """Tokens that were read."""

    prompt_tokens: int
    total_tokens: int


class Embeddings(Struct, frozen=True, kw_only=True):
    """The vectors of the texts of a request, in order."""

    data: list[EmbeddingItem]
    model: str
    usage: EmbeddingUsage
    object: Literal["list"] = "list"


def embed(service: SearchService, request: EmbeddingQuery, _: Mapping[str, str]) -> Embeddings:
    """Return the vectors of the texts of a request."""
    texts = [request.input] if isinstance(request.input, str) else request.input
    if not all(text.strip() for text in texts):
        raise UsageError("input: a text is empty")
    embedder = service.find_embedder(request.model)
    if request.dimensions not in (None, embedder.dimensions):
        raise UsageError(
            f"dimensions: {request.model} has {embedder.dimensions}, not {request.dimensions}"
        )
    rows = embedder.embed(texts, query=request.input_type == "query")
    tokens = sum(len(embedder.token_starts(text)) for text in texts)
    as_text = request.encoding_format == "base64"
    return Embeddings(
        data=[
            EmbeddingItem(
                index=at,
                embedding=(
                    base64.b64encode(row.astype("<f4").tobytes()).decode()
                    if as_text
                    else row.tolist()
                ),
            )
            for at, row in enumerate(rows)
        ],
        model=request.model,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )


OPERATION = Operation(
    method="POST",
    path="/v1/embeddings",
    summary="Embed texts, as OpenAI's embeddings do.",
    body=EmbeddingQuery,
    answer=Embeddings,
    run=embed,
)
