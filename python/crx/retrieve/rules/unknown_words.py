"""Rule for a query whose words no document has: hits of the dense leg above a floor, or none.

Every text has a nearest chunk, also one about something else. The floor tells what is near from
what is merely the nearest. It depends on the embedder and on the index: the margin of a query is by
how much the nearest chunk is more similar to it than the chunks are on the average, and the floor
is one and a half times the median of the margins of arbitrary queries. Half of the mean of
arbitrary queries is subtracted from a query's vector before, which leaves more of what sets this
query apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx._text.query_terms import wholes_of
from crx.errors import Unavailable
from crx.retrieve._query.spelling import find_function_words, is_known_word
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.ports import DenseLeg, Keys
from crx.retrieve.query_language import is_foreign
from crx.retrieve.search_notes import (
    NEAR_IN_MEANING,
    NO_SUCH_WORDS,
    NO_SUCH_WORDS_YET,
    NOTHING_NEAR,
    QUERY_WITHOUT_WORD,
    parts_alone,
)
from crx.retrieve.search_state import ALL, EMPTY, Search
from crx.types import Ranking

# Queries about anything and about nothing.
ARBITRARY_QUERIES = (
    "how to prune apple trees in winter",
    "best running shoes for flat feet",
    "what causes tinnitus in one ear",
    "bado repuli",
    "vosina tekamo lu",
    "zutelano pihe wado rusi",
    "what is the capital of australia",
    "how do I change a flat tire",
    "symptoms of vitamin d deficiency",
    "best pizza dough recipe",
    "history of the roman empire",
    "how to learn the guitar",
    "cheap flights to tokyo in may",
    "explain quantum entanglement simply",
    "price of a used bicycle",
    "how long to boil an egg",
    "ways to fall asleep faster",
    "who won the last world cup",
    "comment tailler un rosier",
    "recette de la tarte aux pommes",
    "pourquoi le ciel est bleu",
    "wie backe ich brot",
    "capital gains tax rules",
    "train a puppy to sit",
    "remove red wine from a carpet",
    "dosage of ibuprofen for adults",
    "mirolu tasek",
    "pelino vatu korim",
    "nalo bestu fira",
)
# Fewer chunks have no distribution; more are not compared for it.
FEWEST_CHUNKS = 20
_MOST_CHUNKS = 100_000
# Texts that are compared with an identifier, which may be the beginning of a longer one.
_COMPARED = 20

_WORD = re.compile(r"\w+")
# Files are found by their names, which stand in no text.
_PATH = re.compile(r"[/\\]|\.[A-Za-z]\w{0,5}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownWords:
    """Which hits of the dense leg are near, if no document has the words of the query.

    `common_share` of the mean of arbitrary queries is subtracted from a query: of 0, 0.5 and 1,
    with two embedders and five sets, 0.5 told own questions from foreign ones best. The floor is
    `floor` times the median margin of arbitrary queries: from 1.4 to 1.6, and with twelve or twenty
    of the queries, the results hardly differ.
    """

    name: ClassVar[str] = "unknown_words"
    reads: ClassVar[int] = ALL
    common_share: float = 0.5
    floor: float = 1.5

    def applies(self, search: Search) -> bool:
        """Return whether BM25 was searched; what is excluded may be what has the words."""
        return "bm25" in search.rankings and not search.excluded

    def apply(self, search: Search) -> Search:
        """Return the search with what is near in meaning alone, if no document has its words.

        Function words do not count, unless the query has no others. The hits of the dense leg are
        not compared with the floor if the query is in a language that no document is in, so that
        words cannot be found, or if the leg cannot compare the query with every chunk. A query
        without letters and digits finds nothing. Of an identifier or a code that no document has as
        a whole, it is said that what is found has parts of it.
        """
        bm25, dense = search.rankings["bm25"], search.rankings.get("dense")
        if _has_words(search, bm25):
            word = search.query.strip()
            only_parts = _is_unknown_whole(word, search) and not _is_in_texts(word, search, bm25)
            return search.noting(parts_alone(word) if only_parts else "")
        if not _WORD.search(search.query):
            return _with_legs(search, {"bm25": EMPTY}).noting(QUERY_WITHOUT_WORD)
        # What shares function words with the query alone is not found by its words.
        if dense is None or not len(dense.keys):
            # A filter that no document meets, and an index without documents, are told by
            # themselves.
            searcher = search.searcher
            is_empty = not searcher.langs and not searcher.has_document({})
            is_told = search.request.where or is_empty
            note = NO_SUCH_WORDS_YET if searcher.lag else NO_SUCH_WORDS
            found = _with_legs(search, {**search.rankings, "bm25": EMPTY})
            return found.noting("" if is_told else note)
        foreign = is_foreign(search.query, search.searcher.langs)
        near = dense if foreign else self._above_floor(search, dense)
        note = NEAR_IN_MEANING if len(near.keys) else NOTHING_NEAR
        return _with_legs(search, {**search.rankings, "bm25": EMPTY, "dense": near}).noting(note)

    def _above_floor(self, search: Search, dense: Ranking) -> Ranking:
        embedder = search.parameters.embedder
        assert embedder is not None, "a dense ranking, and no embedder"
        try:
            (vector,) = embedder.embed([search.query], query=True)
            arbitrary = embedder.embed(ARBITRARY_QUERIES, query=True)
        except Unavailable:
            return dense
        near = self.keys_above_floor(vector, arbitrary, search.legs.dense)
        if near is None:
            return dense
        kept = np.isin(dense.keys, near)
        return Ranking(dense.keys[kept], dense.scores[kept])

    def keys_above_floor(
        self, vector: NDArray[np.float32], arbitrary: NDArray[np.float32], leg: DenseLeg
    ) -> Keys | None:
        """Return the chunks above the floor, None if it cannot be computed.

        `arbitrary` are the vectors of arbitrary queries.
        """
        others = (arbitrary.sum(axis=0) - arbitrary) / (len(arbitrary) - 1)
        spread = leg.spread(self._distinctive(arbitrary, others))
        if spread is None:
            return None
        keys, scores = leg.search(self._distinctive(vector, arbitrary.mean(axis=0)), k=_MOST_CHUNKS)
        # As many as the limit are the nearest of more, and say nothing of the others.
        if not FEWEST_CHUNKS <= len(keys) < _MOST_CHUNKS or not scores.std():
            return None
        floor = self.floor * float(np.median(spread.highest - spread.mean))
        return keys[scores > float(scores.mean()) + floor]

    def _distinctive(
        self, vectors: NDArray[np.float32], common: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        return np.ascontiguousarray(vectors - self.common_share * common, np.float32)


def _with_legs(search: Search, rankings: Mapping[str, Ranking]) -> Search:
    """Return the search with other rankings of its legs, and with these fused."""
    fused = fuse_legs(search._replace(rankings=rankings))
    return search._replace(rankings=fused.rankings, ranking=fused.ranking)


def _has_words(search: Search, bm25: Ranking) -> bool:
    if not len(bm25.keys):
        return False
    searcher = search.searcher
    function_words = find_function_words(search.query, searcher.langs)
    words = _WORD.findall(search.query)
    content = [word for word in words if word.casefold() not in function_words]
    if not content or len(content) == len(words):
        return True
    is_known = partial(is_known_word, terms=searcher.terms, langs=searcher.langs)
    if not any(map(is_known, content)):
        return False
    if not search.request.where:
        return True
    keys, _ = search.legs.lexical.search(" ".join(content), k=1, langs=searcher.langs)
    return len(keys) > 0


def _is_unknown_whole(word: str, search: Search) -> bool:
    """Return whether a query is one word of several terms, and no document has the whole."""
    if wholes_of(word) != [word] or _PATH.search(word):
        return False
    searcher = search.searcher
    wholes = {_whole_term(word, lang) for lang in ("", "en", *searcher.langs)}
    return "" not in wholes and not any(map(searcher.terms.has_term, wholes))


def _whole_term(word: str, lang: str) -> str:
    """Return the term of a word as a whole, "" if it has terms of its parts alone."""
    joined = _native.analyze(re.sub(r"[\W_]+", "", word), lang)[:1]
    found = (term for term in _native.analyze(word, lang) if [term] == joined or not term.isalnum())
    return next(found, "")


def _is_in_texts(word: str, search: Search, bm25: Ranking) -> bool:
    asked = word.casefold()
    rows = search.rows.read(bm25.keys[:_COMPARED].tolist()).values()
    return any(asked in row.text.casefold() or asked in row.uri.casefold() for row in rows)
