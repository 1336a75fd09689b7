"""The table of operations that clients of other products call."""

from __future__ import annotations

from crx_serve.compatible import dify, embeddings, open_webui, rerank, vector_stores
from crx_serve.operation import Operation

COMPATIBLE: tuple[Operation, ...] = (
    dify.OPERATION,
    open_webui.OPERATION,
    *rerank.OPERATIONS,
    vector_stores.OPERATION,
    embeddings.OPERATION,
)
