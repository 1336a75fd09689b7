"""Stage of a search for a pattern: the chunks in which a match begins, in the order of documents.

It stands for the legs: nothing is ranked, and no model is needed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from crx.retrieve.operators import compile_pattern
from crx.retrieve.search_state import Search
from crx.types import Ranking

# What ended a search for a pattern: all texts were searched, there are more matches than were
# asked for, or the time was over.
MatchingEnd: TypeAlias = Literal["complete", "count", "time"]


def match_pattern(search: Search) -> Search:
    """Return the search with the chunks that its pattern matches, and a note if there are more."""
    pattern = search.request.pattern
    assert pattern is not None, "a search for a pattern has one"
    keys, end = search.searcher.matching(
        compile_pattern(pattern), k=search.k, where=search.request.where
    )
    ranking = Ranking(keys, np.ones(len(keys), dtype=np.float32))
    return search._replace(ranking=ranking).noting(_describe_end(end, k=search.k))


def _describe_end(end: MatchingEnd, *, k: int) -> str:
    if end == "count":
        return f"more than {k} chunks match; these are the first, and a larger k gives more"
    if end == "time":
        return "not all documents were searched: the time was over; use a shorter pattern"
    return ""
