"""Removal of documents by URI, path, folder or glob."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import orjson

from crx import _native
from crx.ingest.discover import Root
from crx.ingest.paths import candidate_uris, compile_glob, is_below, path_of, uri_of
from crx.ingest.recorded_failures import RecordedFailures
from crx.ingest.roots import RememberedRoots

_WILDCARDS = frozenset("*?[")


def remove_matching(store: _native.Store, names: Sequence[str]) -> dict[str, int]:
    """Remove the documents that names match; return how many for each name.

    A name is a URI, a file, a folder or a glob; a relative path starts at the current folder. Roots
    that lie in a removed folder are not refreshed any more, and what lies below another root is one
    of its excludes from now on.
    """
    remembered = RememberedRoots.read(store)
    removed: dict[str, int] = {}
    for name in names:
        folders = candidate_uris(name)
        removed[name] = store.remove_documents(_find(store, name, folders))
        failed = RecordedFailures(store, files={_path_of_row(row) for row in store.documents()})
        store.forget_failures([uri for each in folders for uri in failed.below(each)])
        remembered = remembered.without(folders)
        if removed[name] and _may_come_back(name):
            remembered = remembered.excluding(uri_of(name), is_glob=_is_glob(name))
    remembered.write(store)
    return removed


def find_left_out(store: _native.Store, names: Sequence[str]) -> dict[str, list[Root]]:
    """Return the roots that leave out names since they were removed, by name, without that exclude.

    What is no glob is taken back by its own name, and has no roots.
    """
    remembered = RememberedRoots.read(store)
    found: dict[str, list[Root]] = {}
    for name in filter(_may_come_back, names):
        is_glob = _is_glob(name)
        without = [
            replace(root, exclude=tuple(each for each in root.exclude if each != pattern))
            for root, pattern in remembered.patterns(uri_of(name), is_glob=is_glob)
            if pattern in root.exclude
        ]
        if without:
            found[name] = without if is_glob else []
    return found


def _is_glob(name: str) -> bool:
    return bool(_WILDCARDS.intersection(name)) and not os.path.lexists(path_of(uri_of(name)))


def _may_come_back(name: str) -> bool:
    return _is_glob(name) or os.path.lexists(path_of(uri_of(name)))


def _find(store: _native.Store, name: str, folders: Sequence[str]) -> list[str]:
    rows = store.documents()
    exact = [row.uri for row in rows if row.uri in folders]
    if exact:
        return exact
    below = [
        row.uri
        for row in rows
        if any(is_below(uri, each) for each in folders for uri in (row.uri, _path_of_row(row)))
    ]
    if below or not _WILDCARDS.intersection(name):
        return below
    globs = [compile_glob(pattern) for pattern in folders]
    return [
        row.uri
        for row in rows
        if any(glob.matches(text) for glob in globs for text in (row.uri, _path_of_row(row)))
    ]


def _path_of_row(row: _native.DocumentRow) -> str:
    """Return the URI of the file that a document was read from, or its own."""
    path = orjson.loads(row.metadata).get("path")
    return path if isinstance(path, str) else row.uri
