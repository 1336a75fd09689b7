"""The opening of a document, which names its subject."""

from __future__ import annotations

# Contracts, papers and articles name their subject in their opening.
OPENING_CHARS = 1500


def opening(text: str) -> str:
    """Return the text's first characters, up to the end of a word."""
    if len(text) <= OPENING_CHARS:
        return text
    cut = text[:OPENING_CHARS]
    end = max(cut.rfind(" "), cut.rfind("\n"))
    return cut[:end] if end > OPENING_CHARS // 2 else cut
