"""What is known of a search: each step and each rule gets it and returns it with more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crx.retrieve.parameters import RankingWeights
from crx.retrieve.ports import Keys, Legs, Searcher
from crx.retrieve.query_vectors import QueryEmbedder
from crx.retrieve.request import SearchRequest
from crx.retrieve.rows import ChunkRow
from crx.types import Hit, Note, Passage, Ranking

EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
# What a rule reads that looks at every candidate.
ALL = 1 << 30
# Hits of a search by file: 20 are of 7 files in the mean.
LOOKED_THROUGH = 200


@runtime_checkable
class RankingRule(Protocol):
    """A rule of the order, whose fields are its numbers.

    `name` names its part in a hit, its time, and what `without` leaves out. `reads` is how many of
    the candidates, best first, it is given, 0 for those that are hits; the others follow behind
    those that it returns.
    """

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> int: ...

    def applies(self, search: Search) -> bool:
        """Return whether the rule has something to do; most searches need few rules."""

    def apply(self, search: Search) -> Search:
        """Return the search with another `ranking`, and what else the rule knows.

        That may be a ranking of its own in `rankings`, by its name, `copies`, and notes. Anything
        else that it changes is ignored. Without a ranking of its own, a hit is explained by its
        rank after the rule, if the rule changed the order.
        """


class SearchParameters(NamedTuple):
    """What an index searches with: its models, weights, rules and default sizes.

    `k`, `budget_tokens` and `window_tokens` are those of `config.Settings`; without an embedder
    the dense leg is left out. `left_out` is a note if that is because its service is down.
    """

    weights: RankingWeights
    k: int
    budget_tokens: int
    window_tokens: int
    embedder: QueryEmbedder | None
    rules: tuple[RankingRule, ...] = ()
    left_out: str = ""


class ChunkRows:
    """The chunks that a search has read: each is read once."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._rows: dict[int, ChunkRow] = {}

    def read(self, keys: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of these keys, without those that were removed since.

        Raises `Damaged` if one is missing that cannot have been removed.
        """
        wanted, known = list(keys), self._rows
        if unread := set(wanted).difference(known):
            found = self._searcher.chunks(unread)
            known.update(zip(map(attrgetter("key"), found), found, strict=True))
        return {key: row for key in wanted if (row := known.get(key))}


class Search(NamedTuple):
    """A search after some of its steps.

    `query` is the query as it is searched, `excluded` what it leaves out. `legs` are those among
    the documents of the filter. `ranking` is the order so far; `rankings` holds that of each leg,
    and the own ones of rules. `wanted` is how many candidates the later rules read. `copies` has,
    by the key of each chunk that copies no better one, those that copy it and were left out.
    `dropped` are other chunks that a rule left out, `cut_off` the candidates that were cut off, the
    last first. `notes` are warnings of one line each, `times` milliseconds by step.
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
    wanted: int = 0
    copies: Mapping[int, tuple[int, ...]] = {}
    dropped: frozenset[int] = frozenset()
    cut_off: tuple[Ranking, ...] = ()
    hits: tuple[Hit, ...] = ()
    passages: tuple[Passage, ...] = ()
    notes: tuple[Note, ...] = ()
    times: Mapping[str, float] = {}

    @property
    def rest(self) -> Ranking:
        """The candidates that were cut off, best first."""
        rest = EMPTY
        for each in reversed(self.cut_off):
            rest = append(each, rest.keys, rest.scores)
        return rest

    @property
    def wanted_results(self) -> int:
        """How many hits are asked for, or files in a search by file."""
        return self.request.k or self.parameters.k

    @property
    def k(self) -> int:
        """How many hits are found: for files, those that are looked through."""
        k = self.wanted_results
        return max(k, LOOKED_THROUGH) if self.request.by == "file" else k

    @property
    def budget_tokens(self) -> int:
        """The tokens of all passages together."""
        return self.request.budget_tokens or self.parameters.budget_tokens

    def noting(self, *notes: str) -> Search:
        """Return the search with further notes, but empty ones."""
        further = tuple(Note.of(each) for each in notes if each)
        return self._replace(notes=self.notes + further) if further else self


# Returns the search it is given if there is nothing to do.
Step: TypeAlias = Callable[[Search], Search]


def start_search(
    request: SearchRequest, *, parameters: SearchParameters, searcher: Searcher
) -> Search:
    """Return a search before its first step."""
    return Search(
        request=request,
        parameters=parameters,
        searcher=searcher,
        rows=ChunkRows(searcher),
        legs=searcher.legs(None),
        query=request.query,
        rankings={},
    )


def append(ranking: Ranking, keys: Keys, scores: NDArray[np.float32]) -> Ranking:
    """Return a ranking with those of further chunks that it lacks, none with a greater score."""
    if not len(keys):
        return ranking
    known = set(ranking.keys.tolist())
    new = [at for at, key in enumerate(keys.tolist()) if key not in known]
    if not new:
        return ranking
    keys, scores = keys[new], scores[new]
    if len(ranking.scores):
        scores = np.minimum(scores, ranking.scores.min())
    return Ranking(np.concatenate([ranking.keys, keys]), np.concatenate([ranking.scores, scores]))
