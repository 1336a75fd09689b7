"""What an index records of the folders it was made from: its roots, and the paths it skipped.

The setting `roots` has each file and folder that was given, with its excludes, `mounts` the mount
points that were met below them, and `changes` the latest change of a file below each root, all as
JSON. The paths that were met and not indexed are in
a file of JSON lines, `skipped.jsonl`, which the next pass over the same roots makes anew. It is no
part of what is searched, and may be deleted.

An index may come from elsewhere, so a root is read again only if it lies in the folder that has the
index, or if the user has allowed it by naming it (see `crx.config._allowed`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from crx import _native
from crx.config import require_allowed
from crx.ingest.discover import Discovery, Root
from crx.ingest.paths import is_below, path_of, uri_of
from crx.ingest.report import Skipped

_ROOTS = "roots"
MOUNTS = "mounts"
_CHANGES = "changes"
# The descriptions of folders that all documents have.
DESCRIBED = "described_folders"
# What an exclude takes for a wildcard; a class of one character stands for itself.
_WILDCARD = re.compile(r"[*?\[]")
# Settings of an index that are about files of one machine; a copy has none of them.
SETTINGS_OF_ROOTS = (_ROOTS, MOUNTS, _CHANGES, DESCRIBED)


@dataclass(frozen=True, slots=True)
class RememberedRoots:
    """The roots of earlier passes and the mount points that were met below them.

    `changes` has for each root the latest time at which a file was changed that the last pass found
    below it, in nanoseconds since 1970; 0 if it found none. A root that no pass has read to the end
    has none.
    """

    roots: tuple[Root, ...] = ()
    mounts: tuple[str, ...] = ()
    changes: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def read(store: _native.Store) -> RememberedRoots:
        """Return what the settings of a store hold."""
        settings = store.settings()
        roots = orjson.loads(settings.get(_ROOTS, "[]"))
        return RememberedRoots(
            tuple(Root(store.absolute_uri(each["uri"]), tuple(each["exclude"])) for each in roots),
            tuple(map(store.absolute_uri, orjson.loads(settings.get(MOUNTS, "[]")))),
            {
                store.absolute_uri(uri): int(changed_ns)
                for uri, changed_ns in orjson.loads(settings.get(_CHANGES, "{}")).items()
            },
        )

    def write(self, store: _native.Store) -> None:
        """Put what `read` reads into the settings of a store, unless it is there."""
        roots = [replace(root, uri=store.stored_uri(root.uri)) for root in self.roots]
        settings = store.settings()
        changed = {
            **settings,
            _ROOTS: orjson.dumps(roots).decode(),
            MOUNTS: orjson.dumps([store.stored_uri(uri) for uri in self.mounts]).decode(),
            _CHANGES: orjson.dumps(
                {store.stored_uri(uri): self.changes[uri] for uri in sorted(self.changes)}
            ).decode(),
        }
        if changed != settings:
            store.set_settings(changed)

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

    def starting(self, roots: Sequence[Root]) -> RememberedRoots:
        """Return what is remembered before a pass over some roots, which may be interrupted."""
        known = sorted({*self.others(roots), *roots}, key=lambda root: root.uri)
        return replace(self, roots=tuple(known))

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
        changes = dict(self.changes)
        # Of a root that was read in part, files that were not reached may have changed before.
        partly = {r.uri for r in roots if any(is_below(uri, r.uri) for uri in unreachable)}
        for root in roots:
            if root.uri not in partly:
                changes.setdefault(root.uri, 0)
        for file in discovery.files:
            if file.root not in partly:
                changes[file.root] = max(changes.get(file.root, 0), file.changed_ns)
        return RememberedRoots(
            tuple(sorted(known, key=lambda root: root.uri)),
            tuple(sorted({*mounts, *discovery.mounts})),
            {root.uri: changes[root.uri] for root in known if root.uri in changes},
        )

    def without_renamed(self, store: _native.Store) -> RememberedRoots:
        """Return the roots without those that are gone, and of which there is no document.

        The pass that found their documents below another root has renamed them.
        """
        gone = [each.uri for each in self.roots if not os.path.lexists(path_of(each.uri))]
        if not gone:
            return self
        # Those of a file with several documents have its URI before a "#", which any name may have.
        found = [row.uri for row in store.documents()]
        return self.without(
            uri
            for uri in gone
            if not any(is_below(each, uri) or each.startswith(f"{uri}#") for each in found)
        )

    def without(self, uris: Iterable[str]) -> RememberedRoots:
        """Return the roots and mount points that do not lie below some URIs."""
        removed = tuple(uris)
        return replace(
            self,
            roots=tuple(r for r in self.roots if not any(is_below(r.uri, uri) for uri in removed)),
            mounts=tuple(m for m in self.mounts if not any(is_below(m, uri) for uri in removed)),
            changes={
                uri: changed_ns
                for uri, changed_ns in self.changes.items()
                if not any(is_below(uri, each) for each in removed)
            },
        )

    def patterns(self, uri: str, *, is_glob: bool) -> list[tuple[Root, str]]:
        """Return the roots that a file or glob lies below, each with its exclude for that."""
        found = []
        for root in self.roots:
            below = uri.removeprefix(f"{root.uri.rstrip('/')}/")
            if below != uri:
                escaped = below if is_glob else _WILDCARD.sub(r"[\g<0>]", below)
                found.append((root, f"/{escaped}"))
        return found

    def excluding(self, uri: str, *, is_glob: bool) -> RememberedRoots:
        """Return the roots with a file, folder or glob below them as one of their excludes."""
        found = dict(self.patterns(uri, is_glob=is_glob))
        roots = [
            replace(root, exclude=tuple(dict.fromkeys((*root.exclude, found[root]))))
            if root in found
            else root
            for root in self.roots
        ]
        return replace(self, roots=tuple(roots))


def root_acts(roots: Iterable[Root], *, index: str) -> list[str]:
    """Return what refreshing some roots does outside the folder that holds the index."""
    holder = os.path.realpath(os.path.dirname(os.path.realpath(index)))
    paths = [path_of(root.uri) for root in roots]
    outside = [path for path in paths if not is_below(os.path.realpath(path), holder)]
    return [f"read {uri_of(path)}" for path in outside]


def remembered_acts(store: _native.Store) -> list[str]:
    """Return what refreshing the remembered roots does outside the folder that holds the index."""
    return root_acts(RememberedRoots.read(store).roots, index=store.path)


def require_allowed_roots(store: _native.Store) -> None:
    """Raise `Untrusted` if a remembered root may not be read: see the top of this module."""
    require_allowed(store.path, remembered_acts(store))


def read_root_paths(store: _native.Store) -> tuple[str, ...]:
    """Return the paths of the remembered roots of a store."""
    return tuple(path_of(root.uri) for root in RememberedRoots.read(store).roots)


_FILE = "skipped.jsonl"


def read_skipped(store: _native.Store) -> list[Skipped]:
    """Return the paths that were not indexed, by URI; none if there is no whole record."""
    try:
        lines = (_native.read_file(store.path, _FILE) or b"").splitlines()
        entries = [Skipped(**orjson.loads(line)) for line in lines]
    except (ValueError, TypeError):
        return []
    return [replace(entry, uri=store.absolute_uri(entry.uri)) for entry in entries]


def record_skipped(
    store: _native.Store,
    skipped: Iterable[Skipped],
    *,
    roots: Sequence[str],
    unreachable: Sequence[str],
) -> None:
    """Replace the record of what lies below roots; what could not be reached keeps its own."""
    kept = [
        each
        for each in read_skipped(store)
        if not any(is_below(each.uri, root) for root in roots)
        or any(is_below(each.uri, closed) for closed in unreachable)
    ]
    stored = {replace(entry, uri=store.stored_uri(entry.uri)) for entry in (*kept, *skipped)}
    entries = sorted(stored, key=lambda entry: (entry.uri, entry.reason))
    lines = b"".join(orjson.dumps(entry) + b"\n" for entry in entries)
    _native.replace_file(store.path, _FILE, lines)
