"""Search of the legs: both are searched at the same time, each for a ranking."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import ModelError, Unavailable
from crx.protocols import Embedder
from crx.retrieve._query.document_name import DocumentName, are_of_one_document, find_document_name
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import Search
from crx.retrieve.stage_timer import StageTimer
from crx.types import Ranking

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class _NamedRanking(NamedTuple):
    """The ranking of BM25, and the part of the query that names a document, if there is one."""

    ranking: Ranking
    name: DocumentName | None


def search_reachable_legs(search: Search) -> Search:
    """Search the legs; BM25 alone, with a note, if the embedder's service is down."""
    try:
        return search_legs(search)
    except Unavailable as error:
        if "bm25" not in search.request.legs:
            raise
        bm25_alone = search.parameters._replace(embedder=None)
        return search_legs(search._replace(parameters=bm25_alone).noting(note_left_out(error)))


def search_legs(search: Search) -> Search:
    """Return the search with the ranking of each leg; many chunks are searched in parallel.

    If the best chunks of BM25 show that a part of the query names a document, its words weigh
    less in both legs (see `document_name`).
    """
    weights, embedder = search.parameters.weights, search.parameters.embedder
    known_faults = len(search.legs.dense.faults)
    timer = StageTimer()
    rankings: dict[str, Ranking] = {}
    search_bm25 = partial(_search_bm25, search, timer=timer)
    wanted = _wanted_legs(search)
    if "dense" in wanted and embedder is not None:
        named = _start(search_bm25, few=search.legs.few) if "bm25" in wanted else None
        with timer.stage("embed"):
            vector = _embed(search.query, embedder)
            if named and (name := named().name):
                vector = _unit(vector + _embed(name.rest, embedder))
        with timer.stage("dense"):
            found = search.legs.dense.search(vector, k=weights.depth)
            rankings["dense"] = Ranking(*found)
        if named:
            rankings["bm25"] = named().ranking
    elif "bm25" in wanted:
        rankings["bm25"] = search_bm25().ranking
    found_faults = search.legs.dense.faults[known_faults:]
    return search._replace(
        rankings={**search.rankings, **rankings}, times={**search.times, **timer.timings_ms}
    ).noting(*found_faults)


def _wanted_legs(search: Search) -> Collection[str]:
    """Return the legs to search: of two one alone, if the other weighs nothing in the fusion."""
    parameters, legs = search.parameters, set(search.request.legs)
    if parameters.embedder is None:
        legs.discard("dense")
    alone = {0.0: {"bm25"}, 1.0: {"dense"}}.get(parameters.weights.dense_weight, legs)
    return legs & alone or legs


def note_left_out(error: ModelError) -> str:
    """Return the note on a search without the dense leg."""
    return f"dense leg left out: {error}"


def _search_bm25(search: Search, *, timer: StageTimer) -> _NamedRanking:
    """Search with outlines as a part of the texts, and again if the best chunks ask for more."""
    weights, without = search.parameters.weights, search.request.without
    with timer.stage("bm25"):
        ranking = _rank_bm25(search)
        # Without outlines their weight changes nothing, and no document has a name in them.
        if not search.legs.has_outlines:
            return _NamedRanking(ranking, None)
        rows = search.rows.read(ranking.keys[: _native.BEST].tolist()).values()
        name = None if "document_name" in without else _find_document_name(search, rows)
        if name:
            ranking = _rank_bm25(search, outline=weights.outline_named, name=name.name)
        elif "outline" not in without and 2 * sum(row.kind == "code" for row in rows) > len(rows):
            ranking = _rank_bm25(search, outline=weights.outline_code)
    return _NamedRanking(ranking, name)


def _find_document_name(search: Search, rows: Collection[ChunkRow]) -> DocumentName | None:
    # The name of a definition is in its own source code, where repeating it is a good sign.
    if not are_of_one_document(rows):
        return None
    searcher = search.searcher
    outlines = (row.outline for row in rows)
    return find_document_name(search.query, outlines, terms=searcher.terms, langs=searcher.langs)


def _rank_bm25(search: Search, *, outline: float = 1.0, name: str = "") -> Ranking:
    """Return the ranking of BM25; the terms of `name` have half their weight."""
    weights = search.parameters.weights
    found = search.legs.lexical.search(
        search.query,
        k=weights.depth,
        name=name,
        langs=search.searcher.langs,
        k1=weights.k1,
        b=weights.b,
        weights=(1.0, outline, 1.0),
    )
    return Ranking(*found)


def _embed(query: str, embedder: Embedder) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = embedder.embed([query], query=True)[0]
    return vector


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vector / (np.linalg.norm(vector) or 1), np.float32)


def _start(search: Callable[[], _NamedRanking], *, few: bool) -> Callable[[], _NamedRanking]:
    """Search a leg, of many chunks in another thread; return a function that waits for it."""
    if few:
        found = search()
        return lambda: found
    return _submit(search).result


def _submit(search: Callable[[], _NamedRanking]) -> Future[_NamedRanking]:
    """Search in another thread, with the interrupt of this one."""
    interrupt = _native.current_interrupt()

    def run() -> _NamedRanking:
        with interrupt or contextlib.nullcontext():
            return search()

    return _bm25_threads().submit(run)


@cache
def _bm25_threads() -> ThreadPoolExecutor:
    """Return the threads that search the BM25 leg beside the dense one, shared by all searches."""
    from concurrent.futures import ThreadPoolExecutor  # a search of one leg has no thread

    return ThreadPoolExecutor(thread_name_prefix="crx-bm25")


if hasattr(os, "register_at_fork"):
    # A child has none of its parent's threads.
    os.register_at_fork(after_in_child=_bm25_threads.cache_clear)
