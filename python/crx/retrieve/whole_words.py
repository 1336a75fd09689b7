"""Stage of a query of one word: chunks that hold it as it is come before those with names of it.

To BM25, `_apply_xheaders` has the word "xheaders", too. Who asks for one word wants the texts that
have it as a whole, as `grep --word-regexp` finds them. Of those that are source code, the ones that
declare it, as a parameter or a field, come before those that use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from crx import _native
from crx.retrieve.exact import VALUE
from crx.retrieve.search_state import EMPTY, Search
from crx.text.query_terms import analyze_query
from crx.types import Ranking

# Candidates of BM25 whose texts are read, besides those of the ranking.
_DEPTH = 50


def promote_whole_words(search: Search) -> Search:
    """Return the search with the chunks first that have its word as a whole, in order of rank.

    Further candidates of BM25 are among them, so that the ranking may be longer than before. Of a
    word that no name has as a part, source code alone is ordered, with further candidates that
    declare it. Other queries and searches without BM25 change nothing.
    """
    query = analyze_query(search.query)
    keys = search.ranking.keys.tolist()
    if not keys or "bm25" not in search.rankings or not query.is_plain_word:
        return search
    counts = _count(search, query, keys)
    is_part = any(parts for _, parts in counts.values())
    if not is_part and "code" not in search.rankings:
        return search
    left_out = {copy for group in search.copies.values() for copy in group} | _irrelevant(search)
    bm25 = search.rankings["bm25"].keys[:_DEPTH].tolist()
    further = [key for key in bm25 if key not in counts and key not in left_out]
    counts |= _count(search, query, sorted(further))
    # A chunk without the word, such as one that is near in meaning, has none as a whole.
    whole = [key for key in [*keys, *further] if counts.get(key, (0, 0))[0]]
    declared = _declarations(search, whole)
    if is_part:
        promoted = set(whole)
        ordered = [*whole, *(key for key in keys if key not in promoted)]
    else:
        ordered = [*keys, *(key for key in further if declared.get(key, 0) > VALUE)]
    ordered = _declarations_first(ordered, declared)
    # The scores fall as before; those beyond are as low as the last.
    scores = np.pad(search.ranking.scores, (0, len(ordered) - len(keys)), mode="edge")
    return search._replace(ranking=Ranking(np.array(ordered, dtype=np.int64), scores))


def _declarations(search: Search, keys: list[int]) -> dict[int, int]:
    """Return how the chunks that are source code declare the word, if code is ranked.

    A plain word is the name of local variables anywhere: to give it a value counts as a use.
    """
    if "code" not in search.rankings:
        return {}
    word = search.query.strip()
    return {
        key: max(_native.declaration(row.uri, row.text, word), VALUE)
        for key, row in search.rows.read(keys).items()
        if _native.is_source(row.uri, row.text)
    }


def _declarations_first(keys: list[int], declared: Mapping[int, int]) -> list[int]:
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


def _irrelevant(search: Search) -> set[int]:
    """Return the candidates that the reranker has dropped."""
    reranking = search.parameters.reranking
    scored = search.rankings.get("rerank", EMPTY)
    if reranking is None or not reranking.min_relevance:
        return set()
    return set(scored.keys[scored.scores < reranking.min_relevance].tolist())
