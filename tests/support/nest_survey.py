"""A survey of nests as a document, and its chunks, a paragraph each."""

from __future__ import annotations

from crx.types import Chunk, Document

SUBJECTS = ("herons", "egrets", "gulls", "storks", "terns", "owls", "swans", "geese")
PARAGRAPHS = [
    f"In {1990 + n} the ringers of the station counted {bird} and their nests at the river.\n"
    for n, bird in enumerate(SUBJECTS)
]
_TEXT = "".join(PARAGRAPHS)
DOCUMENT = Document("survey.txt", _TEXT, title="Survey")
CHUNKS = [
    Chunk(n, _TEXT.index(text), _TEXT.index(text) + len(text), 0, 0, 0, text)
    for n, text in enumerate(PARAGRAPHS)
]
