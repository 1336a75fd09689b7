"""Terms of a query for one text: of an identifier, code or number that it holds, the whole."""

from __future__ import annotations

from functools import lru_cache

from crx import _native

# Queries that are kept analyzed: those of a few searches at once. One is compared with every
# passage, and again with its rows when it is shown.
_KEPT = 16


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
