"""Span of a hit that answers: the line with most terms of the query, which a citation names."""

from __future__ import annotations

from collections.abc import Sequence

from crx._text.query_terms import analyze_query


def find_answer(text: str, query: str) -> tuple[int, int]:
    """Return the span of the line of a chunk that answers; see `find_answers`."""
    return find_answers([text], query)[0]


def find_answers(texts: Sequence[str], query: str) -> list[tuple[int, int]]:
    """Return the span of the line of each chunk with most terms of a query, the first of equals.

    A line that defines what is asked for goes first, or has it as a whole where others have it
    within names, a heading of Markdown last: what it names is below it. A chunk without any of the
    terms answers as a whole.
    """
    return analyze_query(query).find_answers(texts)
