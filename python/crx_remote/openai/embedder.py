"""Vectors from a server with the embeddings API: `openai:URL#MODEL`.

llama-server, vLLM, text-embeddings-inference, Ollama, LM Studio and OpenAI. The server's tokenizer
is not known here: tokens are estimated as runs of at most four letters, which are more than the
tokens of most models, so that texts are cut before the server would cut them.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
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

# Scripts written without spaces, of which each character is a token.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]{{1,4}}|[^\w\s]")

# What families of models want before a query and before a passage.
PREFIXES = {
    "none": ("", ""),
    "e5": ("query: ", "passage: "),
    "nomic": ("search_query: ", "search_document: "),
}


class OpenAIEmbedder:
    """An embedder on the embeddings API at `URL#MODEL`.

    `dimensions` asks the server for shorter vectors; 0: as long as the model's. `max_tokens` is
    the longest text that is sent, in estimated tokens. `prefixes` is a key of `PREFIXES`. `batch`
    texts are sent in a request, and `width` requests at a time. With a `price`, dollars are
    counted. The key is read from `OPENAI_API_KEY` for api.openai.com, else `CRX_OPENAI_API_KEY`.

    Raises `Offline`, `UsageError` for a malformed address or option, and `ModelError` if the SDK is
    missing.
    """

    def __init__(
        self,
        address: str,
        *,
        dimensions: int = 0,
        max_tokens: int = 512,
        prefixes: str = "none",
        batch: int = 32,
        width: int = 4,
        price: Price | None = None,
        retry_policy: RetryPolicy | None = None,
        timeout_s: float = 120.0,
        key: str | None = None,
        scheme: str = "openai",
    ) -> None:
        self._service = OpenAIClient(address, timeout_s=timeout_s, key=key, scheme=scheme)
        self._name = name = f"{scheme}:{self._service.model}"
        refuse_below(0, dimensions, what=f"{name}:dimensions")
        refuse_below(8, max_tokens, what=f"{name}:max_tokens")
        refuse_below(1, batch, what=f"{name}:batch")
        refuse_below(1, width, what=f"{name}:width")
        if prefixes not in PREFIXES:
            known = ", ".join(PREFIXES)
            raise UsageError(f"{name}:prefixes={prefixes}: no such prefixes; known: {known}")
        self._asked_dimensions = dimensions
        self._max_tokens = max_tokens
        self._prefixes = prefixes
        self._batch = batch
        self._width = width
        self._requests = BatchRequests(
            self._service, width=width, price=price, retry_policy=retry_policy or RetryPolicy()
        )
        self._dimensions = dimensions
        self._probing = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Model and parameters; not the address, which does not change the vectors."""
        parameters = {
            "dimensions": self._asked_dimensions,
            "max_tokens": self._max_tokens,
            "prefixes": self._prefixes,
        }
        return f"{self._name} {json.dumps(parameters)}"

    @property
    def dimensions(self) -> int:
        """The length of the vectors; the first use asks the server, unless it was given."""
        if not self._dimensions:
            with self._probing:
                if not self._dimensions:
                    rows = self._embed(["dimensions"], waits_s=QUERY_RETRY_WAITS_S)
                    self._dimensions = len(rows[0])
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @property
    def batch_texts(self) -> int:
        """How many texts one call of `embed` should have, so that all requests are in use."""
        return self._batch * self._width

    @property
    def usage(self) -> ServiceUsage:
        """The usage so far, as counted by the server."""
        return self._requests.usage

    @property
    def destination(self) -> Destination:
        """The host that texts are sent to."""
        return self._service.destination

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each estimated token starts, ascending."""
        return np.fromiter((match.start() for match in _TOKEN.finditer(text)), np.uint32)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; raises `ModelError` if the server fails."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        before = PREFIXES[self._prefixes][0 if query else 1]
        waits_s = QUERY_RETRY_WAITS_S if query else None
        rows = self._embed([before + text for text in texts], waits_s=waits_s)
        vectors = np.array(rows, np.float32)
        if vectors.shape[1] != self.dimensions:
            raise ModelError(
                f"{self._service.name}: gave vectors of {vectors.shape[1]} numbers, not "
                f"{self.dimensions}; restore the model that was served before"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(vectors).all() and (lengths > 0).all()):
            raise ModelError(f"{self._service.name}: gave a vector without a direction")
        unit: NDArray[np.float32] = vectors / lengths
        return unit

    def _embed(
        self, texts: Sequence[str], *, waits_s: tuple[float, ...] | None
    ) -> list[list[float]]:
        batches = [texts[at : at + self._batch] for at in range(0, len(texts), self._batch)]
        answers = self._requests.run(batches, self._send, waits_s=waits_s)
        rows = [row for answer in answers for row in answer]
        if len({len(row) for row in rows}) > 1:
            raise ModelError(f"{self._service.name}: gave vectors of several lengths")
        return rows

    async def _send(
        self, client: Any, texts: Sequence[str]
    ) -> tuple[list[list[float]], int | None]:
        asked = {"dimensions": self._asked_dimensions} if self._asked_dimensions else {}
        answer = await client.embeddings.create(
            model=self._service.model, input=list(texts), encoding_format="float", extra_body=asked
        )
        return _parse_rows(answer, len(texts)), _parse_tokens(answer)


def _parse_rows(answer: Any, count: int) -> list[list[float]]:
    """Return the rows in the order of the texts; `TransientError` if the answer is malformed.

    The SDK builds its objects unchecked, so a field may be missing or of another type.
    """
    try:
        rows = {int(row.index): [float(number) for number in row.embedding] for row in answer.data}
        return [rows[at] for at in range(count)]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise TransientError(INVALID_RESPONSE, lost=True) from None


def _parse_tokens(answer: Any) -> int | None:
    tokens = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
    return tokens if isinstance(tokens, int) else None


# The options of a specification and their types.
OPTIONS: Mapping[str, Callable[[str], Any]] = {
    "dimensions": int,
    "max_tokens": int,
    "prefixes": str,
    "batch": int,
    "width": int,
    "price": parse_price,
}


def load_embedder(rest: str, *, scheme: str = "openai") -> OpenAIEmbedder:
    """Return the embedder of `openai:REST`, or of another scheme."""
    address, options = typed_options(rest, OPTIONS)
    return OpenAIEmbedder(address, scheme=scheme, **options)
