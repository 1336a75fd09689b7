"""A search: the list of its stages, from a query to passages."""

from __future__ import annotations

import time
from collections.abc import Sequence

from crx import _native
from crx.retrieve.code_order import order_code
from crx.retrieve.copied_chunks import fold_candidates, fold_promoted
from crx.retrieve.exact import promote_matches
from crx.retrieve.exclusion import exclude_chunks, parse_query
from crx.retrieve.filter_fields import describe_filter, filter_legs
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.hits import read_hits
from crx.retrieve.leg_search import search_reachable_legs
from crx.retrieve.parameters import SearchParameters
from crx.retrieve.pattern_match import match_pattern
from crx.retrieve.ports import Searcher
from crx.retrieve.recency import boost_newer
from crx.retrieve.request import SearchRequest
from crx.retrieve.rerank import rerank_candidates
from crx.retrieve.search_state import Search, Stage, start_search
from crx.retrieve.spelling import correct_query
from crx.retrieve.translations import order_translations
from crx.retrieve.unknown_words import keep_near
from crx.retrieve.whole_words import promote_whole_words
from crx.retrieve.widen import describe_left_out, widen_hits
from crx.types import Result

# The names are those of the times in a `Result`.
STAGES: Sequence[tuple[str, Stage]] = (
    ("parse", parse_query),
    ("spelling", correct_query),
    ("filter", filter_legs),
    ("exclude", exclude_chunks),
    ("retrieve", search_reachable_legs),
    ("words", keep_near),
    ("fuse", fuse_legs),
    ("code", order_code),
    ("recency", boost_newer),
    ("copies", fold_candidates),
    ("rerank", rerank_candidates),
    ("exact", promote_matches),
    ("exact", promote_whole_words),
    ("copies", fold_promoted),
    ("languages", order_translations),
    ("hits", read_hits),
    ("widen", widen_hits),
)

# The stages of a search for a pattern.
PATTERN_STAGES: Sequence[tuple[str, Stage]] = (
    ("match", match_pattern),
    ("hits", read_hits),
    ("widen", widen_hits),
)


def run_search(
    request: SearchRequest, *, parameters: SearchParameters, searcher: Searcher
) -> Result:
    """Return the passages that answer a query, best first, with notes on what was left out."""
    started = start_search(request, parameters=parameters, searcher=searcher)
    if request.pattern:
        search = run_stages(started, PATTERN_STAGES)
        search = search.noting(*describe_filter(search), describe_left_out(search))
        return Result(search.passages, search.hits, search.notes, search.times)
    search = run_stages(started.noting(parameters.left_out), STAGES)
    sent = parameters.embedder.sending_notice() if parameters.embedder else ""
    before = (sent,) if sent else ()
    search = search.noting(*describe_filter(search), describe_left_out(search))
    return Result(search.passages, search.hits, (*before, *search.notes), search.times)


def run_stages(search: Search, stages: Sequence[tuple[str, Stage]]) -> Search:
    """Run stages one after another; the time of each that had something to do is kept.

    Raises `Interrupted` if the interrupt of this thread is set.
    """
    times = dict(search.times)
    for name, stage in stages:
        _native.check_interrupt()
        started = time.perf_counter()
        after = stage(search)
        if after is not search:
            # A stage may have timed its parts, and may be run twice.
            new = {part: ms for part, ms in after.times.items() if search.times.get(part) != ms}
            times.update(new)
            times[name] = times.get(name, 0) + 1000 * (time.perf_counter() - started)
            search = after
    return search._replace(times=times)
