"""Embedding of pending chunks: vectors are stored in few durable steps, and none is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from crx._backends.hashed import HashedEmbedder
from crx._native import Store
from crx.ingest import embed_pending
from crx.ingest.embed_pending import EMBED_BATCH
from crx.ingest.embedding_prefix import vector_key
from crx.ingest.pending import PendingChunks
from crx.ingest.report import Tally

TEXTS = [f"Whale {number} eats krill." for number in range(3 * EMBED_BATCH)]


class CountedStore:
    """A store that counts the calls of `put_vectors`, and keeps their keys."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.puts = 0
        self.keys: list[bytes] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def put_vectors(self, keys: list[bytes], rows: NDArray[np.float32]) -> None:
        self.puts += 1
        self.keys += keys
        self._store.put_vectors(keys, rows)


class InterruptedEmbedder(HashedEmbedder):
    """An embedder that is interrupted in its third batch."""

    batches = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        self.batches += 1
        if self.batches == 3:
            raise KeyboardInterrupt
        return super().embed(texts, query=query)


def put_texts(native: Store, uri: str, texts: Sequence[str]) -> None:
    """Put a document of texts, a chunk each, without vectors."""
    ends = np.cumsum([0, *map(len, texts)])
    layout = [(start, end, 0, 0, 0) for start, end in pairwise(ends)]
    native.put_document(
        uri=uri,
        title="",
        lang="en",
        metadata="{}",
        source_hash=b"hash",
        source_size=1,
        source_mtime_ns=2,
        text="".join(texts),
        marks="[]",
        layout=np.array(layout, np.uint32),
        outlines=[""] * len(texts),
        context_keys=[b""] * len(texts),
        vector_keys=[vector_key(HashedEmbedder(), "", text) for text in texts],
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CountedStore]:
    """Return a store with a document of `TEXTS`, a chunk each, without vectors."""
    native = Store.open(str(tmp_path / "notes.crx"), write=True, create=True)
    put_texts(native, "whales", TEXTS)
    yield CountedStore(native)
    native.close()


def pending(store: CountedStore, embedder: HashedEmbedder) -> PendingChunks:
    return PendingChunks(store, embedder=embedder, tally=Tally())  # type: ignore[arg-type]


def test_the_vectors_of_a_second_are_stored_in_one_step(store: CountedStore) -> None:
    chunks = pending(store, HashedEmbedder())
    chunks.embed()
    assert (store.puts, chunks.count()) == (1, 0)


def test_vectors_that_have_waited_are_stored_with_the_next_batch(
    store: CountedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_pending, "STORE_INTERVAL_S", 0)
    chunks = pending(store, HashedEmbedder())
    chunks.embed()
    assert (store.puts, chunks.count()) == (3, 0)


def test_as_many_vectors_as_are_stored_together_do_not_wait(
    store: CountedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_pending, "_STORED_TOGETHER", 2 * EMBED_BATCH)
    chunks = pending(store, HashedEmbedder())
    chunks.embed()
    assert (store.puts, chunks.count()) == (2, 0)


def test_a_text_whose_vector_waits_to_be_stored_is_not_embedded_again(
    store: CountedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_pending, "_EMBED_QUEUE", EMBED_BATCH)
    put_texts(store, "backwards", TEXTS[::-1])  # type: ignore[arg-type]
    chunks = pending(store, HashedEmbedder())
    chunks.embed()
    assert (store.puts, chunks.count()) == (1, 0)
    assert len(store.keys) == len(set(store.keys)) == len(TEXTS)


def test_an_interrupt_keeps_the_vectors_that_were_made(store: CountedStore) -> None:
    chunks = pending(store, InterruptedEmbedder())
    with pytest.raises(KeyboardInterrupt):
        chunks.embed()
    assert chunks.count() == EMBED_BATCH
