"""Context sources of a build: the outline, a file of contexts, contexts of earlier runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from crx import _native
from crx.context.cache import Origin, context_keys, find_best, store_context
from crx.context.controls import refuse_controls
from crx.context.outline import outline
from crx.context.refresh import DEFAULT_REFRESH
from crx.ingest.write import SituatedChunks
from crx.protocols import Contextualizer
from crx.types import Chunk, Document


@dataclass(frozen=True, slots=True)
class ContextSources:
    """Contexts that a build writes without a model.

    The outline, if `outline`; the contexts of `contextualizer` (a file of contexts); without one,
    the valid contexts of earlier runs, by `origins`, newest first.
    """

    outline: bool
    contextualizer: Contextualizer | None = None
    origins: tuple[Origin, ...] = ()

    def situate(
        self, store: _native.Store, document: Document, chunks: Sequence[Chunk]
    ) -> SituatedChunks:
        """Return outlines and contexts of the chunks; new contexts are stored durably."""
        outlines = outline(document, chunks) if self.outline else [""] * len(chunks)
        if self.contextualizer is None:
            cached = find_best(store, document, chunks, origins=self.origins)
            keys = [known.key if known else b"" for known in cached]
            return SituatedChunks(
                outlines, keys, [known.context.text if known else "" for known in cached]
            )
        contextualizer = self.contextualizer
        made = [refuse_controls(each) for each in contextualizer.situate(document, chunks)]
        origin = Origin(contextualizer.fingerprint, DEFAULT_REFRESH)
        keys = [
            store_context(store, key, generator=contextualizer.fingerprint, context=context)
            for key, context in zip(
                context_keys(document, chunks, origin=origin), made, strict=True
            )
        ]
        return SituatedChunks(
            outlines,
            keys,
            [context.text for context in made],
            Counter(context.outcome for context in made),
        )
