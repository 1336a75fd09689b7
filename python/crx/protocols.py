"""The plugs: one verb each, a batch in and one result an item out, in order.

Every plug has a `fingerprint`: a short text that changes whenever its output may. It is part of
the key under which results are kept, so two plugs with one fingerprint must agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crx.types import Chunk, Context, Document

if TYPE_CHECKING:
    from crx.context.compute_usage import ComputeUsage
    from crx.context.prompt import Prompt
    from crx.remote.destination import Destination
    from crx.remote.metering import Estimate, ServiceUsage
    from crx.remote.pending_jobs import PendingJobs


@runtime_checkable
class Tokenizer(Protocol):
    """Where an embedder's tokens start."""

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads; what lies beyond is not seen."""
        ...

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""
        ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; a row does not depend on its batch."""
        ...


@runtime_checkable
class Contextualizer(Protocol):
    """Chunks to the texts that situate them."""

    @property
    def fingerprint(self) -> str: ...

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context a chunk, in the order of `chunks`."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """A query and texts to relevance."""

    @property
    def fingerprint(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), larger is better, in order."""
        ...


@runtime_checkable
class Generator(Protocol):
    """A prompt to text, as it comes."""

    @property
    def fingerprint(self) -> str: ...

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the answer to `prefix + prompt`, sent as one user's turn, piece by piece.

        `prefix` is what several prompts begin with: what it took to read may be kept between them.
        Thoughts are left out. Raises `ModelError` where the answer does not come to its end, after
        what came of it.
        """
        ...

    def close(self) -> None:
        """Let go of processes and memory."""
        ...


@runtime_checkable
class Closeable(Protocol):
    """A plugin that holds a process or memory."""

    def close(self) -> None:
        """Release processes and memory."""
        ...


@runtime_checkable
class Promptable(Protocol):
    """A contextualizer whose prompt can be replaced."""

    def with_prompt(self, prompt: Prompt) -> Contextualizer:
        """Return one with another prompt and fingerprint that shares the model and its meter."""
        ...


@runtime_checkable
class BatchContextualizer(Protocol):
    """A contextualizer that is faster or cheaper when given several documents at once."""

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Iterator[tuple[int, int, Context]]:
        """Yield (position of the document, position of the chunk, context), in any order."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A contextualizer whose remote jobs may outlive the run that submitted them."""

    @property
    def has_remote_jobs(self) -> bool:
        """Whether this instance submits such jobs."""
        ...

    def resume(self, jobs: PendingJobs | None) -> None:
        """Record submitted jobs in `jobs` from now on and adopt those it lists; None stops it."""
        ...


@runtime_checkable
class CostEstimator(Protocol):
    """A contextualizer, or its price list, that estimates costs without sending a request."""

    def estimate_cost(self, documents: Iterable[tuple[Document, Sequence[Chunk]]]) -> Estimate:
        """Estimate tokens and dollars from the lengths of the texts."""
        ...


@runtime_checkable
class TimeEstimator(Protocol):
    """A contextualizer that predicts times from what it has computed so far."""

    @property
    def usage(self) -> ComputeUsage:
        """What has been computed so far."""
        ...

    def estimate_seconds(
        self, documents: Iterable[tuple[Document, Sequence[Chunk]]], *, asks: float
    ) -> float:
        """Return the seconds for these chunks, each asked for `asks` times on average."""
        ...


@runtime_checkable
class Metered(Protocol):
    """A plugin that counts what it uses."""

    @property
    def usage(self) -> ServiceUsage | ComputeUsage:
        """What was used so far."""
        ...


@runtime_checkable
class Remote(Protocol):
    """A plugin that sends texts to a service."""

    @property
    def destination(self) -> Destination:
        """The host of the service."""
        ...


@runtime_checkable
class Annotated(Protocol):
    """A plugin with remarks on its model that a user should see."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks, one line each."""
        ...


@runtime_checkable
class LanguageLimited(Protocol):
    """A reranker or embedder that declares which languages it reads."""

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes; empty when not declared."""
        ...
