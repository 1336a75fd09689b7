"""Roots of an index: what was indexed, remembered in its settings for the next pass.

The setting `roots` holds each file and folder that was given, with its excludes, and `mounts` the
mount points that were met below them, both as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from crx import _native
from crx.ingest.discover import Discovery, Root
from crx.ingest.located_store import Base, base_of
from crx.ingest.paths import is_below, path_of

ROOTS = "roots"
MOUNTS = "mounts"


@dataclass(frozen=True, slots=True)
class RememberedRoots:
    """The roots of earlier passes and the mount points that were met below them."""

    roots: tuple[Root, ...] = ()
    mounts: tuple[str, ...] = ()

    @staticmethod
    def read(settings: Mapping[str, str], *, base: Base) -> RememberedRoots:
        """Return what the settings of an index hold; `base` is that of its URIs."""
        roots = orjson.loads(settings.get(ROOTS, "[]"))
        return RememberedRoots(
            tuple(Root(base.load(each["uri"]), tuple(each["exclude"])) for each in roots),
            tuple(map(base.load, orjson.loads(settings.get(MOUNTS, "[]")))),
        )

    def as_settings(self, *, base: Base) -> dict[str, str]:
        """Return the settings that `read` reads."""
        roots = [replace(root, uri=base.store(root.uri)) for root in self.roots]
        return {
            ROOTS: orjson.dumps(roots).decode(),
            MOUNTS: orjson.dumps([base.store(uri) for uri in self.mounts]).decode(),
        }

    def choose(self, uris: Iterable[str], *, exclude: Sequence[str] | None) -> list[Root]:
        """Return the roots at some URIs; their remembered excludes hold if `exclude` is None."""
        known = {root.uri: root for root in self.roots}
        if exclude is None:
            return [known.get(uri, Root(uri)) for uri in dict.fromkeys(uris)]
        return [Root(uri, tuple(filter(None, exclude))) for uri in dict.fromkeys(uris)]

    def others(self, roots: Sequence[Root]) -> list[Root]:
        """Return the remembered roots besides some."""
        uris = {root.uri for root in roots}
        return [root for root in self.roots if root.uri not in uris]

    def after(self, roots: Sequence[Root], discovery: Discovery) -> RememberedRoots:
        """Return what is remembered after a pass over some roots."""
        unreachable = [each.uri for each in discovery.unreachable]
        mounts = {
            uri
            for uri in self.mounts
            if not any(is_below(uri, root.uri) for root in roots)
            or any(is_below(uri, folder) for folder in unreachable)
        }
        known = {*self.others(roots), *(r for r in roots if r.uri not in discovery.vanished)}
        return RememberedRoots(
            tuple(sorted(known, key=lambda root: root.uri)),
            tuple(sorted({*mounts, *discovery.mounts})),
        )

    def without(self, uris: Iterable[str]) -> RememberedRoots:
        """Return the roots and mount points that do not lie below some URIs."""
        removed = tuple(uris)
        return replace(
            self,
            roots=tuple(r for r in self.roots if not any(is_below(r.uri, uri) for uri in removed)),
            mounts=tuple(m for m in self.mounts if not any(is_below(m, uri) for uri in removed)),
        )


def read_root_paths(store: _native.Store) -> tuple[str, ...]:
    """Return the paths of the remembered roots of a store."""
    remembered = RememberedRoots.read(store.settings(), base=base_of(store))
    return tuple(path_of(root.uri) for root in remembered.roots)
