"""Searcher of an index folder: the native store and legs at one sequence number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import orjson

from crx import _native
from crx._arrays import to_array
from crx._index.vector_leg import VectorLeg
from crx.errors import Damaged
from crx.retrieve.ports import Found, Legs, Matching, Spread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Chunks of which BM25 is searched in less than half a millisecond, the time of a hand-over between
# two threads of which both run Python.
_FEW_CHUNKS = 20_000


class _FilteredLexical(NamedTuple):
    """The BM25 leg among the documents of a filter."""

    lexical: _native.Lexical
    only: _native.Filter

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
        return self.lexical.search(
            query, k=k, name=name, langs=langs, k1=k1, b=b, weights=weights, only=self.only
        )


class FileDense(NamedTuple):
    """The dense leg, whose files are checked as they are read, among the documents of a filter."""

    dense: VectorLeg
    store: _native.Store
    only: _native.Filter | None = None

    @property
    def faults(self) -> Sequence[str]:
        """The damaged files that were found so far, a line each."""
        return self.dense.faults

    def search(self, query: NDArray[np.float32], *, k: int) -> Found:
        """Return the k chunks whose vectors have the largest inner product with the (d,) query.

        If a part of a file turns out to be damaged, what the file holds is read from the store, and
        `faults` names the file.
        """
        try:
            return self.dense.search(query, k=k, only=self.only)
        except Damaged:
            self.dense.sync(self.store)
            return self.dense.search(query, k=k, only=self.only)

    def spread(self, queries: NDArray[np.float32]) -> Spread | None:
        """Return the highest and the mean similarity of (n, d) queries, in C order, to chunks."""
        found = self.dense.spread(queries, only=self.only)
        return found and Spread(*found)


class FileSearcher(NamedTuple):
    """The store and the legs of a folder, which hold its changes up to `seq`.

    `trigrams` tell which texts may match a pattern. `langs` are the languages of the documents,
    most frequent first. If it is `complete`, the store has every chunk that a leg finds, or is
    damaged.
    """

    store: _native.Store
    lexical: _native.Lexical
    dense: VectorLeg
    trigrams: _native.Trigrams
    seq: int
    langs: Sequence[str]
    complete: bool

    @property
    def documents(self) -> _native.Store:
        """The rows of the index."""
        return self.store

    @property
    def terms(self) -> _native.Lexical:
        """The terms of the index."""
        return self.lexical

    @property
    def has_vectors(self) -> bool:
        """Whether any chunk has a vector."""
        return len(self.dense) > 0

    @property
    def exact(self) -> bool:
        """Whether the dense leg compares the query with every vector."""
        return self.dense.exact

    @property
    def lag(self) -> int:
        """How many changes of the store the legs lack."""
        return self.store.seq - self.seq

    def counts(self) -> Mapping[str, int]:
        """Return counts by name; see `_native.Store.stats`."""
        return self.store.stats()

    def failures(self) -> Sequence[tuple[str, str]]:
        """Return the URI of each input that could not be read, and the reason."""
        return self.store.failures()

    def legs(self, where: Mapping[str, object] | None) -> Legs:
        """Return the legs among the documents that meet a filter; `ValueError` for no filter."""
        few = len(self.lexical) <= _FEW_CHUNKS
        has_outlines = self.lexical.lengths[1] > 0
        if where is None:
            return Legs(self.lexical, FileDense(self.dense, self.store), few, has_outlines)
        only = self._select(where)
        dense = FileDense(self.dense, self.store, only)
        return Legs(_FilteredLexical(self.lexical, only), dense, few, has_outlines)

    def has_document(self, where: Mapping[str, object]) -> bool:
        """Return whether a document meets a filter."""
        return len(self._select(where)) > 0

    def matching(
        self, pattern: _native.Pattern, *, k: int, where: Mapping[str, object] | None
    ) -> Matching:
        """Return at most k chunks in which a match begins, and what ended the search."""
        known_faults = len(self.trigrams.faults)
        only = self._select(where) if where else None
        keys, end = self.store.matching(pattern, trigrams=self.trigrams, k=k, only=only)
        return Matching(keys, end, self.trigrams.faults[known_faults:])

    def without_vector(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the chunks that should have a vector and have none yet."""
        if len(self.dense) >= len(self.lexical):
            return keys[:0]
        return self.store.without_vector(keys)

    def chunks(self, keys: Iterable[int]) -> Sequence[_native.ChunkRow]:
        """Return the chunks that a leg found, without those that were removed since.

        Raises `Damaged` if one is missing that cannot have been removed.
        """
        wanted = list(keys)
        found = self.store.chunks(to_array(wanted, "int64"))
        if self.complete and len(found) < len(wanted):
            what = f"chunk {min(set(wanted) - {row.key for row in found})} is missing"
            raise Damaged(f"{self.store.path}: {what}; `crx verify` lists every fault")
        return found

    def _select(self, where: Mapping[str, object]) -> _native.Filter:
        return self.store.select(orjson.dumps(where).decode())
