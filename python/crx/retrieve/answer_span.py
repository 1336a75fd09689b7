"""Span of a hit that answers: the line with most terms of the query, which a citation names."""

from __future__ import annotations

from itertools import accumulate

from crx.retrieve.row_choice import find_terms


def find_answer(text: str, query: str) -> tuple[int, int]:
    """Return the span of the line of a chunk that has most terms of a query, the first of equals.

    A line that defines what is asked for goes first. A chunk without any of the terms answers as a
    whole.
    """
    lines = text.split("\n")
    terms = find_terms(lines, query=query, known=set())
    if not any(terms.rows):
        return 0, len(text)
    best = max(
        range(len(lines)),
        key=lambda at: (at in terms.defining, round(terms.share([terms.rows[at]]), 6), -at),
    )
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return starts[best], starts[best] + max(1, len(lines[best]))
