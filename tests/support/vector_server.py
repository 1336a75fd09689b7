"""The embeddings API and Cohere's rerank API on 127.0.0.1, for tests.

Vectors are those of the embedder `hashed`, times 3; scores are the share of a query's words.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from local_server import Fault, JsonHandler, count_tokens, serving_with

from crx._backends.hashed import HashedEmbedder

MODEL = "small"


class VectorServer:
    """The state that a test sets and reads; `seen` are (path, body, authorization)."""

    def __init__(self) -> None:
        self.embedder = HashedEmbedder(dimensions=64)
        self.fault: Callable[[int], Fault | None] = lambda asked: None
        self.logits = False
        self.counts = True
        self.seen: list[tuple[str, dict[str, Any], str]] = []
        self.asked = 0
        self._lock = threading.Lock()

    def begin(self, path: str, body: dict[str, Any], key: str) -> int:
        """Note a request; return its number, from 1."""
        with self._lock:
            self.seen.append((path, body, key))
            self.asked += 1
            return self.asked

    def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        rows = (3 * self.embedder.embed(body["input"])).tolist()
        length = body.get("dimensions", len(rows[0]))
        data = [
            {"object": "embedding", "index": at, "embedding": row[:length]}
            for at, row in enumerate(rows)
        ]
        tokens = sum(map(count_tokens, body["input"]))
        usage = {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}} if self.counts else {}
        # In another order than asked: the index says which text a row is of.
        return {"object": "list", "data": data[::-1], "model": body["model"], **usage}

    def rerank(self, body: dict[str, Any]) -> dict[str, Any]:
        words = set(body["query"].lower().split())
        shares = [len(words & set(text.lower().split())) / len(words) for text in body["documents"]]
        scores = [8 * share - 4 for share in shares] if self.logits else shares
        results = [{"index": at, "relevance_score": each} for at, each in enumerate(scores)]
        return {"results": sorted(results, key=lambda each: -each["relevance_score"])}


class _Handler(JsonHandler[VectorServer]):
    def do_POST(self) -> None:  # noqa: N802 - the name is http.server's
        body, service = self.body(), self.service
        asked = service.begin(self.path, body, self.headers.get("authorization", ""))
        answer = {"/v1/embeddings": service.embed, "/v1/rerank": service.rerank}.get(self.path)
        if answer is None or body["model"] != MODEL:
            return self.send(404, {"error": {"message": "no such path or model"}})
        fault = service.fault(asked)
        if fault and fault.status != 200:
            return self.send(fault.status, {"error": {"message": fault.message}}, fault.headers)
        return self.send(200, answer(body), fault=fault)


def serving(service: VectorServer) -> AbstractContextManager[str]:
    """Serve on a free port of 127.0.0.1; yield the address."""
    return serving_with(_Handler, service)
