"""An engine that keeps indexes in the memory of this process: `memory:NAME`."""

import contextlib
import functools
import threading
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

from crx.types import Ranking
from crx_engines.engine.bm25 import count_chunks
from crx_engines.engine.filter_tests import select_documents
from crx_engines.engine.protocol import (
    CollectionStatistics,
    Conditions,
    FoundChunk,
    FoundDocument,
    FoundSpan,
    QueryWeights,
    Saturation,
    StoredDocument,
)
from crx_engines.engine.sums import statistics_of


class MemorySnapshot:
    """One state of an index. The id of a document and the key of a chunk are their indices."""

    missing = ()
    exact = True

    def __init__(self, by_uri: Mapping[str, StoredDocument], version: int) -> None:
        self.by_uri = by_uri
        self.version = version
        self._docs = list(by_uri.values())
        self._chunks: list[FoundChunk] = []
        for doc, document in enumerate(self._docs):
            for at in range(len(document.chunks)):
                self._chunks.append(document.find_chunk(at, key=len(self._chunks), doc=doc))
        self._terms = [terms for document in self._docs for terms in count_chunks(document)]

    def stats(self) -> CollectionStatistics:
        return statistics_of(self._docs, version=self.version)

    def doc_freqs(self, terms: Sequence[str], *, saturation: Saturation) -> list[int]:
        held = [{t for t, n in c.counts.items() if saturation.weigh(n) > 0} for c in self._terms]
        return [sum(term in each for each in held) for term in terms]

    def dense_topk(
        self, vector: NDArray[np.float32], *, k: int, where: Conditions | None
    ) -> Ranking:
        rows = {c.key: self._docs[c.doc].chunks[c.ordinal].vector for c in self._select(where)}
        return _best({key: float(v @ vector) for key, v in rows.items() if v is not None}, k=k)

    def sparse_topk(
        self, weights: QueryWeights, *, k: int, saturation: Saturation, where: Conditions | None
    ) -> Ranking:
        scores = {}
        mean = self.stats().mean_length(saturation) or 1.0
        for chunk in self._select(where):
            terms = self._terms[chunk.key]
            norm = saturation.norm(terms.lengths, mean_length=mean)
            held = [(w, saturation.weigh(terms.counts[t])) for t, w in weights if t in terms.counts]
            if any(count > 0 for _, count in held):
                scores[chunk.key] = sum(weight * n / (n + norm) for weight, n in held)
        return _best(scores, k=k)

    def rows(self, keys: Sequence[int]) -> list[FoundChunk]:
        return [self._chunks[key] for key in keys if key < len(self._chunks)]

    def documents(self, docs: Sequence[int]) -> list[FoundDocument]:
        return [self._docs[doc].find_document(doc=doc) for doc in docs]

    def neighbours(self, chunks: Sequence[tuple[int, int]], *, each_side: int) -> NDArray[np.int64]:
        rows = set()
        for doc, at in chunks:
            rows |= {(doc, *r) for r in self._docs[doc].find_layout(at, each_side=each_side)}
        return np.array(sorted(rows), np.int64).reshape(-1, 7)

    def spans(self, spans: Sequence[tuple[int, int, int]]) -> list[FoundSpan]:
        return [self._docs[doc].find_span(start, end) for doc, start, end in spans]

    def fields(self) -> set[str]:
        return {name for document in self._docs for name in orjson.loads(document.metadata)}

    def has_document(self, *, where: Conditions) -> bool:
        return bool(select_documents(self._docs, where))

    def digests(self, *, where: Conditions | None) -> dict[str, bytes]:
        return {each.uri: each.digest() for each in select_documents(self._docs, where)}

    def read(self, uri: str) -> StoredDocument | None:
        return self.by_uri.get(uri)

    def _select(self, where: Conditions | None) -> list[FoundChunk]:
        met = {document.uri for document in select_documents(self._docs, where)}
        return [chunk for chunk in self._chunks if chunk.uri in met]


class MemoryEngine:
    """An index in memory: each change makes a new snapshot, so that readers keep theirs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._settings: dict[str, str] = {}
        self._snapshot = MemorySnapshot({}, 0)

    def settings(self) -> dict[str, str]:
        return self._settings

    def create(self, settings: Mapping[str, str]) -> None:
        self._settings = self._settings or dict(settings)

    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        with self._lock:
            old = self._snapshot
            known = old.digests(where=None)
            new = {each.uri: each for each in documents if known.get(each.uri) != each.digest()}
            self._snapshot = MemorySnapshot({**old.by_uri, **new}, old.version + 1)
            return len(new)

    def delete(self, uris: Sequence[str]) -> int:
        with self._lock:
            old = self._snapshot
            kept = {uri: each for uri, each in old.by_uri.items() if uri not in uris}
            self._snapshot = MemorySnapshot(kept, old.version + 1)
            return len(old.by_uri) - len(kept)

    def publish(self) -> None: ...

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        yield self._snapshot

    def close(self) -> None: ...


def _best(scores: Mapping[int, float], *, k: int) -> Ranking:
    keys = sorted(scores, key=lambda key: (-scores[key], key))[:k]
    return Ranking(np.array(keys, np.int64), np.array([scores[each] for each in keys], np.float32))


@functools.cache
def open_memory(address: str) -> MemoryEngine:
    """Return the engine of an address, the same as long as the process runs."""
    return MemoryEngine(address)
