"""The cache of query vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx._backends.hashed import load_embedder
from crx._lru_cache import CacheCounts
from crx.protocols import Embedder, LanguageLimited
from crx.retrieve.query_vectors import CachedEmbedder, QueryVectorCache


class Counting:
    """The hashed embedder, which reads only English and counts its texts."""

    languages = ("en",)

    def __init__(self) -> None:
        self._inner = load_embedder("")
        self.embedded = 0
        self.calls = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        self.embedded += len(texts)
        self.calls += 1
        return self._inner.embed(texts, query=query)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def cached(*, max_entries: int = 8) -> tuple[CachedEmbedder, Counting, QueryVectorCache]:
    counting, vectors = Counting(), QueryVectorCache(max_entries=max_entries)
    assert isinstance(counting, Embedder)
    return CachedEmbedder(counting, vectors), counting, vectors


def test_a_query_is_embedded_once_and_a_passage_each_time() -> None:
    embedder, counting, vectors = cached()
    first = embedder.embed(["whales"], query=True)
    assert np.array_equal(first, embedder.embed(["whales"], query=True))
    assert np.array_equal(first, load_embedder("").embed(["whales"], query=True))
    assert (counting.embedded, vectors.counts) == (1, CacheCounts(hits=1, misses=1))
    embedder.embed(["whales"])
    embedder.embed(["whales"])
    assert counting.embedded == 3


def test_of_several_queries_those_without_an_entry_are_embedded_in_one_call() -> None:
    embedder, counting, vectors = cached()
    embedder.embed(["krill"], query=True)
    found = embedder.embed(["whales", "krill", "whales", "seals"], query=True)
    assert np.array_equal(
        found, load_embedder("").embed(["whales", "krill", "whales", "seals"], query=True)
    )
    assert (counting.embedded, counting.calls) == (3, 2)
    assert vectors.counts == CacheCounts(hits=1, misses=3)


def test_the_query_that_was_used_last_is_kept() -> None:
    embedder, counting, _ = cached(max_entries=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        embedder.embed([query], query=True)
    assert counting.embedded == 4


def test_the_languages_are_those_of_the_embedder() -> None:
    embedder, _, _ = cached()
    assert isinstance(embedder, LanguageLimited)
    assert embedder.languages == ("en",)
