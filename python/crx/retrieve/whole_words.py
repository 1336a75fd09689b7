"""Stage of a query of one word: chunks that hold it as it is come before those with names of it.

To BM25, `_apply_xheaders` has the word "xheaders", too. Who asks for one word wants the texts that
have it as a whole, as `grep --word-regexp` finds them.
"""

from __future__ import annotations

import numpy as np

from crx.retrieve.query_terms import count_word, is_plain_word
from crx.retrieve.search_state import EMPTY, Search
from crx.types import Ranking

# Candidates of BM25 whose texts are read, besides those of the ranking.
_DEPTH = 50


def promote_whole_words(search: Search) -> Search:
    """Return the search with the chunks first in which most occurrences of its word are whole.

    Other queries, and words that no name has as a part, change nothing.
    """
    word = search.query.strip()
    keys = search.ranking.keys.tolist()
    if not keys or not is_plain_word(word):
        return search
    rows = search.rows.read(keys)
    counts = {key: count_word(row.text, word) for key, row in rows.items()}
    if not any(parts for _, parts in counts.values()):
        return search
    copies = {copy for group in search.copies.values() for copy in group}
    bm25 = search.rankings.get("bm25", EMPTY).keys[:_DEPTH].tolist()
    further = [key for key in bm25 if key not in counts and key not in copies]
    counts |= {
        key: count_word(row.text, word) for key, row in search.rows.read(sorted(further)).items()
    }
    # In a chunk without the word, such as one that is near in meaning, none is a part.
    whole = [key for key in [*keys, *further] if _is_whole(*counts.get(key, (0, 0)))]
    ordered = [*whole, *(key for key in keys if key not in set(whole))][: len(keys)]
    ranking = search.ranking
    # The scores fall as before.
    return search._replace(ranking=Ranking(np.array(ordered, dtype=np.int64), ranking.scores))


def _is_whole(whole: int, parts: int) -> bool:
    return whole > parts
