"""The chunks of a store that wait for their vectors, and when what was put can be found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from crx import _native
from crx.ingest.report import Tally
from crx.protocols import Embedder

if TYPE_CHECKING:
    from crx.ingest.embedding_pool import EmbeddingPool

# Seconds after which new chunks become searchable while a build goes on. Making them searchable
# takes long after a document of many megabytes: the interval then grows, so that it never takes
# more than a tenth of the time.
_COMMIT_INTERVAL_S = 20.0


class PendingChunks:
    """The chunks that wait for their vectors; `EmbeddingRun` makes these."""

    def __init__(
        self,
        store: _native.Store,
        *,
        embedder: Embedder,
        tally: Tally,
        workers: EmbeddingPool | None = None,
        on_commit: Callable[[], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """`on_notice` is told the host and the size before texts are sent to another machine."""
        self._store = store
        self._embedder = embedder
        self._tally = tally
        self._workers = workers
        self._on_commit = on_commit
        self._on_notice = on_notice
        self._next_commit = time.monotonic() + _COMMIT_INTERVAL_S

    def count(self) -> int:
        """Return how many chunks have no vector yet."""
        return self._store.count_pending()

    def commit(self) -> None:
        """Let what was put be searched by BM25 before its vectors are made, if any are to be."""
        if self._on_commit is not None and self.count():
            self._on_commit()

    def commit_if_due(self) -> None:
        """Let what was put be searched by BM25, if the last time is long ago."""
        if self._on_commit is None or time.monotonic() <= self._next_commit:
            return
        started = time.monotonic()
        self._on_commit()
        ended = time.monotonic()
        self._next_commit = ended + max(_COMMIT_INTERVAL_S, 9 * (ended - started))

    def embed(self, *, seconds: float = math.inf) -> None:
        """Embed the chunks without a vector, including those that a killed run left.

        After `seconds`, no further batch is begun.
        """
        if self.count():
            from crx.ingest.embed_pending import EmbeddingRun  # most passes embed nothing

            EmbeddingRun(
                self._store,
                embedder=self._embedder,
                tally=self._tally,
                workers=self._workers,
                on_group=self.commit_if_due,
                on_notice=self._on_notice,
            ).run(seconds=seconds)
        self._tally.wait(self.count())
