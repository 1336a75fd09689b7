"""A search: the list of its steps and rules, and the runner of the rules.

The runner alone cuts the candidates, searches the legs more deeply, takes times, and goes on
without a rule that fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from crx import _native
from crx.config import Settings
from crx.errors import CrxError, UsageError
from crx.protocols import Reranker
from crx.retrieve._legs.leg_search import search_reachable_legs
from crx.retrieve._legs.pattern_match import match_pattern
from crx.retrieve._query.exclusion import exclude_chunks, parse_query
from crx.retrieve._query.filter_fields import describe_filter, filter_legs
from crx.retrieve._query.spelling import correct_query
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.hits import keep_best_files, read_hits
from crx.retrieve.parameters import DEEPEST
from crx.retrieve.ports import Searcher
from crx.retrieve.request import SearchRequest
from crx.retrieve.rules.code import CodeOrder
from crx.retrieve.rules.copies import CopyFolding
from crx.retrieve.rules.definitions import Definitions
from crx.retrieve.rules.late_interaction import LateInteraction
from crx.retrieve.rules.letters import Letters
from crx.retrieve.rules.recency import Recency
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.rules.unknown_words import UnknownWords
from crx.retrieve.rules.verbatim import Verbatim
from crx.retrieve.search_state import (
    ALL,
    RankingRule,
    Search,
    SearchParameters,
    Step,
    append,
    start_search,
)
from crx.retrieve.widen import describe_left_out, widen_hits
from crx.types import LEGS, Note, Ranking, Result

_Given = TypeVar("_Given")

# The steps before the rules; the names are those of the times in a `Result`.
_QUERY_STEPS: Sequence[tuple[str, Step]] = (
    ("parse", parse_query),
    ("spelling", correct_query),
    ("filter", filter_legs),
    ("exclude", exclude_chunks),
)
LEG_STEPS: Sequence[tuple[str, Step]] = (("retrieve", search_reachable_legs), ("fuse", fuse_legs))
# What `SearchRequest.without` may name: steps and weights before the rules, and the rules.
OPTIONAL = ("spelling", "document_name", "outline")
RULES = (
    "unknown_words",
    "letters",
    "code",
    "recency",
    "copies",
    "late_interaction",
    "rerank",
    "verbatim",
    "definitions",
)
# Those that an ablation leaves out: rows of it are reranked or not, and have recency or not.
MEASURED = tuple(name for name in (*OPTIONAL, *RULES) if name not in ("recency", "rerank"))


def make_rules(
    settings: Settings,
    *,
    rerank: Rerank | None,
    load_token_reranker: Callable[[], Reranker | None] = lambda: None,
    further: Sequence[RankingRule] = (),
) -> tuple[RankingRule, ...]:
    """Return the rules of a search, in their order; `further` are those of plugins."""
    rules: list[RankingRule | None] = [
        UnknownWords(),
        Letters(),
        CodeOrder.of(settings),
        Recency.of(settings),
        CopyFolding.of(settings),
        rerank and LateInteraction(reranker=rerank, load=load_token_reranker),
        rerank,
        Verbatim(copy_share=settings.rank_copies_share),
        Definitions.of(settings),
        *further,
    ]
    return tuple(rule for rule in rules if rule is not None)


def run_search(
    request: SearchRequest, *, parameters: SearchParameters, searcher: Searcher
) -> Result:
    """Return the passages that answer a query, best first, with notes on what was left out."""
    if request.pattern:
        started = start_search(request, parameters=parameters, searcher=searcher)
        search = run_steps(started, [("match", match_pattern)])
    else:
        search = rank(request, parameters=parameters, searcher=searcher)
    search = run_steps(
        search, [("files", keep_best_files), ("hits", read_hits), ("widen", widen_hits)]
    )
    search = search.noting(*describe_filter(search), describe_left_out(search))
    embedder = None if request.pattern else parameters.embedder
    sent = embedder.sending_notice() if embedder else ""
    before = (Note(sent),) if sent else ()
    return Result(search.passages, search.hits, (*before, *search.notes), search.times)


def rank(request: SearchRequest, *, parameters: SearchParameters, searcher: Searcher) -> Search:
    """Return the search after its rules: `ranking` has the best k chunks, `rest` the others.

    Raises `UsageError` for a rule in `without` that there is not.
    """
    rules = _without(parameters.rules, request)
    started = start_search(request, parameters=parameters, searcher=searcher)
    steps = [(name, step) for name, step in _QUERY_STEPS if name not in request.without]
    search = run_steps(started.noting(parameters.left_out), (*steps, *LEG_STEPS))
    return run_rules(search, rules)


def _without(rules: Sequence[RankingRule], request: SearchRequest) -> list[RankingRule]:
    """Return the rules that a search does not leave out."""
    known = dict.fromkeys((*OPTIONAL, *RULES, *(rule.name for rule in rules)))
    for name in request.without:
        if name not in known:
            raise UsageError(f"{name}: no such rule; without leaves out {', '.join(known)}")
    return [rule for rule in rules if rule.name not in request.without]


def run_steps(search: Search, steps: Iterable[tuple[str, Step]]) -> Search:
    """Run steps one after another; the time of each that had something to do is kept.

    Raises `Interrupted` if the interrupt of this thread is set.
    """
    for name, step in steps:
        _native.check_interrupt()
        started = time.perf_counter()
        after = step(search)
        if after is not search:
            search = _timed(after, name, started)
    return search


def run_rules(search: Search, rules: Sequence[RankingRule]) -> Search:
    """Run rules on the candidates and cut them to the hits asked for.

    What no later rule reads is cut off. If a rule folds so many copies that too few candidates are
    left, the legs are searched more deeply, and the rule is run on all that they give.
    """
    for at, rule in enumerate(rules):
        later = rules[at + 1 :]
        if rule.reads >= ALL:
            search = search._replace(wanted=_count_wanted(search, later))
        after = _run_rule(search, rule)
        if after.copies and not search.copies and _is_too_few(after, search):
            # Rules that look at every candidate may have left some out.
            selecting = [each for each in rules[:at] if each.reads >= ALL]
            after = _run_rule(_add_deeper(search, selecting), rule)
        search = _cut(after, max([search.k, *(each.reads for each in later)]))
    return _cut(search, search.k)


def _count_wanted(search: Search, later: Sequence[RankingRule]) -> int:
    """Return how many candidates those of the later rules read that have something to do.

    A rule that reads all takes what there is.
    """
    most_first = sorted(later, key=lambda rule: rule.reads, reverse=True)
    counted = (each for each in most_first if search.k < each.reads < ALL)
    return next((each.reads for each in counted if _has_work(each, search)), search.k)


def _has_work(rule: RankingRule, search: Search) -> bool:
    applies = _attempt(rule, partial(rule.applies, search))
    return not isinstance(applies, Note) and bool(applies)


def _run_rule(search: Search, rule: RankingRule) -> Search:
    """Run one rule on the candidates that it reads; without it, and a note, if it fails."""
    _native.check_interrupt()
    started = time.perf_counter()
    applies = _attempt(rule, partial(rule.applies, search))
    if isinstance(applies, Note) or not applies:
        return search.noting(applies or "")
    ranking, reads = search.ranking, rule.reads or search.k
    head = Ranking(ranking.keys[:reads], ranking.scores[:reads])
    given = search._replace(ranking=head)
    after = _attempt(rule, partial(_apply, rule, given))
    if isinstance(after, Note):
        return search.noting(after)
    if after is given:
        return search
    return _timed(
        search._replace(
            ranking=append(after.ranking, ranking.keys[reads:], ranking.scores[reads:]),
            rankings=_explained(rule.name, head, after),
            copies=after.copies,
            dropped=after.dropped,
            notes=after.notes,
        ),
        rule.name,
        started,
    )


def _explained(name: str, before: Ranking, after: Search) -> Mapping[str, Ranking]:
    """Return the rankings of a search, with that of a rule which changed the order."""
    if name in after.rankings or np.array_equal(before.keys, after.ranking.keys):
        return after.rankings
    keys = after.ranking.keys.tolist()
    # Not by `numpy.isin`, which loads `numpy.ma` in a new process: as much time as a search.
    if [*filter(set(keys).__contains__, before.keys.tolist())] == keys:
        return after.rankings
    return {**after.rankings, name: after.ranking}


def _attempt(rule: RankingRule, call: Callable[[], _Given]) -> _Given | Note:
    """Return what a call of a rule gives, or the note that it failed."""
    try:
        return call()
    except CrxError:
        # Of damage, of an interrupt and of a model that is missing, the search is told itself.
        raise
    except Exception as error:  # noqa: BLE001  (without a faulty rule the others have an order)
        what = f"{type(error).__name__}: {error}"
        return Note(f"the rule {rule.name} failed and is left out: {what}", "failed")


def _apply(rule: RankingRule, given: Search) -> Search:
    """Return the search after a rule.

    Raises `TypeError` and `ValueError` if the rule returns something else than an order.
    """
    after = rule.apply(given)
    if after is given or (isinstance(after, Search) and after.ranking is given.ranking):
        return after
    _require_order(after)
    known = after.ranking.keys.tolist(), *after.copies.values()
    left_out = set(given.ranking.keys.tolist()).difference(*known)
    return after._replace(dropped=given.dropped | left_out)


def _require_order(after: object) -> None:
    """Raise `TypeError` for what a rule returned that has no order of candidates."""
    if not isinstance(after, Search):
        raise TypeError(f"it returned {type(after).__name__}, not a Search")
    keys, scores = after.ranking.keys, after.ranking.scores
    if not (isinstance(keys, np.ndarray) and isinstance(scores, np.ndarray)):
        raise TypeError("its ranking has no arrays of keys and scores")
    if keys.dtype.kind != "i" or keys.shape != scores.shape or keys.ndim != 1:
        raise TypeError(f"its ranking has {keys.shape} keys for {scores.shape} scores")
    if len(set(keys.tolist())) < len(keys):
        raise ValueError("its ranking has a key twice")


def _cut(search: Search, wanted: int) -> Search:
    keys, scores = search.ranking.keys, search.ranking.scores
    if len(keys) <= wanted:
        return search
    cut_off = (Ranking(keys[wanted:], scores[wanted:]), *search.cut_off)
    return search._replace(ranking=Ranking(keys[:wanted], scores[:wanted]), cut_off=cut_off)


def _is_too_few(after: Search, given: Search) -> bool:
    """Return whether copies leave fewer candidates than are wanted, and the legs may have more."""
    if len(after.ranking.keys) >= min(given.wanted, len(given.ranking.keys)):
        return False
    depth = given.parameters.weights.depth
    return any(len(given.rankings[leg].keys) >= depth for leg in LEGS if leg in given.rankings)


def _add_deeper(search: Search, rules: Sequence[RankingRule]) -> Search:
    """Return the search with what deeper legs and some rules give behind its candidates."""
    weights = search.parameters.weights
    deeper = weights._replace(depth=_deepen(weights.depth))
    parameters = search.parameters._replace(weights=deeper)
    found = run_steps(search._replace(parameters=parameters, rankings={}), LEG_STEPS[:1])
    # The notes of these steps are there already, with the counts of the first search.
    notes = tuple(dict.fromkeys(found.notes))
    found = run_steps(found, LEG_STEPS[1:])
    for rule in rules:
        found = _run_rule(found, rule)
    return search._replace(
        ranking=append(search.ranking, found.ranking.keys, found.ranking.scores),
        rankings={**search.rankings, **found.rankings},
        notes=notes,
    )


def _deepen(depth: int) -> int:
    """Return the depth of a leg that is searched more deeply; 0 is a leg that is left out."""
    return max(depth, DEEPEST) if depth else 0


def _timed(search: Search, name: str, started: float) -> Search:
    """Return the search with the milliseconds since a step or rule started."""
    before = search.times.get(name, 0)
    return search._replace(
        times={**search.times, name: before + 1000 * (time.perf_counter() - started)}
    )
