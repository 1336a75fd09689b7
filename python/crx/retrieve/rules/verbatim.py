"""Rule of exact matches, first: chunks that hold the whole query, or the phrases that it quotes.

Somebody who pastes an error message, an identifier or a phrase wants the text that contains it.
BM25 sees its words, but neither their order nor what is between them. To BM25, `_apply_xheaders`
has the word "xheaders", too: who asks for one word wants the texts that have it as a whole, as
`grep --word-regexp` finds them. Of those that are source code, the ones that declare it, as a
parameter or a field, come before those that use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crx import _native
from crx._native import Declaration
from crx._text.phrases import inner_words, normalize_text, occurs
from crx._text.query_terms import analyze_query
from crx.retrieve.rows import ChunkRow
from crx.retrieve.rules.code import find_aside
from crx.retrieve.rules.copies import find_copies, keep_originals
from crx.retrieve.search_state import EMPTY, Search
from crx.types import Ranking

_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{2,})[\"”»]")
# A word that is no ordinary one: parseArgs, snake_case, v1.2.3, TS-999, --amend, $HOME.
_IDENTIFIER = re.compile(r"\S*(?:[\w)][._/:@=-]+\w|[a-z][A-Z]|\d|__|[A-Z]{3})\S*|[-$%@/]+\w\S*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim:
    """Exact matches among the candidates, and among those of BM25 whose scores a fusion counts.

    A chunk with all words of a phrase ranks high. `copy_share` is that of `CopyFolding`.
    """

    name: ClassVar[str] = "verbatim"
    reads: ClassVar[int] = 0
    copy_share: float = 0.0

    def applies(self, search: Search) -> bool:
        """Return whether the query is or quotes a phrase, or is one word."""
        return bool(find_phrases(search.query)) or (
            "bm25" in search.rankings
            and len(search.ranking.keys) > 0
            and analyze_query(search.query).is_plain_word
        )

    def apply(self, search: Search) -> Search:
        """Return the search with the chunks first that hold a phrase, or the word as a whole."""
        phrases = find_phrases(search.query)
        found = self._promote_phrases(search, phrases) if phrases else search
        if len(found.ranking.keys) and analyze_query(search.query).is_plain_word:
            found = self._promote_whole_words(found)
        keys = found.ranking.keys.tolist()
        if search.copies and not all(key in search.copies for key in keys):
            copies = find_copies(found, keys, share=self.copy_share)
            return keep_originals(found, copies)
        return found

    def _promote_phrases(self, search: Search, phrases: Sequence[str]) -> Search:
        is_name = len(phrases) == 1 and " " not in phrases[0]
        found = search.rankings.get("bm25", EMPTY).keys
        bm25 = found if is_name else found[: _native.FLOOR_RANK]
        candidates = np.concatenate([bm25, search.ranking.keys])
        # Most chunks lack a word, which BM25 tells faster than their texts.
        if words := inner_words(phrases):
            langs = ["", *search.searcher.langs]
            candidates = search.searcher.terms.containing(candidates, words=words, langs=langs)
        rows = search.rows.read(candidates.tolist())
        ordered = set(search.rankings.get("code", EMPTY).keys.tolist())
        originals = {copy: key for key, copies in search.copies.items() for copy in copies}
        ranking = promote_exact(
            phrases, search.ranking, [*rows], rows, ordered=ordered, originals=originals
        )
        before = search.ranking.scores
        is_raised = ranking.scores > (before.max() if len(before) else 0.0)
        if not is_raised.any():
            return search._replace(ranking=ranking)
        exact = Ranking(ranking.keys[is_raised], ranking.scores[is_raised])
        rankings = {**search.rankings, self.name: exact}
        return search._replace(ranking=ranking, rankings=rankings)

    def _promote_whole_words(self, search: Search) -> Search:
        """Return the search with the chunks first that have its word as a whole, in order of rank.

        Further candidates of BM25 are among them, so that the ranking may be longer than before. Of
        a word that no name has as a part, source code alone is ordered, with further candidates
        that declare it.
        """
        query = analyze_query(search.query)
        keys = search.ranking.keys.tolist()
        counts = _count(search, query, keys)
        is_part = any(parts for _, parts in counts.values())
        if not is_part and "code" not in search.rankings:
            return search
        copies = {copy for group in search.copies.values() for copy in group}
        left_out = copies | search.dropped
        bm25 = search.rankings["bm25"].keys[: _native.FLOOR_RANK].tolist()
        further = [key for key in bm25 if key not in counts and key not in left_out]
        counts |= _count(search, query, sorted(further))
        # A chunk without the word, such as one that is near in meaning, has none as a whole.
        whole = [key for key in [*keys, *further] if counts.get(key, (0, 0))[0]]
        declared = _declarations(search, whole)
        if is_part:
            promoted = set(whole)
            ordered = [*whole, *(key for key in keys if key not in promoted)]
        else:
            ordered = [
                *keys,
                *(key for key in further if key in declared and declared[key] > Declaration.VALUE),
            ]
        ordered = _declarations_first(ordered, declared)
        # The scores fall as before; those beyond are as low as the last.
        scores = np.pad(search.ranking.scores, (0, len(ordered) - len(keys)), mode="edge")
        return search._replace(ranking=Ranking(np.array(ordered, dtype=np.int64), scores))


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
    return [whole] if is_phrase else []


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
    the shortest path. If some are `ordered`, which knows source code, they keep their order within
    each of these groups, and tests and documents come last. The ranking keeps its length. A
    candidate is left out if its original, which it copies, is promoted.
    Scores are raised above the best of the others.
    """
    scores = dict(zip(ranking.keys.tolist(), ranking.scores.tolist(), strict=True))
    stored = [key for key in dict.fromkeys([*scores, *candidates]) if key in rows]
    found = _native.rows_with_phrases([rows[key] for key in stored], phrases)
    exact = [stored[at] for at in found if _holds(rows[stored[at]].text, phrases)]
    if not exact:
        return ranking
    if originals:
        held = set(exact)
        exact = [key for key in exact if originals.get(key) not in held]
    if len(phrases) == 1 and " " not in phrases[0]:
        exact = _order_named(exact, rows, phrases[0], is_ordered=bool(ordered))
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


def _order_named(
    exact: Sequence[int], rows: Mapping[int, ChunkRow], name: str, *, is_ordered: bool
) -> list[int]:
    """Return chunks that hold a name in their new order; `is_ordered` if source code was ordered.

    In source code definitions come first, then members, entries of documents, uses by the length
    of their paths, tests, and other documents.
    """
    given = [(rows[key].uri, rows[key].text) for key in exact]
    declared = dict(zip(exact, _native.declarations(given, name), strict=True))
    aside = find_aside(rows)

    def cost(key: int) -> tuple[int, int]:
        row = rows[key]
        # A value is given anywhere, as in the calls of tests.
        degree = int(declared[key]) if declared[key] > Declaration.VALUE else 0
        if not is_ordered:
            return -degree, row.uri.count("/")
        if row.kind != "code":
            return (-1 if degree else 2), 0
        if aside[key]:
            return 1, 0
        return -degree, 0 if degree else row.uri.count("/")

    return sorted(exact, key=cost)


def _holds(text: str, phrases: Sequence[str]) -> bool:
    normalized = normalize_text(text)
    return all(occurs(phrase, normalized) for phrase in phrases)


def _declarations(search: Search, keys: list[int]) -> dict[int, Declaration]:
    """Return how the chunks that are source code declare the word, if code is ranked.

    A plain word is the name of local variables anywhere: to give it a value counts as a use. Tests
    come last.
    """
    if "code" not in search.rankings:
        return {}
    rows = search.rows.read(keys)
    aside = find_aside(rows)
    code = {key: row for key, row in rows.items() if row.kind == "code"}
    given = [(row.uri, row.text) for row in code.values()]
    declared = _native.declarations(given, search.query.strip())
    return {
        key: Declaration.NONE if aside[key] else max(each, Declaration.VALUE)
        for key, each in zip(code, declared, strict=True)
    }


def _declarations_first(keys: list[int], declared: Mapping[int, Declaration]) -> list[int]:
    """Return chunks with those of source code in the order of how they declare the word.

    Prose keeps its ranks: who asks for "cookie" may want what is written about it.
    """
    source = [key for key in keys if key in declared]
    ordered = iter(sorted(source, key=declared.__getitem__, reverse=True))
    return [next(ordered) if key in declared else key for key in keys]


def _count(
    search: Search, query: _native.LexicalQuery, keys: Iterable[int]
) -> dict[int, tuple[int, int]]:
    """Return how often each chunk has the word as a whole and within a name."""
    rows = search.rows.read(keys)
    counts = query.count_word([row.text for row in rows.values()])
    return dict(zip(rows, counts, strict=True))
