"""Protocols of plugins: embedders, contextualizers, rerankers and generators.

A plugin has one main method, which takes a batch and returns one result per item, in order. It also
has a `fingerprint`, a short text that changes whenever the output may change. The fingerprint is
part of the cache key of the results, so plugins with equal fingerprints must give equal results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from crx.types import Chunk, Context, Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crx._services.compute_usage import ComputeUsage
    from crx._services.destination import Destination
    from crx._services.pending_jobs import PendingJobs
    from crx._services.prompt import Prompt
    from crx._services.service_usage import Estimate, ServiceUsage


@runtime_checkable
class Tokenizer(Protocol):
    """The tokenizer of an embedder."""

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""


@runtime_checkable
class Embedder(Protocol):
    """Maps texts to unit vectors."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The maximum length of a text in tokens; the model does not read what follows."""

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; a row does not depend on its batch.

        `query` is true if the texts are queries and not passages.
        """


@runtime_checkable
class BatchSized(Protocol):
    """An embedder that is faster when given many texts at once."""

    @property
    def batch_texts(self) -> int:
        """How many texts one call of `embed` should hold."""


@runtime_checkable
class Contextualizer(Protocol):
    """Writes contexts, the texts that situate chunks in their document."""

    @property
    def fingerprint(self) -> str: ...

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context per chunk, in the order of `chunks`."""


@runtime_checkable
class Reranker(Protocol):
    """Scores the relevance of texts to a query."""

    @property
    def fingerprint(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), in the order of `texts`; larger is better."""


@runtime_checkable
class TokenReranking(Protocol):
    """An embedder that also reranks, by the states of its tokens."""

    def load_token_reranker(self) -> Reranker | None:
        """Return the reranker; None if its model has no such states."""


@runtime_checkable
class Generator(Protocol):
    """Streams the answer of a language model to a prompt."""

    @property
    def fingerprint(self) -> str: ...

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the answer to `prefix + prompt`, sent as one user message, in pieces.

        `prefix` is shared by several prompts, so its computation may be cached between calls.
        Reasoning is left out of the answer. Raises `ModelError` if the answer is incomplete, after
        yielding the part that was received.
        """

    def close(self) -> None:
        """Release processes and memory."""


@runtime_checkable
class Notifying(Protocol):
    """A generator or contextualizer that tells what happens while somebody waits for its answer.

    A copy of one may tell another function.
    """

    def notify(self, on_notice: Callable[[str], None]) -> None:
        """Call `on_notice` with a line about each failure that is retried, and a slow service."""


@runtime_checkable
class Closeable(Protocol):
    """A plugin that holds a process or memory until it is closed."""

    def close(self) -> None:
        """Release processes and memory."""


@runtime_checkable
class Promptable(Protocol):
    """A contextualizer whose prompt can be replaced."""

    def with_prompt(self, prompt: Prompt) -> Contextualizer:
        """Return a contextualizer with this prompt that shares the model and the usage counts."""


@runtime_checkable
class BatchContextualizer(Protocol):
    """A contextualizer that is faster or cheaper when given several documents at once."""

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Iterator[tuple[int, int, Context]]:
        """Yield (position of the document, position of the chunk, context), in any order."""


@runtime_checkable
class Resumable(Protocol):
    """A contextualizer whose remote jobs may outlive the run that submitted them."""

    @property
    def has_remote_jobs(self) -> bool:
        """Whether this instance submits remote jobs."""

    def resume(self, jobs: PendingJobs | None) -> None:
        """Adopt the jobs listed in `jobs` and record new ones there; None stops recording."""


@runtime_checkable
class CostEstimator(Protocol):
    """A contextualizer, or its price list, that estimates costs without sending a request."""

    def estimate_cost(self, documents: Iterable[tuple[Document, Sequence[Chunk]]]) -> Estimate:
        """Estimate tokens and dollars from the lengths of the texts."""


@runtime_checkable
class TimeEstimator(Protocol):
    """A contextualizer that estimates times from the work it has done so far."""

    @property
    def usage(self) -> ComputeUsage:
        """The work done so far."""

    @property
    def width(self) -> int:
        """The number of documents whose contexts are written at the same time."""

    def estimate_seconds(
        self, documents: Iterable[tuple[Document, Sequence[Chunk]]], *, asks: float
    ) -> float:
        """Return the time for these chunks in seconds, given `asks` requests per chunk."""


@runtime_checkable
class Metered(Protocol):
    """A plugin that counts its usage."""

    @property
    def usage(self) -> ServiceUsage | ComputeUsage:
        """The usage so far."""


@runtime_checkable
class Remote(Protocol):
    """A plugin that sends texts to a service."""

    @property
    def destination(self) -> Destination:
        """The host of the service."""


@runtime_checkable
class Annotated(Protocol):
    """A plugin with remarks about its model that are shown to the user."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks, one line each."""


@runtime_checkable
class LanguageLimited(Protocol):
    """A reranker or embedder that declares which languages it reads."""

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes; empty when not declared."""
