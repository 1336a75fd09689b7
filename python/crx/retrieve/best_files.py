"""The last cut of a search by file: the chunks down to that which adds the last file wanted."""

from __future__ import annotations

from crx.retrieve.search_state import Search
from crx.types import Ranking


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
