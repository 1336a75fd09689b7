"""Rules by which files and folders are left out: ignore files, excludes, folders of build products.

An entry is left out if it is hidden or an index, if an exclude matches it, or if the last matching
line of the ignore files ignores it. `.gitignore`, `.ignore` and `.crxignore` count in this order of
increasing precedence, and the files of a deeper folder override those of the folders above. What
they take back with `!` is not left out as a folder of build products either.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from pathspec import GitIgnoreSpec

from crx.ingest.paths import escape_path

IGNORE_FILES = (".gitignore", ".ignore", ".crxignore")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why an entry is left out, "" if it is not; `taken_back` if a `!` line of a file matched."""

    reason: str = ""
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns of one ignore file or of `exclude`, relative to a folder."""

    folder: str
    spec: GitIgnoreSpec
    origin: str

    def includes(self, path: str, *, folder: bool) -> bool | None:
        """Return True if a pattern matches a path, False if it takes it back, None without one."""
        relative = path[len(self.folder) :].replace(os.sep, "/").lstrip("/")
        return self.spec.check_file(relative + "/" if folder else relative).include


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
            if fnmatchcase(name, pattern):
                names = beside if is_beside else inside
                if not entry or any(fnmatchcase(each, entry) for each in names):
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

        Raises `OSError` for an ignore file that cannot be read.
        """
        excluded = _Patterns(root, GitIgnoreSpec.from_lines(exclude), "excluded")
        return IgnoreRules(excluded, _patterns_above(root))

    def enter(self, folder: str, names: Sequence[str]) -> IgnoreRules:
        """Return the rules within a folder that holds `names`; raise `OSError` as `at_root`."""
        own = tuple(_read_patterns(folder, names))
        return replace(self, chain=(*self.chain, *own)) if own else self

    def judge(self, entry: os.DirEntry[str], *, folder: bool) -> Verdict:
        """Return whether an entry is left out."""
        if entry.name.startswith("."):
            return Verdict("is hidden")
        if folder and entry.name.endswith(".crx"):
            return Verdict("is an index")
        if self.exclude.includes(entry.path, folder=folder):
            return Verdict(self.exclude.origin)
        return _judge(self.chain, entry.path, folder=folder)


def _judge(chain: Sequence[_Patterns], path: str, *, folder: bool) -> Verdict:
    """Return the verdict of the last patterns that match a path."""
    for patterns in reversed(chain):
        included = patterns.includes(path, folder=folder)
        if included is not None:
            return Verdict(patterns.origin) if included else Verdict(taken_back=True)
    return Verdict()


def _read_patterns(folder: str, names: Sequence[str]) -> Iterator[_Patterns]:
    for name in IGNORE_FILES:
        if name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                spec = GitIgnoreSpec.from_lines(file.read().splitlines())
            yield _Patterns(folder, spec, f"ignored by {escape_path(path)}")


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
