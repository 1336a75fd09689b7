"""Stage of a search for a pattern: the chunks in which a match begins, in the order of documents.

It stands for the legs: nothing is ranked, and no model is needed.
"""

from __future__ import annotations

import numpy as np

from crx.retrieve.operators import compile_pattern
from crx.retrieve.ports import MatchingEnd
from crx.retrieve.search_state import Search
from crx.types import Ranking


def match_pattern(search: Search) -> Search:
    """Return the search with the chunks that its pattern matches, and a note if there are more."""
    pattern = search.request.pattern
    assert pattern is not None, "a search for a pattern has one"
    found = search.searcher.matching(
        compile_pattern(pattern), k=search.k, where=search.request.where
    )
    ranking = Ranking(found.keys, np.ones(len(found.keys), dtype=np.float32))
    notes = (_describe_end(found.end, k=search.k), *found.faults)
    return search._replace(ranking=ranking).noting(*notes)


def _describe_end(end: MatchingEnd, *, k: int) -> str:
    if end == "count":
        return f"more than {k} chunks match; these are the first, and a larger k gives more"
    limit = {"time": "it took 10 s", "bytes": "it read 4 GB of text"}.get(end)
    if limit is None:
        return ""
    return (
        f"not all documents were searched: {limit}, the most; use a pattern with a longer literal "
        "part, or a filter"
    )
