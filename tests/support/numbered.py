"""A document of paragraphs that begin with a number word, and the contexts of the local servers."""

from __future__ import annotations

from crx._services.service_usage import ServiceUsage
from crx.types import Chunk, Context, Document

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def numbered(name: str = "a", *, paragraphs: int = 10, words: int = 250) -> Document:
    """Return a document; by default of about 2,700 tokens as the local servers count them."""
    filler = f" {name} and so on" * (words // 4)
    return Document(name, "\n".join(number + filler for number in NUMBERS[:paragraphs]))


def paragraphs(document: Document) -> list[Chunk]:
    """Return a chunk for each paragraph."""
    chunks, start = [], 0
    for ordinal, text in enumerate(document.text.split("\n")):
        chunks.append(Chunk(ordinal, start, start + len(text), 0, 0, 0, text))
        start += len(text) + 1
    return chunks


def context_of(number: str) -> Context:
    """Return the context that the local servers write for the paragraph of a number."""
    return Context(f"the part of the whole that begins its tale with {number}")


class RecordedSleep:
    """A sleep that returns at once and records the waits in seconds."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []

    async def __call__(self, wait_s: float) -> None:
        self.waits_s.append(wait_s)


def dollars_of(usage: ServiceUsage) -> float:
    """Return the dollars of a usage whose prices are known."""
    assert usage.dollars is not None
    return usage.dollars
