"""Reads of a committed state of each server of an index on several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crx.errors import SystemFailure
from crx.types import Ranking
from crx_engines.engine.protocol import (
    CollectionStatistics,
    Conditions,
    FoundChunk,
    FoundDocument,
    FoundSpan,
    Saturation,
    StoredDocument,
    digest_of,
)
from crx_engines.engine.sums import make_statistics
from crx_engines.postgres.snapshot import PostgresSnapshot
from crx_engines.rankings import best_ranking

_P = TypeVar("_P")
_T = TypeVar("_T")


class ShardedSnapshot:
    """The snapshots of the servers that answer.

    The number of a chunk or document here is `number * count + server`, of its number there.
    """

    def __init__(
        self,
        shards: Mapping[int, PostgresSnapshot],
        *,
        shard_of: Callable[[str], int],
        count: int,
        threads: Executor,
        missing: tuple[str, ...],
    ) -> None:
        self._shards = shards
        self._shard_of = shard_of
        self._count = count
        self._threads = threads
        self._missing = missing

    @property
    def missing(self) -> tuple[str, ...]:
        """What is left out of answers because a server is down: a line for each."""
        return self._missing

    @property
    def exact(self) -> bool:
        """Whether `dense_topk` compares the query with every vector."""
        return all(shard.exact for shard in self._shards.values())

    def stats(self) -> CollectionStatistics:
        """Return the sums of the statistics of all servers; they are read once."""
        return self._stats

    @cached_property
    def _stats(self) -> CollectionStatistics:
        read = self._on_each(lambda shard: (shard.totals(), shard.version()))
        totals: Counter[str] = Counter()
        for each, _ in read.values():
            totals.update(each)
        versions = repr(sorted((at, version) for at, (_, version) in read.items()))
        version = int.from_bytes(digest_of(versions.encode())[:8], "little", signed=True)
        return make_statistics(totals, version=version)

    def doc_freqs(self, terms: Sequence[str], *, saturation: Saturation) -> list[int]:
        """Return how many chunks hold each term in a field of positive weight."""
        counts = self._on_each(lambda shard: shard.doc_freqs(terms, saturation=saturation))
        return [sum(each) for each in zip(*counts.values(), strict=True)]

    def dense_topk(
        self, vector: NDArray[np.float32], *, k: int, where: Conditions | None
    ) -> Ranking:
        """Return the k chunks of largest inner product: the best of the best k of each server."""
        found = self._on_each(lambda shard: shard.dense_topk(vector, k=k, where=where))
        return self._merge(found, k=k)

    def sparse_topk(
        self,
        weights: Sequence[tuple[str, float]],
        *,
        k: int,
        saturation: Saturation,
        where: Conditions | None,
    ) -> Ranking:
        """Return the k chunks of largest inner product: the best of the best k of each server.

        The mean length of a chunk is that over all servers.
        """
        mean = self.stats().mean_length(saturation)
        found = self._on_each(
            lambda shard: shard.sparse_topk(
                weights, k=k, saturation=saturation, where=where, mean_length=mean
            )
        )
        return self._merge(found, k=k)

    def rows(self, keys: Sequence[int]) -> list[FoundChunk]:
        """Return the chunks of these keys, in their order; a key without a chunk is skipped."""
        found = self._on_parts(self._split(keys), PostgresSnapshot.rows)
        rows = {
            self._join(row.key, at): replace(
                row, key=self._join(row.key, at), doc=self._join(row.doc, at)
            )
            for at, part in found.items()
            for row in part
        }
        return [rows[key] for key in keys if key in rows]

    def documents(self, docs: Sequence[int]) -> list[FoundDocument]:
        """Return the documents of these ids, in any order."""
        found = self._on_parts(self._split(docs), PostgresSnapshot.documents)
        return [
            replace(each, doc=self._join(each.doc, at))
            for at, part in found.items()
            for each in part
        ]

    def neighbours(
        self, positions: Sequence[tuple[int, int]], *, each_side: int
    ) -> NDArray[np.int64]:
        """Return the layout around (document, ordinal) pairs, (n, 7), in ascending order."""
        parts: dict[int, list[tuple[int, int]]] = {}
        for doc, ordinal in positions:
            number, at = divmod(doc, self._count)
            parts.setdefault(at, []).append((number, ordinal))
        found = self._on_parts(parts, lambda shard, own: shard.neighbours(own, each_side=each_side))
        for at, layout in found.items():
            layout[:, 0] = layout[:, 0] * self._count + at
        layouts = np.concatenate([np.empty((0, 7), np.int64), *found.values()])
        return layouts[np.lexsort((layouts[:, 1], layouts[:, 0]))]

    def spans(self, spans: Sequence[tuple[int, int, int]]) -> list[FoundSpan]:
        """Return the text of each (document, start, end), with its lines and marks."""
        parts: dict[int, list[tuple[int, int, int]]] = {}
        for doc, start, end in spans:
            number, at = divmod(doc, self._count)
            parts.setdefault(at, []).append((number, start, end))
        found = self._on_parts(parts, PostgresSnapshot.spans)
        rest = {at: iter(part) for at, part in found.items()}
        return [next(rest[doc % self._count]) for doc, _, _ in spans]

    def fields(self) -> set[str]:
        """Return the names of the fields of the documents' metadata."""
        return set().union(*self._on_each(PostgresSnapshot.fields).values())

    def has_document(self, *, where: Conditions) -> bool:
        """Return whether a document meets a filter."""
        return any(self._on_each(lambda shard: shard.has_document(where=where)).values())

    def digests(self, *, where: Conditions | None) -> dict[str, bytes]:
        """Return the digest of each document, by URI; `SystemFailure` if a server is down."""
        self._require_all()
        found = self._on_each(lambda shard: shard.digests(where=where))
        return {uri: digest for part in found.values() for uri, digest in part.items()}

    def read(self, uri: str) -> StoredDocument | None:
        """Return a document with all that was made of it, None if there is none."""
        self._require_all()
        return self._shards[self._shard_of(uri)].read(uri)

    def _require_all(self) -> None:
        if self._missing:
            raise SystemFailure(f"{self._missing[0]}; a copy needs every server")

    def _join(self, number: int, at: int) -> int:
        """Return the number here of a chunk or document of a server."""
        return number * self._count + at

    def _split(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """Return the numbers on each server of these numbers here."""
        parts: dict[int, list[int]] = {}
        for each in numbers:
            number, at = divmod(int(each), self._count)
            parts.setdefault(at, []).append(number)
        return parts

    def _merge(self, found: Mapping[int, Ranking], *, k: int) -> Ranking:
        keys = np.concatenate([each.keys * self._count + at for at, each in found.items()])
        scores = np.concatenate([each.scores for each in found.values()])
        return best_ranking(keys, scores, k=k)

    def _on_each(self, work: Callable[[PostgresSnapshot], _T]) -> dict[int, _T]:
        """Return the answer of each server."""
        futures = {at: self._threads.submit(work, each) for at, each in self._shards.items()}
        return {at: future.result() for at, future in futures.items()}

    def _on_parts(
        self,
        parts: Mapping[int, list[_P]],
        work: Callable[[PostgresSnapshot, list[_P]], _T],
    ) -> dict[int, _T]:
        """Return the answer of each server to its part of a question."""
        futures = {
            at: self._threads.submit(work, self._shards[at], part)
            for at, part in parts.items()
            if at in self._shards
        }
        return {at: future.result() for at, future in futures.items()}
