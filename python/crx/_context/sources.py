"""Sources of contexts: of a build, and of each document of a run.

Prompts of folders come from `[prompts]` of `crx.toml`, not from files beside the documents: a
folder from elsewhere must not be able to instruct the model. The nearest folder wins. The prompt is
part of a contextualizer's fingerprint and so of the keys of its contexts: a new prompt makes only
the contexts of its own folder stale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from crx import _context, _native
from crx._context.cache import (
    DEFAULT_REFRESH,
    Origin,
    Refresh,
    context_keys,
    find_best,
    store_context,
)
from crx._context.controls import refuse_controls
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
        outlines = (
            _context.outline.outline(document, chunks) if self.outline else [""] * len(chunks)
        )
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


@dataclass(frozen=True, slots=True)
class ContextRouter:
    """A general contextualizer, and others for the documents below some folders."""

    general: Contextualizer
    refresh: Refresh = DEFAULT_REFRESH
    by_folder: Mapping[str, Contextualizer] = field(default_factory=dict)

    def contextualizer_for(self, uri: str) -> Contextualizer:
        """Return the contextualizer of a document."""
        return self.by_folder.get(self._folder(uri), self.general)

    def position(self, uri: str) -> int:
        """Return the position of a document's contextualizer among `contextualizers`."""
        folder = self._folder(uri)
        return 1 + list(self.by_folder).index(folder) if folder else 0

    def origin_for(self, uri: str) -> Origin:
        """Return the origin under which a document's contexts are stored."""
        return Origin(self.contextualizer_for(uri).fingerprint, self.refresh)

    @property
    def contextualizers(self) -> list[Contextualizer]:
        """All contextualizers, the general one first."""
        return [self.general, *self.by_folder.values()]

    @property
    def origins(self) -> list[Origin]:
        """All origins, the general one first."""
        return [
            Origin(contextualizer.fingerprint, self.refresh)
            for contextualizer in self.contextualizers
        ]

    def unused(self, uris: Iterable[str]) -> list[str]:
        """Return the folders that are the nearest one of none of the documents."""
        used = {self._folder(uri) for uri in uris}
        return [folder for folder in self.by_folder if folder not in used]

    def _folder(self, uri: str) -> str:
        path = PurePosixPath(uri)  # not cut at "#": the folder of file.jsonl#id is a parent, too
        folders = (str(folder) for folder in (path, *path.parents))
        return next((folder for folder in folders if folder in self.by_folder), "")
