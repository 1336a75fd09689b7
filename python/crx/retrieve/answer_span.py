"""Span of a hit that answers: the line with most terms of the query, which a citation names."""

from __future__ import annotations

import re
from itertools import accumulate

from crx.ingest.source_code import is_source_code
from crx.retrieve.row_choice import find_terms

_HEADING = re.compile(r"#{1,6} ")


def find_answer(text: str, query: str) -> tuple[int, int]:
    """Return the span of the line of a chunk that has most terms of a query, the first of equals.

    A line that defines what is asked for goes first, a heading of Markdown last: what it names is
    below it. A chunk without any of the terms answers as a whole.
    """
    lines = text.split("\n")
    terms = find_terms(lines, query=query, known=set())
    if not any(terms.rows):
        return 0, len(text)
    is_code = is_source_code(text)

    def rank(at: int) -> tuple[bool, bool, float, int]:
        is_heading = not is_code and bool(_HEADING.match(lines[at]))
        share = round(terms.share([terms.rows[at]]), 6)
        is_defining = at in terms.defining and not is_heading
        return is_defining, share > 0 and not is_heading, share, -at

    best = max(range(len(lines)), key=rank)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return starts[best], starts[best] + max(1, len(lines[best]))
