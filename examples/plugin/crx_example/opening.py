"""A contextualizer that situates a chunk by its document's first sentence: `opening:`."""

from collections.abc import Iterator, Sequence

from crx import Chunk, Context, Document


class Opening:
    """The document's title and first sentence, for each of its chunks."""

    fingerprint = "opening revision=1"

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context a chunk, in order."""
        sentence = document.text.partition(". ")[0]
        for _ in chunks:
            yield Context(f"{document.title}: {sentence}.")


def load(options: str) -> Opening:
    """Return the contextualizer; it has no options."""
    return Opening()
