"""Writing of contexts by other processes, a document at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from crx.context.compute_usage import ComputeUsage
from crx.types import Chunk, Context, Document

Request = TypeVar("Request")


@dataclass(frozen=True, slots=True)
class DocumentTask:
    """A document and its chunks that lack a context, each by its position among these.

    `contextualizer` is the position of the document's contextualizer in `ContextRouter`.
    """

    document: Document
    chunks: Mapping[int, Chunk]
    contextualizer: int = 0

    @property
    def chars(self) -> int:
        """Characters of the document."""
        return len(self.document.text)


class ContextPool(Protocol):
    """Writes the contexts of several documents at once in other processes."""

    @property
    def usage(self) -> ComputeUsage | None:
        """The computation of all processes so far, None if their contextualizer counts none."""
        ...

    def situate(
        self, asked: Iterable[tuple[Request, DocumentTask]]
    ) -> Generator[tuple[Request, int, Context], None, None]:
        """Yield (request, position of the chunk, context) as they come, one for each chunk.

        What is asked is taken in its order, as soon as there is room for it. Raises `ModelError`
        if the model cannot continue. The processes end with the generator.
        """
        ...
