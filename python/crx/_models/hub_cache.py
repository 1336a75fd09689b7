"""Folders of the Hugging Face cache: `models--OWNER--NAME`, with refs and snapshots.

A snapshot is a folder of links into `blobs`, named by its commit.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from crx.errors import ModelError

_PREFIX = "models--"


class CachedSnapshot(NamedTuple):
    """One commit of a model in the cache: the model's name, `OWNER/NAME`, and the folder."""

    repository: str
    commit: str
    folder: Path


def is_cache_folder(path: Path) -> bool:
    """Return whether a path is a model's folder in the cache."""
    return path.name.startswith(_PREFIX) and (path / "snapshots").is_dir()


def cache_folder(cache: Path, repository: str) -> Path:
    """Return the folder of a model in a cache."""
    return cache / (_PREFIX + repository.replace("/", "--"))


def find_snapshot(path: Path, revision: str | None = None) -> CachedSnapshot:
    """Return the snapshot of a revision: by default that of `main`, else the only one.

    Raises `ModelError` if it is not in the cache.
    """
    repository = path.name.removeprefix(_PREFIX).replace("--", "/")
    reference = path / "refs" / (revision or "main")
    commit = revision or ""
    if reference.is_file():
        commit = reference.read_text(encoding="ascii", errors="replace").strip()
    commits = sorted(each.name for each in (path / "snapshots").glob("*") if each.is_dir())
    if not commit and len(commits) == 1:
        commit = commits[0]
    if commit not in commits:
        raise ModelError(
            f"{path}: has no snapshot of {revision or 'main'}; "
            f"there are: {', '.join(commits) or 'none'}"
        )
    return CachedSnapshot(repository, commit, path / "snapshots" / commit)


def list_snapshots(cache: Path) -> list[CachedSnapshot]:
    """Return every snapshot in a cache, by the name of its model; none without a cache."""
    return [
        found
        for model in sorted(cache.glob(f"{_PREFIX}*"))
        for folder in sorted((model / "snapshots").glob("*"))
        if (found := snapshot_of(folder)) is not None
    ]


def snapshot_of(path: Path) -> CachedSnapshot | None:
    """Return the snapshot that a folder is, or None."""
    model = path.parent.parent
    if path.parent.name != "snapshots" or not is_cache_folder(model):
        return None
    return CachedSnapshot(model.name.removeprefix(_PREFIX).replace("--", "/"), path.name, path)
