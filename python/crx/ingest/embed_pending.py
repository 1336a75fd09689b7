"""Embedding of the chunks of a store whose vector is missing."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.ingest.embed import Situated, SituatedEmbedder, embedding_prefix
from crx.ingest.report import Tally
from crx.protocols import BatchSized, Embedder, Remote
from crx.remote.destination import sending_notice, text_bytes

# Chunks that are collected before the embedder is called: enough to sort by length, few enough
# that a run which is killed repeats little.
EMBED_QUEUE = 512
# Texts in one call of the embedder: an interrupt takes effect between calls.
EMBED_BATCH = 16
# Seconds of embedding that one transaction of vectors holds: a crash repeats no more.
STORE_INTERVAL_S = 1.0
# Seconds after which new chunks become searchable while a build goes on. Making them searchable
# takes long after a document of many megabytes: the interval then grows, so that it never takes
# more than a tenth of the time.
COMMIT_INTERVAL_S = 20.0

_ALL = 2**62


class PendingChunks:
    """The chunks that wait for their vectors."""

    def __init__(
        self,
        store: _native.Store,
        *,
        embedder: Embedder,
        tally: Tally,
        on_commit: Callable[[], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """`on_notice` is told the host and the size before texts are sent to another machine."""
        self._store = store
        self._embedder = embedder
        self._batch_texts = (
            embedder.batch_texts if isinstance(embedder, BatchSized) else EMBED_BATCH
        )
        self._on_notice = on_notice
        self._situated = SituatedEmbedder(embedder)
        self._tally = tally
        self._on_commit = on_commit
        self._next_commit = time.monotonic() + COMMIT_INTERVAL_S
        self._waiting = 0

    def count(self) -> int:
        """Return how many chunks have no vector yet."""
        return len(self._store.pending(limit=_ALL))

    def add(self, count: int) -> None:
        """Count chunks that were put; embed all that wait once there are `EMBED_QUEUE`."""
        self._waiting += count
        if self._waiting >= EMBED_QUEUE:
            self.embed()

    def commit(self) -> None:
        """Let what was put be searched by BM25, if anything waits for its vector."""
        if self._on_commit is not None and self._waiting:
            self._on_commit()

    def embed(self) -> None:
        """Embed every chunk without its vector, including those that a killed run left."""
        self._waiting = 0
        waiting = self.count()
        self._tally.wait(waiting)
        after = 0
        while len(keys := self._store.pending(after=after, limit=EMBED_QUEUE)):
            after = int(keys[-1])
            texts = {}
            chunks: Counter[bytes] = Counter()
            for row in self._store.chunks(keys):
                before = embedding_prefix(row.outline, row.context)
                text = Situated(before, row.text, row.token_end - row.token_start)
                key = vector_key(self._embedder, text)
                texts[key] = text
                chunks[key] += 1
            stored = self._store.have_vectors(list(texts))
            missing = [key for key, known in zip(texts, stored, strict=True) if not known]
            missing.sort(key=lambda key: len(texts[key].text))
            self._announce([texts[key] for key in missing])
            with contextlib.closing(_VectorGroup(self._store)) as group:
                for batch in _batches(missing, self._batch_texts):
                    group.add(batch, self._embed_batch([texts[key] for key in batch]))
                    waiting -= sum(chunks[key] for key in batch)
                    self._tally.wait(waiting)
            self._commit_if_due()

    def _announce(self, texts: list[Situated]) -> None:
        """Announce what will be sent off this machine, before the first request."""
        if not isinstance(self._embedder, Remote) or not texts:
            return
        n_bytes = sum(text_bytes(each.before) + text_bytes(each.text) for each in texts)
        notice = sending_notice(self._embedder, {"chunk": len(texts)}, n_bytes=n_bytes)
        if notice and self._on_notice is not None:
            self._on_notice(notice)

    def _embed_batch(self, texts: list[Situated]) -> NDArray[np.float32]:
        rows, several = self._situated.embed(texts)
        self._tally.count("windowed", several)
        self._tally.count("embedded", len(texts))
        return rows

    def _commit_if_due(self) -> None:
        if self._on_commit is None or time.monotonic() <= self._next_commit:
            return
        started = time.monotonic()
        self._on_commit()
        ended = time.monotonic()
        self._next_commit = ended + max(COMMIT_INTERVAL_S, 9 * (ended - started))


class _VectorGroup:
    """Vectors that are stored together, once the first has waited for `STORE_INTERVAL_S`."""

    def __init__(self, store: _native.Store) -> None:
        self._store = store
        self._keys: list[bytes] = []
        self._rows: list[NDArray[np.float32]] = []
        self._since = time.monotonic()

    def add(self, keys: list[bytes], rows: NDArray[np.float32]) -> None:
        """Add vectors, and store all that wait if it is time."""
        self._keys += keys
        self._rows.append(rows)
        if time.monotonic() - self._since >= STORE_INTERVAL_S:
            self.close()

    def close(self) -> None:
        """Store all that wait."""
        if self._rows:
            self._store.put_vectors(self._keys, np.concatenate(self._rows))
        self._keys, self._rows, self._since = [], [], time.monotonic()


def vector_key(embedder: Embedder, text: Situated) -> bytes:
    """Return the key under which a situated text's vector is stored, b"" if it has none."""
    if not embedder.dimensions:
        return b""
    return _native.digest(embedder.fingerprint.encode(), text.before.encode(), text.text.encode())


def _batches(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
