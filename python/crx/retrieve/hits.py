"""Hits: the rows of a ranking, with what each stage gave them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from crx.retrieve.search_state import Search
from crx.types import LEGS, Hit, Ranking, Stage

# A hit with a smaller share of the score of the best one is less relevant: it is listed by its
# location alone. (Evidence: `benches/tails.py`.)
RELEVANT_SHARE = 0.4
# Documents with copies of a hit that it names.
NAMED_COPIES = 10


def read_hits(search: Search) -> Search:
    """Return the search with its hits, without chunks that were removed from the store since."""
    keys = search.ranking.keys.tolist()
    # Those of the legs first, then those of rules in their order.
    names = dict.fromkeys((*LEGS, *search.rankings))
    stages = {
        name: _stages(search.rankings[name], keys) for name in names if name in search.rankings
    }
    rows = search.rows.read(keys)
    best = max(search.ranking.scores.tolist(), default=0.0)
    hits = tuple(
        Hit(
            key=key,
            score=score,
            uri=row.uri,
            title=row.title,
            ordinal=row.ordinal,
            start=row.start,
            end=row.end,
            text=row.text,
            outline=row.outline,
            context=row.context,
            stages={name: of[key] for name, of in stages.items() if key in of},
            copies=len(search.copies.get(key, ())),
            also_in=_other_documents(search, key, row.uri),
            less_relevant=best > 0 and score < RELEVANT_SHARE * best,
        )
        for key, score in zip(keys, search.ranking.scores.tolist(), strict=True)
        if (row := rows.get(key))
    )
    return search._replace(hits=hits)


def _other_documents(search: Search, key: int, uri: str) -> tuple[str, ...]:
    """Return the first documents that hold copies of a hit, but its own."""
    copies = search.copies.get(key)
    if not copies:
        return ()
    rows = search.rows.read(copies)
    others = dict.fromkeys(row.uri for row in rows.values() if row.uri != uri)
    return tuple(islice(others, NAMED_COPIES))


def _stages(ranking: Ranking, keys: Sequence[int]) -> dict[int, Stage]:
    """Return the rank and the score of those of the keys that a ranking has."""
    scored = dict(zip(ranking.keys.tolist(), enumerate(ranking.scores.tolist(), 1), strict=True))
    return {key: Stage(*scored[key]) for key in keys if key in scored}
