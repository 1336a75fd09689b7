"""Stretches of a text: pieces of it that can answer a question, and where some words stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crx.types import Document
from crx_evaluate.datasets import GoldSpan

# Characters of a piece. A chunk that holds half of any piece of a page has found the page.
PIECE_CHARS = 300
# A piece with fewer letters and digits, such as "Note:", is not an answer.
MIN_PIECE_LETTERS = 10
# A page or a section that is longer is rather a book, of which nothing in particular is asked.
MAX_ANSWER_CHARS = 60_000
# Characters by which a text is recognized in a document.
_RECOGNIZED_CHARS = 80

_LINE = re.compile(r"[^\n]*\n?")


def pieces(document: Document, start: int, end: int) -> tuple[GoldSpan, ...]:
    """Return the pieces of a stretch of a document; none if it is too long to be an answer."""
    if end - start > MAX_ANSWER_CHARS:
        return ()
    return tuple(
        GoldSpan(document.uri, first, last)
        for first, last in _cut(document.text, start, end)
        if sum(map(str.isalnum, document.text[first:last])) >= MIN_PIECE_LETTERS
    )


def find_text(words: str, text: str, *, start: int = 0, whole: bool = False) -> tuple[int, int]:
    """Return the span of words in a text, however white space breaks them; (-1, -1) if missing.

    They are recognized by their beginning unless `whole` is true.
    """
    letters = "".join(words.split())
    if not letters:
        return -1, -1
    known = letters if whole else letters[:_RECOGNIZED_CHARS]
    found = re.compile(r"\s*".join(map(re.escape, known))).search(text, start)
    return found.span() if found else (-1, -1)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield spans of whole lines of at most PIECE_CHARS; a longer line is cut at a blank."""
    first = last = start
    for line in _LINE.finditer(text, start, end):
        if line.end() - first > PIECE_CHARS and last > first:
            yield strip_span(text, first, last)
            first = last
        while line.end() - first > PIECE_CHARS:
            at = text.rfind(" ", first + 1, first + PIECE_CHARS)
            last = at if at > 0 else first + PIECE_CHARS
            yield strip_span(text, first, last)
            first = last
        last = line.end()
    yield strip_span(text, first, last)


def strip_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the white space around it."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, max(start, start + len(piece.strip()))
