"""A searcher over chunks in memory, which meets the ports of retrieval and nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crx._native import Pattern
from crx.retrieve.parameters import RankingWeights
from crx.retrieve.ports import Found, Keys, Legs, Matching, Spread
from crx.retrieve.search_state import SearchParameters

# Of a search of few chunks by words.
PARAMETERS = SearchParameters(
    weights=RankingWeights(
        depth=9, dense_weight=0.3, score_share=0.6, rrf_k=5,
        k1=1.2, b=0.75, outline_code=2, outline_named=6,
    ),
    k=3,
    budget_tokens=100,
    window_tokens=100,
    embedder=None,
)  # fmt: skip


@dataclass(frozen=True)
class MemoryChunk:
    key: int
    text: str
    doc: int = 1
    uri: str = "mem:1"
    title: str = ""
    lang: str = "en"
    kind: str = "prose"
    ordinal: int = 0
    start: int = 0
    end: int = 0
    token_start: int = 0
    token_end: int = 0
    outline: str = ""
    context: str = ""


@dataclass(frozen=True)
class MemoryDocument:
    source_mtime_ns: int = 0
    metadata: str = "{}"


@dataclass(frozen=True)
class MemoryPassage:
    hits: list[int]
    text: str
    score: float
    start: int = 0
    end: int = 0
    tokens: int = 0
    lines: tuple[int, int] = (1, 1)
    marks: str = "[]"
    uri: str = "mem:1"
    metadata: str = "{}"


@dataclass(frozen=True)
class MemorySearcher:
    """Both legs find all chunks, in their order, unless a filter is given: then none.

    `reads` are the keys of the chunks that were read, a list for each call.
    """

    rows: Sequence[MemoryChunk]
    langs: Sequence[str] = ("en",)
    reads: list[list[int]] = field(default_factory=list)
    faults: Sequence[str] = ()
    times: Mapping[int, int] = field(default_factory=dict)
    pending: Sequence[int] = ()
    lag: int = 0

    @property
    def documents(self) -> MemorySearcher:
        return self

    @property
    def terms(self) -> MemoryTerms:
        return MemoryTerms(self._found())

    def legs(self, where: Mapping[str, object] | None) -> Legs:
        if where is None:
            return Legs(MemoryTerms(self._found()), MemoryDense(self._found(self.pending)))
        none = (np.empty(0, np.int64), np.empty(0, np.float32))
        return Legs(MemoryTerms(none), MemoryDense(none))

    def has_document(self, where: Mapping[str, object]) -> bool:
        return False

    def matching(self, pattern: Pattern, *, k: int, where: Mapping[str, object] | None) -> Matching:
        keys = [row.key for row in self.rows if pattern.spans(row.text)]
        return Matching(np.array(keys[:k], np.int64), "complete" if len(keys) <= k else "count")

    def without_vector(self, keys: Keys) -> Keys:
        return keys[np.isin(keys, self.pending)]

    def metadata_fields(self) -> set[str]:
        return {"year"}

    def document_by_id(self, doc: int) -> MemoryDocument:
        return MemoryDocument(source_mtime_ns=self.times.get(doc, 0))

    def chunks(self, keys: Iterable[int] | Keys) -> list[MemoryChunk]:
        wanted = list(map(int, keys))
        self.reads.append(wanted)
        return [row for key in wanted for row in self.rows if row.key == key]

    def select_passages(
        self,
        keys: Keys,
        scores: NDArray[np.float32],
        *,
        budget_tokens: int,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
    ) -> list[MemoryPassage]:
        text_of = {row.key: row.text for row in self.rows}
        return [
            MemoryPassage([at], text_of[key], float(score))
            for at, (key, score) in enumerate(zip(keys.tolist(), scores, strict=True))
        ]

    def expand_passages(
        self,
        keys: Keys,
        scores: NDArray[np.float32],
        *,
        budget_tokens: int | None = None,
        window: int | None = None,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
    ) -> list[MemoryPassage]:
        return self.select_passages(keys, scores, budget_tokens=0)

    def _found(self, without: Sequence[int] = ()) -> Found:
        keys = np.array([row.key for row in self.rows if row.key not in without], np.int64)
        return keys, np.linspace(1, 0.5, len(keys), dtype=np.float32)


@dataclass(frozen=True)
class MemoryDense:
    found: Found
    faults: Sequence[str] = ()

    def search(self, query: NDArray[np.float32], *, k: int) -> Found:
        keys, scores = self.found
        return keys[:k], scores[:k]

    def spread(self, queries: NDArray[np.float32]) -> Spread:
        _, scores = self.found
        highest = np.full(len(queries), scores.max(initial=0), np.float32)
        mean = np.full(len(queries), scores.mean() if len(scores) else 0, np.float32)
        return Spread(highest, mean, len(scores))


@dataclass(frozen=True)
class MemoryTerms:
    found: Found

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
        keys, scores = self.found
        return keys[:k], scores[:k]

    def query_terms(
        self, texts: Sequence[str], *, langs: Sequence[str]
    ) -> list[list[tuple[str, float]]]:
        return [[(word, 1.0) for word in text.split()] for text in texts]

    def has_term(self, term: str) -> bool:
        return True

    def are_known(self, words: Sequence[str], *, langs: Sequence[str]) -> list[bool]:
        return [True] * len(words)

    def similar_terms(self, word: str, *, k: int) -> list[str]:
        return []

    def compounds_of(self, part: str, *, k: int) -> list[str]:
        return []

    def chunks_with(self, term: str, *, k: int) -> Keys:
        return np.empty(0, np.int64)

    def containing(self, keys: Keys, *, words: Sequence[str], langs: Sequence[str]) -> Keys:
        return keys
