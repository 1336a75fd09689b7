"""Hits: the rows of a ranking, with what each stage gave them."""

from __future__ import annotations

from itertools import islice

import numpy as np

from crx import _native
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import Search
from crx.types import LEGS, Hit, Ranking, Stage

# A hit with a smaller share of the score of the best one is less relevant: it is listed by its
# location alone. (Evidence: `benches/tails.py`.)
RELEVANT_SHARE = 0.4
# Documents with copies of a hit that it names.
NAMED_COPIES = 10


def keep_best_files(search: Search) -> Search:
    """Return the search with the best chunks of as many files as are wanted, or of all it has."""
    if search.request.by != "file":
        return search
    keys, scores = search.ranking.keys, search.ranking.scores
    rows = search.rows.read(keys.tolist())
    files: set[str] = set()
    for count, row in enumerate(map(rows.get, keys.tolist()), start=1):
        files.update([row.uri] if row else [])
        if len(files) == search.wanted_results:
            return search._replace(ranking=Ranking(keys[:count], scores[:count]))
    return search


def read_hits(search: Search) -> Search:
    """Return the search with its hits, without chunks that were removed from the store since."""
    keys = search.ranking.keys.tolist()
    scores = dict(zip(keys, search.ranking.scores.tolist(), strict=True))
    # Those of the legs first, then those of rules in their order.
    names = [name for name in dict.fromkeys((*LEGS, *search.rankings)) if name in search.rankings]
    rankings = [(name, search.rankings[name]) for name in names]
    rows = search.rows.read(keys)
    best = max(scores.values(), default=0.0)
    hits = _native.make_hits(
        Hit,
        Stage,
        [*rows.values()],
        scores=[*map(scores.__getitem__, rows)],
        rankings=[
            (
                name,
                np.ascontiguousarray(each.keys, np.int64),
                np.ascontiguousarray(each.scores, np.float64),
            )
            for name, each in rankings
        ],
        copies=[len(search.copies.get(key, ())) for key in rows],
        also_in=[_other_documents(search, row) for row in rows.values()],
        least=RELEVANT_SHARE * best if best > 0 else -np.inf,
    )
    return search._replace(hits=hits)


def _other_documents(search: Search, hit: ChunkRow) -> tuple[str, ...]:
    """Return the first documents that hold copies of a hit, but its own."""
    copies = search.copies.get(hit.key)
    if not copies:
        return ()
    rows = search.rows.read(copies)
    others = dict.fromkeys(row.uri for row in rows.values() if row.uri != hit.uri)
    return tuple(islice(others, NAMED_COPIES))
