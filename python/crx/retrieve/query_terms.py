"""Terms of a query for one text: of an identifier, code or number that it holds, the whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from crx import _native

# A longer query is a text, whose words are not looked at one by one.
_MOST_WORDS = 100
_TOKEN = re.compile(r"\w+")
_BEGIN = 3


def terms_for(query: str, text: str) -> set[str]:
    """Return the terms of a query by which the words of a text are marked and its lines chosen.

    `parse_known_args` has a term as a whole and one for each part. In a text that holds the whole,
    a part of it, as in `parse_args`, tells nothing.
    """
    analyzed = [(word, _native.analyze(word)) for word in query.split()[:_MOST_WORDS]]
    compounds = [terms for word, terms in analyzed if _is_compound(word, terms)]
    asked = set(_native.analyze(query))
    if not compounds:
        return asked
    held = set(_native.analyze(text))
    parts = {part for whole, *parts in compounds if whole in held for part in parts}
    alone = {term for word, terms in analyzed if not _is_compound(word, terms) for term in terms}
    wholes = {whole for whole, *_ in compounds}
    return asked - (parts - alone - wholes)


def wholes_of(query: str) -> list[str]:
    """Return the words of a query that have several terms: identifiers, codes and numbers."""
    words = dict.fromkeys(query.split()[:_MOST_WORDS])
    return [word for word in words if _is_compound(word, _native.analyze(word))]


def is_plain_word(query: str) -> bool:
    """Return whether a query is one word with one term, which an identifier may have as a part."""
    return (
        query.isalnum() and len(_native.analyze(query)) == 1 and not _native.unspaced_spans(query)
    )


def count_word(text: str, word: str) -> tuple[int, int]:
    """Return how often a text has a plain word, or a form of it, as a whole and within a name."""
    (term,) = _native.analyze(word)
    # A form of a word begins as it does.
    begin = word[:_BEGIN].casefold()
    whole = parts = 0
    for token, count in Counter(_TOKEN.findall(text)).items():
        folded = token.casefold()
        if begin not in folded:
            continue
        terms = _native.analyze(token)
        if terms == [term] and "_" not in token:
            whole += count
        elif term in terms:
            parts += count
    return whole, parts


def _is_compound(word: str, terms: Sequence[str]) -> bool:
    """Return whether a word has a term as a whole and others for its parts.

    A text without spaces has several, too, none of which is the whole.
    """
    return len(terms) > 1 and not _native.unspaced_spans(word)
