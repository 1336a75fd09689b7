"""Parts of a text that the page shows in different ways."""

from __future__ import annotations

from typing import Literal, NamedTuple

from crx import _native
from crx.show.excerpt import split_matches
from crx.text.query_terms import terms_for


class Piece(NamedTuple):
    """A part of a text: plain, a word of the query, or the sign of a cut."""

    text: str
    kind: Literal["plain", "word", "cut"] = "plain"


def split_words(text: str, terms: set[str]) -> list[Piece]:
    """Return a text with the words of the query apart; `terms` are as `marked_terms` gives them."""
    return [
        Piece(piece, "word" if matches else "plain")
        for piece, matches in split_matches(text, terms)
    ]


def marked_terms(query: str, text: str) -> set[str]:
    """Return the terms of a query that are marked in a text: those that tell something.

    Function words ("what", "the") are left out, unless the query has no other words.
    """
    if not query:
        return set()
    terms = terms_for(query, text)
    lang = _native.detect_lang(query) or "en"
    weighted = _native.query_terms([query], langs=[lang])[0]
    function_words = {term for term, weight in weighted if weight < 1}
    return terms - function_words or terms
