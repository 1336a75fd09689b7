"""Embedding of the chunks of a store whose vector is missing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import ModelError
from crx.ingest.embed import Situated, SituatedEmbedder
from crx.ingest.embedding_order import order_pending
from crx.ingest.embedding_pool import EmbeddedBatch, EmbeddingPool, OwnProcess, TextBatch, TextsLost
from crx.ingest.embedding_prefix import embedding_prefix, vector_key
from crx.ingest.report import Tally
from crx.protocols import BatchSized, Embedder, Remote
from crx.sending import sending_notice, text_bytes

# Chunks that are embedded together: enough to sort by length, few enough that those which gain most
# come first.
_EMBED_QUEUE = 512
# Texts in one call of the embedder: an interrupt takes effect between calls.
EMBED_BATCH = 16
# Pending chunks below which a pool of workers is left alone: starting one takes longer.
_MIN_FOR_WORKERS = 64
# Seconds of embedding that one transaction of vectors holds: a crash repeats no more.
STORE_INTERVAL_S = 1.0
# Vectors that one transaction holds, for those of fast embedders. Each transaction writes the pages
# anew that it changes, and vectors change pages all over the database.
_STORED_TOGETHER = 4096

_Item = TypeVar("_Item")


class EmbeddingRun:
    """One run that embeds the chunks without a vector.

    Without a pool of workers they are embedded in this process. With one, this process goes on
    while workers embed, and stores what they have finished whenever it submits more.
    """

    def __init__(
        self,
        store: _native.Store,
        *,
        embedder: Embedder,
        tally: Tally,
        workers: EmbeddingPool | None = None,
        on_group: Callable[[], None],
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """`on_group` is called when some chunks were embedded; see `PendingChunks`."""
        self._store = store
        self._embedder = embedder
        self._batch_texts = (
            embedder.batch_texts if isinstance(embedder, BatchSized) else EMBED_BATCH
        )
        self._on_notice = on_notice
        self._own = OwnProcess(embedder)
        self._workers = workers
        self._tally = tally
        self._on_group = on_group
        # By the key of each vector that was submitted: the chunks that wait for it, with the URIs
        # of their documents.
        self._submitted: dict[bytes, dict[int, str]] = {}
        self._unembedded = 0
        self._group = _VectorGroup(store)

    def run(self, *, seconds: float) -> None:
        """Embed the chunks, in the order of `order_pending`; stop after `seconds`."""
        latest = time.monotonic() + seconds
        pending = self._store.pending_chunks()
        with self._embedding(len(pending)):
            pool = self._choose_pool()
            for keys in _parts(order_pending(pending, self._store.documents()), _EMBED_QUEUE):
                if not self._submit(keys, pool, latest=latest):
                    break
                self._on_group()
            while self._workers is not None and (finished := self._workers.wait_finished()):
                self._put_finished(finished)

    @contextlib.contextmanager
    def _embedding(self, pending: int) -> Generator[None, None, None]:
        """Store the finished vectors in the end, whatever happens; name texts that are lost."""
        self._unembedded = pending
        self._tally.begin_embedding()
        self._tally.wait(pending)
        self._group = _VectorGroup(self._store)
        try:
            with contextlib.closing(self._group):
                yield
        except TextsLost as lost:
            uris = {uri: None for key in lost.keys for uri in self._submitted[key].values()}
            raise ModelError(
                f"{', '.join(uris)}: {lost}; leave out the document with --exclude, or take "
                f"fewer --workers if memory is short"
            ) from lost
        finally:
            self._submitted.clear()

    def _submit(self, keys: Sequence[int], pool: EmbeddingPool, *, latest: float) -> bool:
        """Submit the texts of chunks and store what is finished; return False if time is up."""
        for batch in self._batches(np.array(keys, np.int64), pool):
            if time.monotonic() >= latest:
                return False
            pool.submit(batch)
            self._put_finished(pool.take_finished())
        return True

    def _choose_pool(self) -> EmbeddingPool:
        if self._workers is None or self._unembedded < _MIN_FOR_WORKERS:
            return self._own
        return self._workers

    def _batches(self, keys: NDArray[np.int64], pool: EmbeddingPool) -> list[TextBatch]:
        """Return the texts of chunks that have no vector and were not submitted, in batches."""
        texts = {}
        for row in self._store.chunks(keys):
            key, text = _situate_chunk(self._embedder, row)
            if key not in self._submitted:
                texts[key] = text
            self._submitted.setdefault(key, {})[row.key] = row.uri
        stored = self._store.have_vectors(list(texts))
        for key, known in zip(list(texts), stored, strict=True):
            if known or key in self._group:
                del texts[key]
                self._unembedded -= len(self._submitted.pop(key))
        self._announce(list(texts.values()), pool if isinstance(pool, Remote) else self._embedder)
        by_length = sorted(texts, key=lambda key: len(texts[key].text))
        return [
            TextBatch(batch, [texts[key] for key in batch])
            for batch in _parts(by_length, self._batch_texts)
        ]

    def _announce(self, texts: list[Situated], receiver: Embedder | Remote) -> None:
        """Announce what will be sent off this machine, before the first request."""
        if not isinstance(receiver, Remote) or not texts:
            return
        n_bytes = sum(text_bytes(each.before) + text_bytes(each.text) for each in texts)
        notice = sending_notice(receiver, {"chunk": len(texts)}, n_bytes=n_bytes)
        if notice and self._on_notice is not None:
            self._on_notice(notice)

    def _put_finished(self, finished: Sequence[EmbeddedBatch]) -> None:
        for batch in finished:
            self._group.add(batch.keys, batch.rows)
            self._tally.count("windowed", batch.windowed)
            self._tally.count("embedded", len(batch.keys))
            self._unembedded -= sum(len(self._submitted.pop(key, ())) for key in batch.keys)
            self._tally.wait(self._unembedded)


class _VectorGroup:
    """Vectors that are stored together: `_STORED_TOGETHER`, or those of `STORE_INTERVAL_S`."""

    def __init__(self, store: _native.Store) -> None:
        self._store = store
        self._keys: dict[bytes, None] = {}
        self._rows: list[NDArray[np.float32]] = []
        self._since = time.monotonic()

    def add(self, keys: Sequence[bytes], rows: NDArray[np.float32]) -> None:
        """Add vectors, and store all that wait if it is time."""
        if not self._keys:
            self._since = time.monotonic()
        self._keys.update(dict.fromkeys(keys))
        self._rows.append(rows)
        is_late = time.monotonic() - self._since >= STORE_INTERVAL_S
        if is_late or len(self._keys) >= _STORED_TOGETHER:
            self.close()

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    def close(self) -> None:
        """Store all that wait."""
        if self._rows:
            self._store.put_vectors([*self._keys], np.concatenate(self._rows))
        self._keys, self._rows = {}, []


def _situate_chunk(embedder: Embedder, row: _native.ChunkRow) -> tuple[bytes, Situated]:
    """Return the key of a chunk's vector, and the text that it is made of."""
    before = embedding_prefix(row.outline, row.context)
    text = Situated(before, row.text, row.token_end - row.token_start)
    return vector_key(embedder, before, row.text), text


def _parts(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


# Chunks in one call of the embedder: after each, other work may go first.
_CHUNKS_A_CALL = 2


@dataclass(frozen=True, slots=True)
class MadeVectors:
    """(n, d) float32 unit rows by the keys of their texts."""

    keys: tuple[bytes, ...]
    rows: NDArray[np.float32]


def make_vectors(
    store: _native.Store, embedder: Embedder, *, seconds: float, go_on: Callable[[], bool]
) -> MadeVectors:
    """Embed pending chunks in their order, for some seconds and while `go_on` returns True.

    `go_on` is asked before each call of the embedder. A vector belongs to a text, so what changes
    in the store meanwhile makes it useless at most.
    """
    order = order_pending(store.pending_chunks(), store.documents())
    latest = time.monotonic() + seconds
    situated = SituatedEmbedder(embedder)
    made: dict[bytes, NDArray[np.float32]] = {}
    for at in range(0, len(order), _CHUNKS_A_CALL):
        if time.monotonic() >= latest or not go_on():
            break
        rows = store.chunks(np.array(order[at : at + _CHUNKS_A_CALL], np.int64))
        texts = dict(_situate_chunk(embedder, row) for row in rows)
        keys = [key for key in texts if key not in made]
        # Another writer may have stored them since.
        stored = store.have_vectors(keys)
        missing = [key for key, known in zip(keys, stored, strict=True) if not known]
        if not missing:
            continue
        vectors, _ = situated.embed([texts[key] for key in missing])
        made.update(zip(missing, vectors, strict=True))
    rows_of = list(made.values())
    stacked = np.stack(rows_of) if rows_of else np.empty((0, embedder.dimensions), np.float32)
    return MadeVectors(tuple(made), stacked)
