"""Terms of a query for one text: of an identifier, code or number that it holds, the whole."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from crx import _native

# Queries that are kept analyzed: those of a few searches at once. One is compared with every
# passage, and again with its rows when it is shown.
_KEPT = 16
# With combining marks and soft hyphens, which the analyzer leaves out.
_TOKEN = re.compile(r"\w[\w\u00AD\u0300-\u036F]*")


@lru_cache(maxsize=_KEPT)
def analyze_query(query: str) -> _native.LexicalQuery:
    """Return a query in its analyzed form, which is made once for all its passages."""
    return _native.LexicalQuery(query)


def terms_for(query: str, text: str) -> set[str]:
    """Return the terms of a query by which the words of a text are marked and its lines chosen.

    `parse_known_args` has a term as a whole and one for each part. In a text that holds the whole,
    a part of it, as in `parse_args`, tells nothing.
    """
    return set(analyze_query(query).terms_for(text))


def wholes_of(query: str) -> list[str]:
    """Return the words of a query that have several terms: identifiers, codes and numbers."""
    return analyze_query(query).wholes


def is_plain_word(query: str) -> bool:
    """Return whether a query is one word with one term, which an identifier may have as a part."""
    return (
        query.isalnum() and len(_native.analyze(query)) == 1 and not _native.unspaced_spans(query)
    )


def count_word(text: str, word: str) -> tuple[int, int]:
    """Return how often a text has a plain word, or a form of it, as a whole and within a name."""
    (term,) = _native.analyze(word)
    counts = Counter(_TOKEN.findall(text))
    tokens = list(counts)
    # In one call, whatever its spelling: "élève" has the term of "eleve", "skies" that of "sky".
    held, _, _ = analyze_query(word).row_terms(tokens, known=frozenset())
    whole = parts = 0
    for token in (token for token, terms in zip(tokens, held, strict=True) if terms):
        if "_" not in token and _native.analyze(token) == [term]:
            whole += counts[token]
        else:
            parts += counts[token]
    return whole, parts
