"""Scores from a server with Cohere's rerank API: `cohere:URL#MODEL`.

vLLM, llama-server, Infinity, Jina and Cohere answer `POST URL/rerank` in the same form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crx._backends.options import typed_options
from crx._services.destination import Destination
from crx._services.service_usage import ServiceUsage
from crx.errors import ModelError, UsageError
from crx_remote.errors import INVALID_RESPONSE, TransientError, refuse_below
from crx_remote.metering import Price, parse_price
from crx_remote.openai.client import OpenAIClient
from crx_remote.openai.requests import QUERY_RETRY_WAITS_S, BatchRequests
from crx_remote.retry import RetryPolicy

# Scores are between 0 and 1; a server's own 0 and 1 are moved inside.
_LEAST = 1e-6
_SCALES = ("probability", "logit")


class CohereReranker:
    """A reranker on the rerank API at `URL#MODEL`.

    `scale` says what the server's scores are: "probability" from 0 to 1, or "logit", as those of
    llama-server, which the logistic function maps to it. `batch` texts are sent in a request, and
    `width` requests at a time. The key is read from `COHERE_API_KEY` or `JINA_API_KEY` for their
    hosts, else `CRX_OPENAI_API_KEY`.

    Raises `Offline`, `UsageError` for a malformed address or option, and `ModelError` if the SDK is
    missing.
    """

    def __init__(
        self,
        address: str,
        *,
        scale: str = "probability",
        batch: int = 64,
        width: int = 4,
        price: Price | None = None,
        retry_policy: RetryPolicy | None = None,
        timeout_s: float = 60.0,
        key: str | None = None,
    ) -> None:
        self._service = OpenAIClient(address, timeout_s=timeout_s, key=key, scheme="cohere")
        name = f"cohere:{self._service.model}"
        refuse_below(1, batch, what=f"{name}:batch")
        refuse_below(1, width, what=f"{name}:width")
        if scale not in _SCALES:
            raise UsageError(f"{name}:scale={scale}: no such scale; known: {', '.join(_SCALES)}")
        self._scale = scale
        self._batch = batch
        self._requests = BatchRequests(
            self._service, width=width, price=price, retry_policy=retry_policy or RetryPolicy()
        )

    @property
    def fingerprint(self) -> str:
        """Model and scale; not the address, which does not change the scores."""
        return f"cohere:{self._service.model} {json.dumps({'scale': self._scale})}"

    @property
    def usage(self) -> ServiceUsage:
        """The requests so far, and the tokens that the server counted."""
        return self._requests.usage

    @property
    def destination(self) -> Destination:
        """The host that texts are sent to."""
        return self._service.destination

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), in order; raises `ModelError`."""
        batches = [texts[at : at + self._batch] for at in range(0, len(texts), self._batch)]

        async def send(client: Any, batch: Sequence[str]) -> tuple[list[float], int | None]:
            body = {
                "model": self._service.model,
                "query": query,
                "documents": list(batch),
                "top_n": len(batch),
            }
            answer = await client.post("/rerank", body=body, cast_to=object)
            return _parse_scores(answer, len(batch)), _parse_tokens(answer)

        answers = self._requests.run(batches, send, waits_s=QUERY_RETRY_WAITS_S)
        scores = np.array([score for answer in answers for score in answer], np.float64)
        if self._scale == "logit":
            scores = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        elif not ((scores >= 0) & (scores <= 1)).all():
            raise ModelError(
                f"{self._service.name}: gave a score that is not between 0 and 1; if they are "
                f'logits, write "cohere:URL#MODEL:scale=logit"'
            )
        return np.clip(scores, _LEAST, 1 - _LEAST).astype(np.float32)


def _parse_scores(answer: Any, count: int) -> list[float]:
    """Return the scores in the order of the texts; `TransientError` if the answer is malformed."""
    try:
        scores = {
            int(result["index"]): float(result["relevance_score"]) for result in answer["results"]
        }
        return [scores[at] for at in range(count)]
    except (KeyError, TypeError, ValueError):
        raise TransientError(INVALID_RESPONSE, lost=True) from None


def _parse_tokens(answer: Any) -> int | None:
    """Return the tokens that vLLM, Jina and others count, None if the server does not."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) else None


def load_reranker(rest: str) -> CohereReranker:
    """Return the reranker of `cohere:REST`."""
    types: dict[str, Callable[[str], Any]] = {
        "scale": str,
        "batch": int,
        "width": int,
        "price": parse_price,
    }
    address, options = typed_options(rest, types)
    return CohereReranker(address, **options)
