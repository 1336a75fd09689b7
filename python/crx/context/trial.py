"""Trial run of a contextualizer on a sample of documents, in a temporary index."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from crx import _native
from crx.context.contextualize import ContextSources
from crx.context.report import ContextProgress, OutcomeCounts
from crx.context.routing import ContextRouter
from crx.context.run import ContextRun
from crx.ingest.indexer import Indexer
from crx.protocols import Contextualizer, Embedder
from crx.types import Document

# The first of several documents, alone, may take this many times the seconds of a trial: contexts
# that are written side by side take less time each.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of a trial run: its contexts, by `Context.outcome`, and the seconds they took."""

    made: Mapping[str, int]
    seconds: float

    @property
    def outcomes(self) -> OutcomeCounts:
        """Contexts by status and reason."""
        return OutcomeCounts.from_made(self.made)

    @property
    def done(self) -> int:
        """Chunks that were finished, with a context or without."""
        return self.outcomes.total

    @property
    def requests_per_chunk(self) -> float:
        """Mean number of requests a chunk: a chunk whose first answer is rejected has two."""
        return 1 + self.outcomes.count("retried", "rejected") / max(1, self.done)

    @property
    def failure(self) -> str:
        """The most frequent reason of the failures if every chunk failed, else ""."""
        reasons = self.outcomes.reasons("failed")
        return next(iter(reasons)) if reasons and sum(reasons.values()) == self.done else ""


def try_contextualizer(
    contextualizer: Contextualizer,
    documents: Sequence[Document],
    *,
    seconds: float,
    embedder: Embedder,
    together: bool,
) -> Trial:
    """Give the documents contexts for about `seconds` seconds, short documents first.

    A slow model then finishes some answers soon, and a fast one reaches all documents. With
    `together`, the documents after the first are one run to its end, unless the first took
    `PATIENCE` times `seconds`.
    """
    made: Counter[str] = Counter()
    spent, ended = 0.0, 0.0

    def record_time(_: ContextProgress) -> None:
        nonlocal ended
        ended = time.monotonic()

    with TemporaryDirectory(prefix="crx-plan-") as folder:
        store = _native.Store.open(str(Path(folder) / "plan.crx"), write=True, create=True)
        try:
            router = ContextRouter(contextualizer)
            indexer = Indexer(store, embedder=embedder, situator=ContextSources(outline=True))
            ordered = sorted(documents, key=lambda each: len(each.text))
            groups = [ordered[:1], ordered[1:]] if together else [[each] for each in ordered]
            for group in groups:
                indexer.index_documents(group)
                begun = time.monotonic()
                run = ContextRun(
                    store,
                    embedder=embedder,
                    router=router,
                    seconds=math.inf if together and spent else seconds - spent,
                    max_rejected=1.0,
                    on_progress=record_time,
                )
                made.update(run.run().made)
                spent += ended - begun
                if spent >= (PATIENCE * seconds if together else seconds):
                    break
        finally:
            store.close()
    return Trial(dict(made), spent)
