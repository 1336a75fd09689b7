"""One committed state of several index folders, read as if it were that of one index.

Document frequencies, the number of chunks and their mean length are those of all folders together,
so that a chunk has the score that it would have in one index of all documents. The number of a
chunk or document here is `number * count + folder`, of its number there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx._index.file_searcher import FileSearcher
from crx.retrieve.ports import DenseLeg, Legs, Matching, MatchingEnd, Spread
from crx.types import Ranking
from crx_engines.engine.legs import EngineDense, EngineDocuments, EngineLexical
from crx_engines.engine.protocol import (
    CollectionStatistics,
    Conditions,
    FoundChunk,
    FoundDocument,
    FoundSpan,
    Saturation,
    StoredDocument,
)
from crx_engines.folder.local_engine import LocalSnapshot, found_chunk

# What ends a search for a pattern before all texts are searched.
_UNFINISHED: tuple[MatchingEnd, ...] = ("time", "bytes")


class JointSnapshot:
    """The states of several folders; see `engine.protocol.EngineSnapshot`."""

    missing = ()

    def __init__(self, searchers: Sequence[FileSearcher]) -> None:
        self._count = len(searchers)
        self._searchers = searchers
        self._parts = [LocalSnapshot(each.store, each.lexical, each.dense) for each in searchers]

    @property
    def exact(self) -> bool:
        """Whether `dense_topk` compares the query with every vector."""
        return all(part.exact for part in self._parts)

    def stats(self) -> CollectionStatistics:
        """Return the sums of the statistics of all folders; they are read once."""
        return self._stats

    @cached_property
    def _stats_of_parts(self) -> list[CollectionStatistics]:
        return [part.stats() for part in self._parts]

    @cached_property
    def _stats(self) -> CollectionStatistics:
        stats = self._stats_of_parts
        langs: Counter[str] = Counter()
        for searcher in self._searchers:
            langs.update(dict(searcher.store.chunks_by_lang()))
        lengths = [each.lengths for each in stats]
        text, outline, context = (sum(column) for column in zip(*lengths, strict=True))
        return CollectionStatistics(
            documents=sum(each.documents for each in stats),
            chunks=sum(each.chunks for each in stats),
            vectors=sum(each.vectors for each in stats),
            pending=sum(each.pending for each in stats),
            tokens=sum(each.tokens for each in stats),
            outcomes=dict(sum((Counter(each.outcomes) for each in stats), Counter[str]())),
            lengths=(text, outline, context),
            langs=tuple(lang for lang, _ in langs.most_common()),
            version=sum(each.version for each in stats),
        )

    def doc_freqs(self, terms: Sequence[str], *, saturation: Saturation) -> list[int]:
        """Return how many chunks hold each term in a field of positive weight."""
        counts = [part.doc_freqs(terms, saturation=saturation) for part in self._parts]
        return [sum(each) for each in zip(*counts, strict=True)]

    def dense_topk(
        self, vector: NDArray[np.float32], *, k: int, where: Conditions | None
    ) -> Ranking:
        """Return the k chunks of largest inner product: the best of the best k of each folder."""
        found = [
            part.dense_topk(vector, k=k, where=where) if searcher.has_vectors else None
            for part, searcher in zip(self._parts, self._searchers, strict=True)
        ]
        return self._merge(found, k=k)

    def sparse_topk(
        self,
        weights: Sequence[tuple[str, float]],
        *,
        k: int,
        saturation: Saturation,
        where: Conditions | None,
    ) -> Ranking:
        """Return the k chunks of largest inner product: the best of the best k of each folder."""
        mean = self.stats().mean_length(saturation)
        found = [
            part.sparse_topk(
                weights,
                k=k,
                saturation=_with_mean_length(
                    saturation, own=stats.mean_length(saturation), mean=mean
                ),
                where=where,
            )
            for part, stats in zip(self._parts, self._stats_of_parts, strict=True)
        ]
        return self._merge(found, k=k)

    def rows(self, keys: Sequence[int]) -> list[FoundChunk]:
        """Return the chunks of these keys, in their order; one that was removed is skipped."""
        rows = {
            self._join(row.key, at): replace(
                found_chunk(row), key=self._join(row.key, at), doc=self._join(row.doc, at)
            )
            for at, own in self._split(keys).items()
            for row in self._searchers[at].chunks(own)
        }
        return [rows[key] for key in keys if key in rows]

    def documents(self, docs: Sequence[int]) -> list[FoundDocument]:
        """Return the documents of these ids, in any order."""
        return [
            replace(each, doc=self._join(each.doc, at))
            for at, own in self._split(docs).items()
            for each in self._parts[at].documents(own)
        ]

    def neighbours(
        self, positions: Sequence[tuple[int, int]], *, each_side: int
    ) -> NDArray[np.int64]:
        """Return the layout around (document, ordinal) pairs, (n, 7), in ascending order."""
        own: dict[int, list[tuple[int, int]]] = {}
        for doc, ordinal in positions:
            number, at = divmod(doc, self._count)
            own.setdefault(at, []).append((number, ordinal))
        layouts = [np.empty((0, 7), np.int64)]
        for at, pairs in own.items():
            layout = self._parts[at].neighbours(pairs, each_side=each_side)
            layout[:, 0] = layout[:, 0] * self._count + at
            layouts.append(layout)
        joined = np.concatenate(layouts)
        return joined[np.lexsort((joined[:, 1], joined[:, 0]))]

    def spans(self, spans: Sequence[tuple[int, int, int]]) -> list[FoundSpan]:
        """Return the text of each (document, start, end), with its lines and marks."""
        return [
            self._parts[doc % self._count].spans([(doc // self._count, start, end)])[0]
            for doc, start, end in spans
        ]

    def fields(self) -> set[str]:
        """Return the names of the fields of the documents' metadata."""
        return set().union(*(part.fields() for part in self._parts))

    def has_document(self, *, where: Conditions) -> bool:
        """Return whether a document meets a filter."""
        return any(part.has_document(where=where) for part in self._parts)

    def digests(self, *, where: Conditions | None) -> dict[str, bytes]:
        """Return the digest of each document, by URI; of equal URIs, that of the last folder."""
        found = (part.digests(where=where) for part in self._parts)
        return {uri: digest for part in found for uri, digest in part.items()}

    def read(self, uri: str) -> StoredDocument | None:
        """Return the document of the first folder that has it, None if none has."""
        return next(filter(None, (part.read(uri) for part in self._parts)), None)

    def folder_of(self, key: int) -> tuple[int, int]:
        """Return the position of the folder of a chunk, and the key there."""
        number, at = divmod(key, self._count)
        return at, number

    def merge_keys(self, found: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the keys here of keys of each folder, one folder after another."""
        return np.concatenate([keys * self._count + at for at, keys in enumerate(found)])

    def split_keys(self, keys: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the keys in each folder of keys here."""
        return [keys[keys % self._count == at] // self._count for at in range(self._count)]

    def _join(self, number: int, at: int) -> int:
        return number * self._count + at

    def _split(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        own: dict[int, list[int]] = {}
        for each in numbers:
            number, at = divmod(int(each), self._count)
            own.setdefault(at, []).append(number)
        return own

    def _merge(self, found: Sequence[Ranking | None], *, k: int) -> Ranking:
        ranked = [(at, each) for at, each in enumerate(found) if each is not None]
        keys = np.concatenate(
            [np.empty(0, np.int64), *(each.keys * self._count + at for at, each in ranked)]
        )
        scores = np.concatenate([np.empty(0, np.float32), *(each.scores for _, each in ranked)])
        order = np.lexsort((keys, -scores))[:k]
        return Ranking(keys[order], scores[order])


def _best_of_each(found: Iterable[list[str]], *, k: int) -> list[str]:
    ranked = filter(None, chain.from_iterable(zip_longest(*found)))
    return list(dict.fromkeys(ranked))[:k]


@dataclass(frozen=True, slots=True)
class JointTerms:
    """The terms of several folders; see `retrieve.ports.TermIndex`."""

    snapshot: JointSnapshot
    folders: Sequence[FileSearcher]

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
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the best k chunks and their scores, as `_native.Lexical.search`."""
        lexical = EngineLexical(self.snapshot)
        return lexical.search(query, k=k, name=name, langs=langs, k1=k1, b=b, weights=weights)

    def query_terms(
        self, texts: Sequence[str], *, langs: Sequence[str]
    ) -> list[list[tuple[str, float]]]:
        """Return the terms of each text, as `_native.Lexical.query_terms`."""
        return _native.query_terms(texts, langs=langs)

    def has_term(self, term: str) -> bool:
        """Return whether any chunk holds a term."""
        return any(folder.lexical.has_term(term) for folder in self.folders)

    def are_known(self, words: Sequence[str], *, langs: Sequence[str]) -> list[bool]:
        """Return whether any chunk holds a term of each word."""
        found = [folder.lexical.are_known(words, langs=langs) for folder in self.folders]
        return [any(known) for known in zip(*found, strict=True)]

    def similar_terms(self, word: str, *, k: int) -> list[str]:
        """Return at most k terms that are spelled like a word, the best of each folder first."""
        return _best_of_each((each.lexical.similar_terms(word, k=k) for each in self.folders), k=k)

    def compounds_of(self, part: str, *, k: int) -> list[str]:
        """Return at most k terms that have a part of a word, the best of each folder first."""
        return _best_of_each((each.lexical.compounds_of(part, k=k) for each in self.folders), k=k)

    def chunks_with(self, term: str, *, k: int) -> NDArray[np.int64]:
        """Return at most k chunks that have a term, one folder after another."""
        found = (folder.lexical.chunks_with(term, k=k) for folder in self.folders)
        return self.snapshot.merge_keys(found)[:k]

    def containing(
        self, keys: NDArray[np.int64], *, words: Sequence[str], langs: Sequence[str]
    ) -> NDArray[np.int64]:
        """Return those of the chunks, in their order, whose text holds all words."""
        own = self.snapshot.split_keys(keys)
        found = self.snapshot.merge_keys(
            folder.lexical.containing(part, words=words, langs=langs)
            for folder, part in zip(self.folders, own, strict=True)
        )
        return keys[np.isin(keys, found)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDense(EngineDense):
    """The dense leg of several folders, whose own legs are the `parts`."""

    parts: Sequence[DenseLeg]

    def spread(self, queries: NDArray[np.float32]) -> Spread | None:
        """Return the spread over the chunks of all folders, None if that of a folder is unknown."""
        found = [part.spread(queries) for part in self.parts]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        highest = np.max([each.highest for each in known], axis=0)
        rows = sum(each.rows for each in known)
        total = sum(each.rows * each.mean for each in known)
        return Spread(highest, np.asarray(total / max(rows, 1), np.float32), rows)


@dataclass(frozen=True, slots=True)
class JointSearcher:
    """Several folders as one; see `retrieve.ports.Searcher`."""

    snapshot: JointSnapshot
    folders: Sequence[FileSearcher]

    @staticmethod
    def over(folders: Sequence[FileSearcher]) -> JointSearcher:
        """Return the searcher over some folders."""
        return JointSearcher(JointSnapshot(folders), folders)

    @property
    def documents(self) -> EngineDocuments:
        """The rows of all folders."""
        return EngineDocuments(self.snapshot)

    @property
    def terms(self) -> JointTerms:
        """The terms of all folders."""
        return JointTerms(self.snapshot, self.folders)

    @property
    def langs(self) -> Sequence[str]:
        """The languages of the documents, most frequent first."""
        return self.snapshot.stats().langs

    @property
    def lag(self) -> int:
        """How many changes of their documents the legs of all folders lack."""
        return sum(folder.lag for folder in self.folders)

    def legs(self, where: Mapping[str, object] | None) -> Legs:
        """Return the legs among the documents that meet a filter."""
        dense = [folder.legs(where).dense for folder in self.folders]
        return Legs(
            EngineLexical(self.snapshot, where), JointDense(self.snapshot, where, parts=dense)
        )

    def has_document(self, where: Mapping[str, object]) -> bool:
        """Return whether a document meets a filter."""
        return self.snapshot.has_document(where=where)

    def matching(
        self, pattern: _native.Pattern, *, k: int, where: Mapping[str, object] | None
    ) -> Matching:
        """Return at most k chunks in which a match begins, and what ended the search."""
        found = [folder.matching(pattern, k=k, where=where) for folder in self.folders]
        keys = self.snapshot.merge_keys(each.keys for each in found)
        faults = [fault for each in found for fault in each.faults]
        ended = {each.end for each in found}
        if unfinished := next((each for each in _UNFINISHED if each in ended), None):
            return Matching(keys[:k], unfinished, faults)
        end: MatchingEnd = "count" if "count" in ended or len(keys) > k else "complete"
        return Matching(keys[:k], end, faults)

    def without_vector(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the chunks that should have a vector and have none yet."""
        own = self.snapshot.split_keys(keys)
        found = (
            folder.without_vector(part) for folder, part in zip(self.folders, own, strict=True)
        )
        return self.snapshot.merge_keys(found)

    def chunks(self, keys: Iterable[int]) -> list[FoundChunk]:
        """Return the chunks that a leg found; raises `Damaged` as `FileSearcher.chunks`."""
        return self.snapshot.rows(list(keys))


def _with_mean_length(saturation: Saturation, *, own: float, mean: float) -> Saturation:
    """Return the parameters by which a folder divides lengths by another mean than its own.

    `k1 (1 - b + b len' / mean)` is `k (1 - c + c len' / own)` for `k (1 - c) = k1 (1 - b)` and
    `k c / own = k1 b / mean`.
    """
    fixed = saturation.k1 * (1 - saturation.b)
    by_length = saturation.k1 * saturation.b * (own / mean if mean else 1.0)
    k1 = fixed + by_length
    return replace(saturation, k1=k1, b=by_length / k1 if k1 else saturation.b)
