"""What is known of a search: each stage gets it and returns it with more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from crx.retrieve.parameters import SearchParameters
from crx.retrieve.ports import Legs, Searcher
from crx.retrieve.request import SearchRequest
from crx.retrieve.rows import ChunkRow
from crx.types import Hit, Passage, Ranking

EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))


class ChunkRows:
    """The chunks that a search has read: each is read once."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._rows: dict[int, ChunkRow] = {}

    def read(self, keys: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of these keys, without those that were removed since.

        Raises `Damaged` if one is missing that cannot have been removed.
        """
        wanted = list(keys)
        unread = [key for key in wanted if key not in self._rows]
        if unread:
            self._rows.update((row.key, row) for row in self._searcher.chunks(unread))
        return {key: self._rows[key] for key in wanted if key in self._rows}


class Search(NamedTuple):
    """A search after some of its stages.

    `query` is the query as it is searched, `excluded` what it leaves out. `legs` are those among
    the documents of the filter. `ranking` is the order so far; `rankings` holds that of each leg,
    of the candidates as source code, by age and by the reranker's scores. `copies` has, by the
    key of each chunk that copies no better one, those that copy it and were left out. `notes` are
    warnings of one line each, `times` milliseconds by stage.
    """

    request: SearchRequest
    parameters: SearchParameters
    searcher: Searcher
    rows: ChunkRows
    legs: Legs
    query: str
    rankings: Mapping[str, Ranking]
    excluded: tuple[str, ...] = ()
    ranking: Ranking = EMPTY
    copies: Mapping[int, tuple[int, ...]] = {}
    hits: tuple[Hit, ...] = ()
    passages: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()
    times: Mapping[str, float] = {}

    @property
    def k(self) -> int:
        """How many hits are asked for."""
        return self.request.k or self.parameters.k

    @property
    def candidates(self) -> int:
        """How many chunks the last stages choose the hits from."""
        reranking = self.parameters.reranking
        return max(self.k, reranking.depth) if reranking else self.k

    @property
    def budget_tokens(self) -> int:
        """The tokens of all passages together."""
        return self.request.budget_tokens or self.parameters.budget_tokens

    def noting(self, *notes: str) -> Search:
        """Return the search with further notes, but empty ones."""
        further = tuple(filter(None, notes))
        return self._replace(notes=self.notes + further) if further else self


# Returns the search it is given if there is nothing to do.
Stage: TypeAlias = Callable[[Search], Search]


def start_search(
    request: SearchRequest, *, parameters: SearchParameters, searcher: Searcher
) -> Search:
    """Return a search before its first stage."""
    return Search(
        request=request,
        parameters=parameters,
        searcher=searcher,
        rows=ChunkRows(searcher),
        legs=searcher.legs(None),
        query=request.query,
        rankings={},
    )
