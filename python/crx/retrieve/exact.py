"""Stage of exact matches, first: chunks that hold the whole query, or the phrases that it quotes.

Somebody who pastes an error message, an identifier or a phrase wants the text that contains it.
BM25 sees its words, but neither their order nor what is between them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

import numpy as np

from crx import _native
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import EMPTY, Search
from crx.text.phrases import inner_words, normalize_text, occurs
from crx.types import Ranking

# Candidates of a ranking whose texts are read: a chunk with all words of a phrase ranks high.
EXACT_DEPTH = 50
_SHORTEST = 4
# What `declaration` returns of a text that gives a name a value.
VALUE = 1
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{2,})[\"”»]")
# A word that is no ordinary one: parseArgs, snake_case, v1.2.3, TS-999, --amend, $HOME.
_IDENTIFIER = re.compile(r"\S*(?:[\w)][._/:@=-]+\w|[a-z][A-Z]|\d|__|[A-Z]{3})\S*|[-$%@/]+\w\S*")


def promote_matches(search: Search) -> Search:
    """Return the search with exact matches first, if the query is or quotes a phrase."""
    phrases = find_phrases(search.query)
    if not phrases:
        return search
    is_name = len(phrases) == 1 and " " not in phrases[0]
    found = search.rankings.get("bm25", EMPTY).keys
    bm25 = found if is_name else found[:EXACT_DEPTH]
    # Most chunks lack a word, which BM25 tells faster than their texts.
    if words := inner_words(phrases):
        searcher = search.searcher
        bm25 = searcher.terms.containing(bm25, words=words, langs=["", *searcher.langs])
    candidates = bm25.tolist()
    rows = search.rows.read(sorted({*candidates, *search.ranking.keys.tolist()}))
    ordered = set(search.rankings.get("code", EMPTY).keys.tolist())
    originals = {copy: key for key, copies in search.copies.items() for copy in copies}
    ranking = promote_exact(
        phrases, search.ranking, candidates, rows, ordered=ordered, originals=originals
    )
    before = search.ranking.scores
    is_raised = ranking.scores > (before.max() if len(before) else 0.0)
    if not is_raised.any():
        return search._replace(ranking=ranking)
    exact = Ranking(ranking.keys[is_raised], ranking.scores[is_raised])
    return search._replace(ranking=ranking, rankings={**search.rankings, "exact": exact})


def find_phrases(query: str) -> list[str]:
    """Return the phrases that a chunk must hold to be an exact match; none for a single word.

    They are what the query quotes, else the query as a whole, if it is an identifier or has
    several words. A question is written in no document: it has no phrase but what it quotes.
    """
    quoted = [phrase for phrase in map(normalize_text, _QUOTED.findall(query)) if " " in phrase]
    if quoted:
        return quoted
    whole = normalize_text(query)
    if whole.endswith(("?", "？")):
        return []
    is_phrase = " " in whole or bool(_IDENTIFIER.fullmatch(query.strip()))
    return [whole] if is_phrase and len(whole) >= _SHORTEST else []


def promote_exact(
    phrases: Sequence[str],
    ranking: Ranking,
    candidates: Sequence[int],
    rows: Mapping[int, ChunkRow],
    *,
    ordered: Set[int] = frozenset(),
    originals: Mapping[int, int] | None = None,
) -> Ranking:
    """Return a ranking in which the candidates that hold all phrases come first.

    `rows` are the candidates' chunks. Their order is that of the ranking, then of the candidates;
    of a name, those that define it come first, then those that have it as a member, then those with
    the shortest path. Of those in `ordered`, which knows source code, declarations keep their
    order, and prose comes last. The ranking keeps its length. A candidate is left out if its
    original, which it copies, is promoted.
    Scores are raised above the best of the others.
    """
    scores = dict(zip(ranking.keys.tolist(), ranking.scores.tolist(), strict=True))
    # Longest first: those that most texts lack.
    words = sorted({word for phrase in phrases for word in phrase.split()}, key=len, reverse=True)
    exact = [
        key
        for key in dict.fromkeys([*scores, *candidates])
        if key in rows and _holds(rows[key].text, words, phrases)
    ]
    if not exact:
        return ranking
    if originals:
        held = set(exact)
        exact = [key for key in exact if originals.get(key) not in held]
    if len(phrases) == 1 and " " not in phrases[0]:
        name = phrases[0]
        exact.sort(key=lambda key: _rank_named(rows[key], name, is_ordered=key in ordered))
    best = max(scores.values(), default=0.0)
    promoted = set(exact)
    rest = [key for key in scores if key not in promoted]
    keys = [*exact, *rest][: max(1, len(scores))]
    # Falling, so that the order is that of the scores: at most twice the best of all, if it is
    # positive.
    step = abs(best) or 1.0
    raised = {key: best + step * (1 - rank / len(exact)) for rank, key in enumerate(exact)}
    return Ranking(
        np.array(keys, dtype=np.int64),
        np.array([raised.get(key, scores.get(key, 0.0)) for key in keys], dtype=np.float32),
    )


def _rank_named(row: ChunkRow, name: str, *, is_ordered: bool) -> tuple[int, bool, int]:
    """Return a sort key of a chunk that holds a name; `is_ordered` if definitions ordered it."""
    declared = _native.declaration(row.uri, row.text, name)
    # A value is given anywhere, as in the calls of tests.
    if declared > VALUE:
        return -declared, False, 0 if is_ordered else row.uri.count("/")
    is_prose = is_ordered and not _native.is_source(row.uri, row.text)
    return 0, is_prose, row.uri.count("/")


def _holds(text: str, words: Sequence[str], phrases: Sequence[str]) -> bool:
    """Return whether a text holds all phrases, which consist of these words."""
    # Most texts lack a word, which is quick to see.
    folded = text.casefold()
    for word in words:
        if word not in folded:
            return False
    normalized = normalize_text(text)
    return all(occurs(phrase, normalized) for phrase in phrases)
