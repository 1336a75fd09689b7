"""Steps of exclusion: the query without what it excludes, and legs without chunks that hold it.

A word is excluded in each of its inflections, an identifier or a phrase as it is written, in any
case. The title of a document counts as a part of each of its chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx._text.phrases import inner_words, normalize_text, occurs
from crx.retrieve._query.spelling import find_function_words
from crx.retrieve.operators import parse_words
from crx.retrieve.ports import DenseLeg, Found, Keys, LexicalLeg, TermIndex
from crx.retrieve.search_state import ChunkRows, Search
from crx.types import Note

# A leg is asked for more chunks until enough are left, four times as many each time, up to this.
_DEEPER = 4
_DEEPEST = 40_000
# Chunks in which an option is looked for: those of the whole query, which has its words.
_OPTION_DEPTH = 50
# An operator elsewhere, between words of a meaning of their own; questions emphasise the word.
_NOT = re.compile(r"(.+?) (?:AND )?NOT (\w[\w-]*|\"[^\"]+\")")


def parse_query(search: Search) -> Search:
    """Return the search with the words of its query, and what it excludes.

    An option of a command, such as `-crf`, is searched for if a document has it. A note says that
    `NOT draft` is no operator.
    """
    negated = None if search.query.isupper() else _NOT.fullmatch(search.query)
    if negated and find_function_words(search.query, []).isdisjoint(negated[1].casefold().split()):
        note = f'"NOT" is searched for as a word; -{negated[2]} leaves out passages that hold it'
        search = search.noting(Note(note, "query"))
    words = parse_words(search.query)
    if not words.excluded:
        return search
    if words.options and (options := _options_of_documents(search, words.options)):
        words = parse_words(search.query, kept=options)
        quoted = " and ".join(f'"-{each}"' for each in options)
        note = f'searched for {quoted}, which documents have; -"{options[0]}" leaves it out'
        search = search.noting(Note(note, "query"))
    return search._replace(query=words.text, excluded=words.excluded)


def _options_of_documents(search: Search, words: Sequence[str]) -> list[str]:
    """Return the words that the best chunks of the whole query have as an option, with a dash."""
    weights, langs = search.parameters.weights, search.searcher.langs
    keys, _ = search.legs.lexical.search(
        search.query, k=_OPTION_DEPTH, langs=langs, k1=weights.k1, b=weights.b
    )
    texts = [row.text for row in search.rows.read(keys.tolist()).values()]
    options = {each: re.compile(rf"(?<![\w-])-{re.escape(each)}(?![\w-])") for each in words}
    return [word for word, option in options.items() if any(map(option.search, texts))]


def exclude_chunks(search: Search) -> Search:
    """Return the search with legs that leave out what the query excludes, and a note."""
    if not search.excluded:
        return search
    searcher = search.searcher
    exclusion = Exclusion(search.excluded, searcher.langs, searcher.terms, search.rows, {})
    legs = search.legs._replace(
        lexical=_ExcludingLexical(search.legs.lexical, exclusion),
        dense=_ExcludingDense(search.legs.dense, exclusion),
    )
    excluded = " or ".join(f'"{each}"' for each in search.excluded)
    quoted = f'"-{search.excluded[0]}"'
    note = f"without passages that hold {excluded}; to search for {quoted}, put it in quotes"
    return search._replace(legs=legs).noting(Note(note, "query"))


def holds_excluded(text: str, excluded: Sequence[str], *, langs: Sequence[str]) -> bool:
    """Return whether a text, whose language is one of some, holds one of some words or phrases."""
    return any(_holds(text, each, langs=langs) for each in excluded)


class Exclusion(NamedTuple):
    """What a query excludes, and whether each chunk that was asked for holds it."""

    excluded: Sequence[str]
    langs: Sequence[str]
    terms: TermIndex
    rows: ChunkRows
    known: dict[int, bool]

    def search(self, leg: Callable[..., Found], *, k: int) -> Found:
        """Return the best k chunks of a leg, which is called with `k`, that hold none of it."""
        depth = k
        while True:
            keys, scores = leg(k=depth)
            kept = self._kept(keys)
            if kept.sum() >= k or len(keys) < depth or depth >= _DEEPEST:
                return keys[kept][:k], scores[kept][:k]
            depth = min(_DEEPER * depth, _DEEPEST)

    def _kept(self, keys: Keys) -> NDArray[np.bool_]:
        unknown = np.array([key for key in keys.tolist() if key not in self.known], np.int64)
        rows = self.rows.read(unknown.tolist())
        suspects = [(each, self._suspects(each, unknown)) for each in self.excluded]
        for key in unknown.tolist():
            row = rows.get(key)
            self.known[key] = row is not None and any(
                _holds(row.title, each, langs=[row.lang])
                or (key in keys_of and _holds(row.text, each, langs=[row.lang]))
                for each, keys_of in suspects
            )
        return np.array([not self.known[key] for key in keys.tolist()], dtype=np.bool_)

    def _suspects(self, excluded: str, keys: Keys) -> Collection[int]:
        """Return those of the chunks whose text may hold a word or a phrase."""
        words = [excluded] if _is_word(excluded) else inner_words([normalize_text(excluded)])
        if not words:
            return set(keys.tolist())
        return set(self.terms.containing(keys, words=words, langs=["", *self.langs]).tolist())


class _ExcludingLexical(NamedTuple):
    """The BM25 leg without chunks that hold what the query excludes."""

    leg: LexicalLeg
    exclusion: Exclusion

    def search(
        self,
        query: str,
        *,
        k: int,
        name: str = "",
        langs: Sequence[str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
    ) -> Found:
        """Return the best k chunks and their scores, as `_native.Lexical.search`."""
        leg = partial(self.leg.search, query, name=name, langs=langs, k1=k1, b=b, weights=weights)
        return self.exclusion.search(leg, k=k)


class _ExcludingDense(NamedTuple):
    """The dense leg without chunks that hold what the query excludes."""

    leg: DenseLeg
    exclusion: Exclusion

    @property
    def faults(self) -> Sequence[str]:
        """The damaged files that were found so far, a line each."""
        return self.leg.faults

    def search(self, query: NDArray[np.float32], *, k: int) -> Found:
        """Return the k chunks whose vectors have the largest inner product with the query."""
        return self.exclusion.search(partial(self.leg.search, query), k=k)

    def spread(self, queries: NDArray[np.float32]) -> None:
        """Return None: which chunks are left is not known before they are read."""


def _is_word(excluded: str) -> bool:
    """Return whether it is one word; identifiers and unspaced texts have several terms."""
    return excluded.isalpha() and len(_native.analyze(excluded)) == 1


def _holds(text: str, excluded: str, *, langs: Sequence[str]) -> bool:
    if not _is_word(excluded):
        return occurs(normalize_text(excluded), normalize_text(text))
    return any(
        not set(_native.analyze(excluded, lang)).isdisjoint(_native.analyze(text, lang))
        for lang in dict.fromkeys(langs or [""])
    )
