"""Ports of retrieval: what a search calls of an index, wherever the index is kept.

A folder meets them with the native store and legs (`file_searcher`), an engine with the classes of
`engine.legs`. Keys and scores are best first; equal scores go to the smaller key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from crx import _native
from crx.retrieve.rows import ChunkRow, DocumentRow, PassageRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Keys: TypeAlias = "NDArray[np.int64]"
Found: TypeAlias = "tuple[Keys, NDArray[np.float32]]"
# What ended a search for a pattern: all texts were searched, there are more matches than were
# asked for, or a bound of the search.
MatchingEnd: TypeAlias = Literal["complete", "count", "time", "bytes"]


class Matching(NamedTuple):
    """Chunks in which a match begins, what ended the search, and damaged files, a line each."""

    keys: Keys
    end: MatchingEnd
    faults: Sequence[str] = ()


class LexicalLeg(Protocol):
    """The search of BM25, among the documents that a filter leaves; see `_native.Lexical`."""

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
    ) -> Found: ...


class Spread(NamedTuple):
    """The highest similarity of each of some queries to a chunk, and the mean of all `rows`."""

    highest: NDArray[np.float32]
    mean: NDArray[np.float32]
    rows: int


class DenseLeg(Protocol):
    """The search of vectors, among the documents that a filter leaves.

    `faults` are the damaged files that were found so far, a line each. `spread` is None if a
    search does not compare a query with every vector; see `_native.Dense`.
    """

    @property
    def faults(self) -> Sequence[str]: ...
    def search(self, query: NDArray[np.float32], *, k: int) -> Found: ...
    def spread(self, queries: NDArray[np.float32]) -> Spread | None: ...


class Legs(NamedTuple):
    """Both legs of a search.

    They are searched one after the other if there are so `few` chunks that handing BM25 over to
    another thread would take longer than its search. Without outlines, their weight in BM25
    changes nothing.
    """

    lexical: LexicalLeg
    dense: DenseLeg
    few: bool = False
    has_outlines: bool = True


class TermIndex(LexicalLeg, Protocol):
    """The terms of the whole index; see `_native.Lexical`."""

    def query_terms(
        self, texts: Sequence[str], *, langs: Sequence[str]
    ) -> list[list[tuple[str, float]]]: ...
    def has_term(self, term: str) -> bool: ...
    def are_known(self, words: Sequence[str], *, langs: Sequence[str]) -> list[bool]: ...
    def similar_terms(self, word: str, *, k: int) -> list[str]: ...
    def compounds_of(self, part: str, *, k: int) -> list[str]: ...
    def chunks_with(self, term: str, *, k: int) -> Keys: ...
    def containing(self, keys: Keys, *, words: Sequence[str], langs: Sequence[str]) -> Keys: ...


class DocumentReader(Protocol):
    """The rows of an index; see `_native.Store`. A key or an id without a row is skipped."""

    def chunks(self, keys: Keys) -> Sequence[ChunkRow]: ...
    def document_by_id(self, doc: int) -> DocumentRow | None: ...
    def metadata_fields(self) -> set[str]: ...
    def select_passages(
        self,
        keys: Keys,
        scores: NDArray[np.float32],
        *,
        budget_tokens: int,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
    ) -> Sequence[PassageRow]: ...
    def expand_passages(
        self,
        keys: Keys,
        scores: NDArray[np.float32],
        *,
        budget_tokens: int | None = None,
        window: int | None = None,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
    ) -> Sequence[PassageRow]: ...


class Searcher(Protocol):
    """One committed state of an index: its rows, its terms and its legs.

    `langs` are the languages of the documents, most frequent first.
    """

    @property
    def documents(self) -> DocumentReader: ...
    @property
    def terms(self) -> TermIndex: ...
    @property
    def langs(self) -> Sequence[str]: ...
    @property
    def lag(self) -> int:
        """How many changes of the documents the legs lack."""

    def legs(self, where: Mapping[str, object] | None) -> Legs:
        """Return the legs among the documents that meet a filter; `ValueError` for no filter."""

    def has_document(self, where: Mapping[str, object]) -> bool:
        """Return whether a document meets a filter."""

    def matching(
        self, pattern: _native.Pattern, *, k: int, where: Mapping[str, object] | None
    ) -> Matching:
        """Return at most k chunks in which a match begins, and what ended the search.

        They are in the order of documents. Raises `UsageError` if the index cannot tell.
        """

    def without_vector(self, keys: Keys) -> Keys:
        """Return those of the chunks that should have a vector and have none yet."""

    def chunks(self, keys: Iterable[int]) -> Sequence[ChunkRow]:
        """Return the chunks that a leg found, without those that were removed since.

        Raises `Damaged` if one is missing that cannot have been removed.
        """


class StatusReader(Protocol):
    """What an index holds, and how it is searched; see `types.Status`."""

    @property
    def has_vectors(self) -> bool: ...
    @property
    def exact(self) -> bool: ...
    @property
    def lag(self) -> int: ...
    def counts(self) -> Mapping[str, int]: ...
    def failures(self) -> Sequence[tuple[str, str]]: ...
