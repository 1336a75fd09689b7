"""Rule of copies: candidates with the text of a better one are counted, and make room for others.

The candidates that later rules read are compared first. If there are copies among them, all are.
5,000 mails with the same footer fill a ranking many times over: then the runner searches the legs
more deeply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import orjson

from crx import _native
from crx.config import Settings
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import ALL, Search
from crx.types import Ranking

# Of a document without the path of its file: what follows a file with an extension.
_IN_A_FILE = re.compile(r"\.[^/.#]+#")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFolding:
    """Which chunks are copies: those that have `share` of their words in a row in a better one."""

    name: ClassVar[str] = "copies"
    reads: ClassVar[int] = ALL
    share: float

    @staticmethod
    def of(settings: Settings) -> CopyFolding | None:
        """Return the rule with the values of some settings, None if copies are hits."""
        share = settings.rank_copies_share
        return CopyFolding(share=share) if share else None

    def applies(self, search: Search) -> bool:
        """Return whether a candidate may have a copy."""
        return len(search.ranking.keys) > 1

    def apply(self, search: Search) -> Search:
        """Return the search with the candidates that copy no better one, and their copies."""
        head = search.ranking.keys[: search.wanted].tolist()
        copies = find_copies(search, head, share=self.share)
        if len(copies) == len(head):
            return search._replace(copies=copies)
        copies = find_copies(search, search.ranking.keys.tolist(), share=self.share)
        preferred = self._prefer_files(search, copies)
        if preferred is not search:
            copies = find_copies(preferred, preferred.ranking.keys.tolist(), share=self.share)
        return keep_originals(preferred, copies)

    def _prefer_files(self, search: Search, copies: dict[int, tuple[int, ...]]) -> Search:
        """Return the search with the best located of equal texts at the rank of the first of them.

        A file is better located than a text within one, such as an archive or a mailbox, and a
        short path than a long one. Another stays first if it has a word of the query, as in its
        path, that the better located one lacks.
        """
        if not any(copies.values()):
            return search
        rows = search.rows.read([key for group in copies.items() for key in (group[0], *group[1])])
        keys = search.ranking.keys.tolist()
        at = {key: rank for rank, key in enumerate(keys)}
        swapped = False
        for first, others in copies.items():
            equal = [key for key in others if rows[key].text == rows[first].text and key in at]
            if not equal:
                continue
            costs = {key: _location_cost(search, rows[key]) for key in (first, *equal)}
            best = min(costs, key=costs.__getitem__)
            if costs[best] == costs[first]:
                continue
            pair = [rows[best], rows[first]]
            if len(_native.find_copied_chunks(search.query, pair, share=self.share)) == 1:
                keys[at[first]], keys[at[best]] = best, first
                swapped = True
        if not swapped:
            return search
        ranking = Ranking(np.array(keys, dtype=np.int64), search.ranking.scores)
        return search._replace(ranking=ranking)


def find_copies(search: Search, keys: Sequence[int], *, share: float) -> dict[int, tuple[int, ...]]:
    """Return the chunks that copy no better one, best first, each with its copies."""
    # A chunk that was removed from the store since the legs were searched is no candidate.
    rows = [*search.rows.read(keys).values()]
    return _native.find_copied_chunks(search.query, rows, share=share)


def _location_cost(search: Search, row: ChunkRow) -> tuple[bool, int]:
    return "#" in row.uri and _is_within_file(search, row), len(row.uri)


def _is_within_file(search: Search, row: ChunkRow) -> bool:
    """Return whether a document is one of those in a file; names of folders may have a `#`, too."""
    document = search.searcher.documents.document_by_id(row.doc)
    path = orjson.loads(document.metadata).get("path") if document else None
    return row.uri != path if path else bool(_IN_A_FILE.search(row.uri))


def keep_originals(search: Search, copies: Mapping[int, tuple[int, ...]]) -> Search:
    """Return the search with the chunks that copy no other.

    A copy has copies itself if it was better before the reranker.
    """
    if search.copies:
        copies = {key: _all_copies(key, own, search.copies) for key, own in copies.items()}
    kept = np.array([key in copies for key in search.ranking.keys.tolist()], bool)
    ranking = Ranking(search.ranking.keys[kept], search.ranking.scores[kept])
    return search._replace(ranking=ranking, copies=copies)


def _all_copies(
    key: int, own: Sequence[int], known: Mapping[int, tuple[int, ...]]
) -> tuple[int, ...]:
    """Return the copies of a chunk that are known, its own, and their copies."""
    further = (also for each in own for also in (each, *known.get(each, ())))
    copies = dict.fromkeys((*known.get(key, ()), *further))
    # The chunk itself may have copied one of them.
    return tuple(each for each in copies if each != key)
