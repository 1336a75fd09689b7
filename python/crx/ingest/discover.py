"""Discovery of files below paths, honouring ignore files.

Left out are hidden files, index folders (`*.crx`), and what `.gitignore`, `.ignore` and
`.crxignore` ignore, in this order of increasing precedence; the rules of a deeper folder override
those of the folders above it. Links are not followed: the target is found at its own place if it
lies in the tree, and was not asked for if it lies outside. A path that is given itself is always
taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from crx.errors import UsageError
from crx.ingest.paths import uri_of

_IGNORE_FILES = (".gitignore", ".ignore", ".crxignore")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file: its path, the given path it was found under, its URI, size and time stamp.

    A folder that cannot be listed is yielded too, so that the attempt to read it fails.
    """

    path: Path
    root: Path
    uri: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one folder's ignore file, or those of `exclude`."""

    folder: str
    spec: GitIgnoreSpec


def discover(paths: Sequence[Path], *, exclude: Sequence[str] = ()) -> Iterator[FoundFile]:
    """Yield the files at and under the paths, each once: root by root, by name within a folder.

    `exclude` are patterns as in a `.gitignore` at each root; no ignore file overrides them. Raises
    `UsageError` for a path that does not exist or is neither a file nor a folder, before any file
    is yielded.
    """
    roots = [os.path.abspath(path) for path in paths]
    for given, root in zip(paths, roots, strict=True):
        if not os.path.lexists(root) or not os.path.exists(root):
            raise UsageError(f"{given}: no such file or folder")
        if not (os.path.isfile(root) or os.path.isdir(root)):
            raise UsageError(f"{given}: neither a file nor a folder")
    return _iterate(roots, GitIgnoreSpec.from_lines(exclude))


def _iterate(roots: Sequence[str], exclude: GitIgnoreSpec) -> Iterator[FoundFile]:
    seen: set[str] = set()
    for root in roots:
        files = _folder(root, exclude) if os.path.isdir(root) else iter((root,))
        for path in files:
            if path not in seen:
                seen.add(path)
                yield _stat(path, root)


def _stat(path: str, root: str) -> FoundFile:
    try:
        stat = os.stat(path)
        size, mtime_ns = stat.st_size, stat.st_mtime_ns
    except OSError:  # removed since it was listed: the attempt to read it fails
        size, mtime_ns = 0, 0
    return FoundFile(Path(path), Path(root), uri_of(path), size, mtime_ns)


def _folder(root: str, exclude: GitIgnoreSpec) -> Iterator[str]:
    """Yield a folder's files in order.

    Not recursive, since a tree may be deeper than Python's stack.
    """
    excluded = _Rules(root, exclude)
    stack: list[tuple[str, bool, tuple[_Rules, ...]]] = [(root, True, _rules_above(root))]
    while stack:
        path, is_folder, rules = stack.pop()
        if not is_folder:
            yield path
            continue
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name, reverse=True)
        except OSError:
            yield path
            continue
        names = {entry.name for entry in entries}
        rules = (*rules, *_read_rules(path, names))
        for entry in entries:
            folder = entry.is_dir(follow_symlinks=False)
            if not folder and not entry.is_file(follow_symlinks=False):
                continue
            if entry.name.startswith(".") or (folder and entry.name.endswith(".crx")):
                continue
            if _decision(excluded, entry.path, folder=folder) or _ignored(
                rules, entry.path, folder=folder
            ):
                continue
            stack.append((entry.path, folder, rules))


def _ignored(rules: Sequence[_Rules], path: str, *, folder: bool) -> bool:
    """Return True if the last rules that match a path ignore it."""
    for rule in reversed(rules):
        ignored = _decision(rule, path, folder=folder)
        if ignored is not None:
            return ignored
    return False


def _decision(rules: _Rules, path: str, *, folder: bool) -> bool | None:
    """Return True if rules ignore a path, False if they take it back, None without a match."""
    relative = path[len(rules.folder) :].replace(os.sep, "/").lstrip("/")
    return rules.spec.check_file(relative + "/" if folder else relative).include


def _read_rules(folder: str, names: set[str]) -> Iterator[_Rules]:
    for name in _IGNORE_FILES:
        if name in names:
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    lines = file.read().splitlines()
            except OSError as failed:
                reason = (failed.strerror or str(failed)).lower()
                raise UsageError(
                    f"{os.path.join(folder, name)}: cannot be read: {reason}"
                ) from failed
            yield _Rules(folder, GitIgnoreSpec.from_lines(lines))


def _rules_above(root: str) -> tuple[_Rules, ...]:
    """Return the rules of the folders above a root, up to the repository it lies in.

    There are none without a repository, nor if they ignore the root itself, which was asked for.
    """
    folders: list[str] = []
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ()
        folders.append(parent)
        folder = parent
    rules = tuple(
        rule
        for folder in reversed(folders)
        for rule in _read_rules(folder, set(os.listdir(folder)))
    )
    inside = [root, *folders[:-1]]
    return () if any(_ignored(rules, path, folder=True) for path in inside) else rules
