"""Choice of the contextualizer of a document: the general one, or one with its folder's prompt.

Prompts of folders come from `[prompts]` of `crx.toml`, not from files beside the documents: a
folder from elsewhere must not be able to instruct the model. The nearest folder wins. The prompt is
part of a contextualizer's fingerprint and so of the keys of its contexts: a new prompt makes only
the contexts of its own folder stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from crx.context.cache import Origin
from crx.context.refresh import DEFAULT_REFRESH, Refresh
from crx.protocols import Contextualizer


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
