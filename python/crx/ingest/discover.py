"""Discovery of files below paths, honouring ignore files.

Ignored are hidden files, index folders (`*.crx`), and what `.gitignore`, `.ignore` and `.crxignore`
say, in this order of increasing precedence; those of a deeper folder go before those of an upper
one. Links are not followed: what one points to inside the tree is found where it is, and what lies
outside was not asked for. A path that is named outright is taken, whatever would ignore it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from crx.errors import UsageError

_IGNORE_FILES = (".gitignore", ".ignore", ".crxignore")


@dataclass(frozen=True, slots=True)
class Found:
    """A file: its path, the path it was found under, its URI, bytes and time stamp.

    A folder that cannot be listed is found as well, so that reading it says so.
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


def walk(paths: Sequence[Path], *, exclude: Sequence[str] = ()) -> Iterator[Found]:
    """Yield the files at and under the paths, each once: root by root, by name within a folder.

    `exclude` are patterns as in a `.gitignore` at each root, and nothing overrules them. Raises
    `UsageError` for a path that does not exist or is neither a file nor a folder, before any file
    is yielded.
    """
    roots = [os.path.abspath(path) for path in paths]
    for given, root in zip(paths, roots, strict=True):
        if not os.path.lexists(root) or not os.path.exists(root):
            raise UsageError(f"{given}: no such file or folder")
        if not (os.path.isfile(root) or os.path.isdir(root)):
            raise UsageError(f"{given}: neither a file nor a folder")
    return _walked(roots, GitIgnoreSpec.from_lines(exclude))


def uri_of(path: str | Path) -> str:
    """Return the absolute path with forward slashes; bytes that are not UTF-8 are escaped."""
    absolute = Path(os.path.abspath(path)).as_posix()
    return os.fsencode(absolute).decode("utf-8", errors="backslashreplace")


def _walked(roots: Sequence[str], exclude: GitIgnoreSpec) -> Iterator[Found]:
    seen: set[str] = set()
    for root in roots:
        files = _folder(root, exclude) if os.path.isdir(root) else iter((root,))
        for path in files:
            if path not in seen:
                seen.add(path)
                yield _found(path, root)


def _found(path: str, root: str) -> Found:
    try:
        stat = os.stat(path)
        size, mtime_ns = stat.st_size, stat.st_mtime_ns
    except OSError:  # it went since it was listed: reading it will say so
        size, mtime_ns = 0, 0
    return Found(Path(path), Path(root), uri_of(path), size, mtime_ns)


def _folder(root: str, exclude: GitIgnoreSpec) -> Iterator[str]:
    """Yield a folder's files in order. Not recursive: a tree may be deeper than Python's stack."""
    excluded = _Rules(root, exclude)
    above = _above(root)
    stack: list[tuple[str, bool, tuple[_Rules, ...]]] = [(root, True, above)]
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
        rules = (*rules, *_own(path, names))
        for entry in entries:
            folder = entry.is_dir(follow_symlinks=False)
            if not folder and not entry.is_file(follow_symlinks=False):
                continue
            if entry.name.startswith(".") or (folder and entry.name.endswith(".crx")):
                continue
            if _says(excluded, entry.path, folder=folder) or _ignored(
                rules, entry.path, folder=folder
            ):
                continue
            stack.append((entry.path, folder, rules))


def _ignored(rules: Sequence[_Rules], path: str, *, folder: bool) -> bool:
    """Is a path ignored by the last rules that speak of it?"""
    for rule in reversed(rules):
        said = _says(rule, path, folder=folder)
        if said is not None:
            return said
    return False


def _says(rules: _Rules, path: str, *, folder: bool) -> bool | None:
    """Do the rules ignore a path (True), take it back (False), or not speak of it (None)?"""
    relative = path[len(rules.folder) :].replace(os.sep, "/").lstrip("/")
    return rules.spec.check_file(relative + "/" if folder else relative).include


def _own(folder: str, names: set[str]) -> Iterator[_Rules]:
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


def _above(root: str) -> tuple[_Rules, ...]:
    """Return the rules of the folders over a root, up to the repository it lies in.

    None if there is no repository, or if they would ignore the root itself: it was asked for.
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
        rule for folder in reversed(folders) for rule in _own(folder, set(os.listdir(folder)))
    )
    inside = [root, *folders[:-1]]
    return () if any(_ignored(rules, path, folder=True) for path in inside) else rules
