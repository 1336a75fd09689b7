"""Rules by which files and folders are left out: ignore files, excludes, folders of build products.

An entry is left out if it is hidden or an index, if an exclude matches it, or if the last matching
line of the ignore files ignores it. `.gitignore`, `.ignore` and `.crxignore` count in this order of
increasing precedence, and the files of a deeper folder override those of the folders above; below
them all are the files that git reads for the repository. What they take back with `!` is not left
out as a folder of build products either.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crx import _native
from crx.ingest.git_excludes import exclude_files
from crx.ingest.paths import compile_glob, escape_path, readable

IGNORE_FILES = (".gitignore", ".ignore", ".crxignore")
# Files that Office hides: the name of who has a document open.
_OWNER = "~$"
_DOWNLOADS = (".crdownload", ".part", ".partial")
# Bytes of the largest ignore file: what a walk takes grows with it, for each entry.
_LARGEST = 1_000_000


def matches_name(pattern: str, name: str) -> bool:
    """Return whether a pattern with `*`, `?` and `[...]` matches the name of a file or folder."""
    return compile_glob(pattern).matches(readable(name))


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Why an entry is left out, "" if it is not; `taken_back` if a `!` line of a file matched."""

    reason: str = ""
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns of one ignore file or of `exclude`, relative to a folder."""

    folder: str
    patterns: _native.IgnorePatterns
    origin: str

    def includes(self, path: str, *, folder: bool) -> bool | None:
        """Return True if a pattern matches a path, False if it takes it back, None without one."""
        relative = path[len(self.folder) :].replace(os.sep, "/").lstrip("/")
        return self.patterns.check(readable(relative + "/" if folder else relative))


@dataclass(frozen=True, slots=True)
class FolderPatterns:
    """Patterns of folders that hold no documents, such as `node_modules`.

    A pattern is `NAME`, `NAME/ENTRY` for a folder that holds ENTRY, or `NAME/../ENTRY` for one
    that lies beside it. NAME and ENTRY may hold `*` and `?`.
    """

    patterns: tuple[tuple[str, str, bool], ...]

    @staticmethod
    def parse(text: str) -> FolderPatterns:
        """Return the patterns of a text that separates them by blanks."""
        parsed = []
        for word in text.split():
            name, _, entry = word.partition("/")
            parsed.append((name, entry.removeprefix("../"), entry.startswith("../")))
        return FolderPatterns(tuple(parsed))

    def match(self, name: str, *, inside: Sequence[str], beside: Sequence[str]) -> str:
        """Return the pattern that a folder matches, given the names in and beside it, or ""."""
        for pattern, entry, is_beside in self.patterns:
            if matches_name(pattern, name):
                names = beside if is_beside else inside
                if not entry or any(matches_name(entry, each) for each in names):
                    parts = (pattern, ".." if is_beside else "", entry)
                    return "/".join(part for part in parts if part)
        return ""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder."""

    exclude: _Patterns
    chain: tuple[_Patterns, ...] = ()

    @staticmethod
    def at_root(root: str, exclude: Sequence[str]) -> IgnoreRules:
        """Return the rules above a root: `exclude`, and the ignore files of its repository.

        Raises `OSError` for an ignore file that cannot be read, and `ValueError` for a pattern
        that is too long.
        """
        excluded = _Patterns(root, _native.IgnorePatterns(list(exclude)), "excluded")
        return IgnoreRules(excluded, _patterns_above(root))

    def enter(self, folder: str, names: Sequence[str]) -> IgnoreRules:
        """Return the rules within a folder that holds `names`; raise `OSError` as `at_root`."""
        own = tuple(_read_patterns(folder, names))
        return replace(self, chain=(*self.chain, *own)) if own else self

    def judge(self, entry: os.DirEntry[str], *, folder: bool) -> _Verdict:
        """Return whether an entry is left out."""
        if entry.name.startswith((".", _OWNER)):
            return _Verdict("is hidden")
        if entry.name.endswith(_DOWNLOADS) and not folder:
            return _Verdict("is an unfinished download")
        if folder and entry.name.endswith(".crx"):
            return _Verdict("is an index")
        if self.exclude.includes(entry.path, folder=folder):
            return _Verdict(self.exclude.origin)
        return _judge(self.chain, entry.path, folder=folder)


def _judge(chain: Sequence[_Patterns], path: str, *, folder: bool) -> _Verdict:
    """Return the verdict of the last patterns that match a path."""
    for patterns in reversed(chain):
        included = patterns.includes(path, folder=folder)
        if included is not None:
            return _Verdict(patterns.origin) if included else _Verdict(taken_back=True)
    return _Verdict()


def _read_patterns(folder: str, names: Sequence[str]) -> Iterator[_Patterns]:
    files = list(exclude_files(folder, _read)) if ".git" in names else []
    files += [os.path.join(folder, name) for name in IGNORE_FILES if name in names]
    for path in files:
        lines = _read(path).decode("utf-8-sig", errors="replace").splitlines()
        try:
            patterns = _native.IgnorePatterns(lines)
        except ValueError as why:
            raise OSError(errno.EINVAL, str(why), path) from None
        yield _Patterns(folder, patterns, f"ignored by {escape_path(path)}")


def _read(path: str) -> bytes:
    """Return the bytes of an ignore file.

    Raises `OSError` for a link, whose target nobody asked to be read, for what is no file, which
    may have no end, and for more than `_LARGEST` bytes.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as failed:
        if failed.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a link; links are not followed", path) from None
        raise
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "is not a file", path)
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(errno.EFBIG, f"has more than {_LARGEST:,} bytes", path)
    return content


def _patterns_above(root: str) -> tuple[_Patterns, ...]:
    """Return the patterns of the folders above a root, up to the repository it lies in.

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
    chain: list[_Patterns] = []
    for each in reversed(folders):
        chain += _read_patterns(each, os.listdir(each))
    inside = [root, *folders[:-1]]
    return () if any(_judge(chain, path, folder=True).reason for path in inside) else tuple(chain)
