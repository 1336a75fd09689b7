"""Stage of copies: candidates with the text of a better one are counted, and make room for others.

The candidates that may be shown are compared first. If there are copies among them, all of the
legs' are, and if too few texts are left, those of legs that are searched more deeply: 5,000 mails
with the same footer fill a ranking many times over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import orjson

from crx import _native
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.leg_search import search_reachable_legs
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import Search
from crx.retrieve.unknown_words import keep_near
from crx.show.copies import group_originals
from crx.types import LEGS, Ranking

# How many times as many chunks the legs give if most of those that they gave are copies.
DEEPER = 5
# Depths that are not exceeded for it.
_MOST_DEEP = 2_000
# Of a document without the path of its file: what follows a file with an extension.
_IN_A_FILE = re.compile(r"\.[^/.#]+#")


def fold_candidates(search: Search) -> Search:
    """Return the search with the best candidates that copy no better one, and their copies."""
    wanted = search.candidates
    if not search.parameters.copy_share:
        return search
    head = search.ranking.keys[:wanted].tolist()
    copies = _find_copies(search, head)
    if len(copies) < len(head):
        copies = _find_copies(search, search.ranking.keys.tolist())
    if len(copies) < min(wanted, len(head)) and _is_cut(search):
        search = _add_deeper(search, _search_deeper(search))
        copies = _find_copies(search, search.ranking.keys.tolist())
    preferred = _prefer_files(search, copies)
    if preferred is not search:
        copies = _find_copies(preferred, preferred.ranking.keys.tolist())
    return _keep(preferred, copies, wanted=wanted)


def fold_promoted(search: Search) -> Search:
    """Return the search without the exact matches that copy a better one, cut to its hits."""
    ranking = search.ranking
    keys = ranking.keys.tolist()
    if search.parameters.copy_share and not all(key in search.copies for key in keys):
        return _keep(search, _find_copies(search, keys), wanted=search.k)
    if len(keys) <= search.k:
        return search
    cut = Ranking(ranking.keys[: search.k], ranking.scores[: search.k])
    return search._replace(ranking=cut)


def _find_copies(search: Search, keys: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return the chunks that copy no better one, best first, each with its copies."""
    rows = search.rows.read(keys)
    # A chunk that was removed from the store since the legs were searched is no candidate.
    stored = [key for key in keys if key in rows]
    given = [_compared(rows[key]) for key in stored]
    originals = _native.find_originals(search.query, given, share=search.parameters.copy_share)
    groups = group_originals(originals)
    return {stored[first]: tuple(stored[at] for at in others) for first, others in groups.items()}


def _prefer_files(search: Search, copies: dict[int, tuple[int, ...]]) -> Search:
    """Return the search with the best located of equal texts at the rank of the first of them.

    A file is better located than a text within one, such as an archive or a mailbox, and a short
    path than a long one. Another stays first if it has a word of the query, as in its path, that
    the better located one lacks.
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
        pair = [_compared(rows[best]), _compared(rows[first])]
        share = search.parameters.copy_share
        if _native.find_originals(search.query, pair, share=share)[1] == 0:
            keys[at[first]], keys[at[best]] = best, first
            swapped = True
    if not swapped:
        return search
    ranking = Ranking(np.array(keys, dtype=np.int64), search.ranking.scores)
    return search._replace(ranking=ranking)


def _location_cost(search: Search, row: ChunkRow) -> tuple[bool, int]:
    return "#" in row.uri and _is_within_file(search, row), len(row.uri)


def _is_within_file(search: Search, row: ChunkRow) -> bool:
    """Return whether a document is one of those in a file; names of folders may have a `#`, too."""
    document = search.searcher.documents.document_by_id(row.doc)
    path = orjson.loads(document.metadata).get("path") if document else None
    return row.uri != path if path else bool(_IN_A_FILE.search(row.uri))


def _compared(row: ChunkRow) -> tuple[str, str, str]:
    """Return what is compared of a chunk: its text twice, and what is said about it."""
    return row.text, row.text, "\n".join((row.outline, row.context, row.title, row.uri))


def _keep(search: Search, copies: dict[int, tuple[int, ...]], *, wanted: int) -> Search:
    """Return the search with the chunks that copy no other, cut to those wanted.

    A copy has copies itself if it was better before the reranker.
    """
    known = search.copies
    all_copies = {key: _all_copies(key, own, known) for key, own in copies.items()}
    kept = [at for at, key in enumerate(search.ranking.keys.tolist()) if key in copies][:wanted]
    keys, scores = search.ranking.keys[kept], search.ranking.scores[kept]
    return search._replace(ranking=Ranking(keys, scores), copies=all_copies)


def _all_copies(
    key: int, own: Sequence[int], known: Mapping[int, tuple[int, ...]]
) -> tuple[int, ...]:
    """Return the copies of a chunk that are known, its own, and their copies."""
    before = known.get(key, ())
    if not own:
        return before
    further = (also for each in own for also in (each, *known.get(each, ())))
    return _without(key, (*before, *further))


def _without(key: int, copies: Iterable[int]) -> tuple[int, ...]:
    """Return copies, each once, without the chunk itself, which may have copied one of them."""
    return tuple(dict.fromkeys(each for each in copies if each != key))


def _is_cut(search: Search) -> bool:
    """Return whether a leg may have more chunks than it gave."""
    weights = search.parameters.weights
    depths = {"bm25": weights.bm25_depth, "dense": weights.dense_depth}
    return any(
        len(search.rankings[leg].keys) >= depth > 0
        for leg, depth in depths.items()
        if leg in search.rankings
    )


def _add_deeper(search: Search, deeper: Search) -> Search:
    """Return the search with what its legs gave a deeper search, and the notes on those legs."""
    legs: dict[str, Ranking] = {leg: deeper.rankings[leg] for leg in LEGS if leg in deeper.rankings}
    return search._replace(
        ranking=_append(search.ranking, deeper.ranking),
        rankings={**search.rankings, **legs},
        notes=tuple(dict.fromkeys((*search.notes, *deeper.notes))),
    )


def _search_deeper(search: Search) -> Search:
    """Return a search whose legs give more; a leg that fails is not among its rankings."""
    weights = search.parameters.weights
    deeper = weights._replace(
        bm25_depth=_deeper(weights.bm25_depth), dense_depth=_deeper(weights.dense_depth)
    )
    parameters = search.parameters._replace(weights=deeper)
    found = search_reachable_legs(search._replace(parameters=parameters, rankings={}))
    # The notes of these stages are there already, with the counts of the first search.
    return fuse_legs(keep_near(found))._replace(notes=found.notes)


def _deeper(depth: int) -> int:
    return max(depth, min(DEEPER * depth, _MOST_DEEP))


def _append(ranking: Ranking, further: Ranking) -> Ranking:
    """Return a ranking with the further chunks behind it, none with a greater score."""
    new = ~np.isin(further.keys, ranking.keys)
    scores = further.scores[new]
    if len(ranking.scores):
        scores = np.minimum(scores, ranking.scores.min())
    return Ranking(
        np.concatenate([ranking.keys, further.keys[new]]),
        np.concatenate([ranking.scores, scores]),
    )
