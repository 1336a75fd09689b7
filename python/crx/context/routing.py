"""Who makes a document's contexts: a contextualizer, with the prompt of the document's folder.

Folders get prompts of their own in `[prompts]` of `crx.toml`, and not in files beside the
documents: a folder that came from elsewhere must not bring orders for the model with it. The
nearest folder wins. As the prompt is part of a contextualizer's fingerprint, and that of the key
under which a context is kept, another prompt costs the contexts of its own folder and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from crx.context.cache import DEFAULT_REFRESH, Origin, Refresh
from crx.protocols import Contextualizer


@dataclass(frozen=True, slots=True)
class ContextRouter:
    """A contextualizer for all documents, and others for those below some folders."""

    general: Contextualizer
    refresh: Refresh = DEFAULT_REFRESH
    by_folder: Mapping[str, Contextualizer] = field(default_factory=dict)

    def contextualizer_for(self, uri: str) -> Contextualizer:
        """Return what makes a document's contexts."""
        return self.by_folder.get(self._folder(uri), self.general)

    def origin_for(self, uri: str) -> Origin:
        """Return under what a document's contexts are kept."""
        return Origin(self.contextualizer_for(uri).fingerprint, self.refresh)

    @property
    def contextualizers(self) -> list[Contextualizer]:
        """All contextualizers, the general one first."""
        return [self.general, *self.by_folder.values()]

    @property
    def origins(self) -> list[Origin]:
        """All origins, the general one first."""
        return [Origin(each.fingerprint, self.refresh) for each in self.contextualizers]

    def unused(self, uris: Iterable[str]) -> list[str]:
        """Return the folders that none of the documents lies in, or only below a nearer one."""
        used = {self._folder(uri) for uri in uris}
        return [folder for folder in self.by_folder if folder not in used]

    def _folder(self, uri: str) -> str:
        path = PurePosixPath(uri)  # uncut: of file.jsonl#id the folder is a parent, too
        places = (str(place) for place in (path, *path.parents))
        return next((place for place in places if place in self.by_folder), "")
