"""Parts of a text that the page shows in different ways."""

from __future__ import annotations

from typing import Literal, NamedTuple

from crx._show.excerpt import split_matches


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
