"""Search of the indexes of a server: one ranking of all whose vectors compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from crx._index.handle import Index
from crx.errors import IndexFailure, NotAnIndex
from crx.retrieve.request import SearchRequest
from crx.types import LEGS, Note, Passage, Result
from crx_engines.folder.joint_search import (
    can_search_jointly,
    search_jointly,
    share_hits,
    take_turns,
)
from crx_serve.passages import add_timings
from crx_serve.requests import SearchQuery
from crx_serve.served_index import ServedIndex

# Called with the name of an index and the milliseconds of the stages of its search.
OnStages = Callable[[str, Mapping[str, float]], None]
# Searches one index.
SearchOne = Callable[[ServedIndex, SearchQuery], Result]


class FoundPassages(NamedTuple):
    """The passages of several indexes, best first, each with the name of its index."""

    passages: Sequence[tuple[str, Passage]]
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]


def find_passages(
    served: Sequence[ServedIndex],
    request: SearchQuery,
    *,
    search: SearchOne,
    on_stages: OnStages,
) -> FoundPassages:
    """Search indexes: together if their vectors compare, else by turns, each with `search`.

    One of several indexes that is gone or damaged is a note, unless all are.
    """
    if len(served) == 1:
        return _find_by_turns(served, request, search=search)
    opened: dict[str, Index] = {}
    notes: list[str] = []
    failures: list[NotAnIndex | IndexFailure] = []
    for each in served:
        try:
            opened[each.name] = each.get()
        except (NotAnIndex, IndexFailure) as error:
            failures.append(error)
            notes.append(str(error))
    if not opened:
        raise failures[0]
    if can_search_jointly(list(opened.values())):
        found = _find_together(opened, request, on_stages=on_stages)
    else:
        there = [each for each in served if each.name in opened]
        found = _find_by_turns(there, request, search=search)
    return found._replace(notes=(*notes, *found.notes))


def search_index(index: Index, request: SearchQuery) -> Result:
    """Return what one index finds, all of it."""
    return index.run(_request_of(request))


def _request_of(query: SearchQuery) -> SearchRequest:
    return SearchRequest(
        query=query.query,
        k=query.k,
        window=query.window,
        budget_tokens=query.budget_tokens,
        where=query.where,
        legs=query.legs or LEGS,
        within_section=query.within_section,
        by=query.by,
        order=query.order,
        rerank=query.rerank,
        match=query.match,
        without=query.without,
    )


def _find_together(
    opened: Mapping[str, Index], request: SearchQuery, *, on_stages: OnStages
) -> FoundPassages:
    names = list(opened)
    result, indexes = search_jointly(list(opened.values()), _request_of(request), names=names)
    timings = result.timings_ms or {}
    for name in names:
        on_stages(name, timings)
    passages = [(names[at], passage) for at, passage in zip(indexes, result.passages, strict=True)]
    return FoundPassages(passages, result.notes, timings)


def _find_by_turns(
    served: Sequence[ServedIndex], request: SearchQuery, *, search: SearchOne
) -> FoundPassages:
    """Return the best passages of all indexes, then the second best, and so on, k chunks in all."""
    results: dict[str, Result] = {}
    notes: list[str] = []
    failures: list[NotAnIndex | IndexFailure] = []
    k = request.k or served[0].get().configuration.k
    for each, share in zip(served, share_hits(k, indexes=len(served)), strict=False):
        try:
            result = search(each, msgspec.structs.replace(request, k=share))
        except (NotAnIndex, IndexFailure) as error:
            failures.append(error)
            notes.append(str(error))
            continue
        results[each.name] = result
        prefix = f"{each.name}: " if len(served) > 1 else ""
        notes += [Note(f"{prefix}{note}", note.kind) for note in result.notes]
    if not results:
        raise failures[0]
    turns = take_turns([result.passages for result in results.values()])
    names = list(results)
    passages = [(names[at], passage) for at, passage in turns]
    return FoundPassages(passages, tuple(notes), add_timings(list(results.values())))
