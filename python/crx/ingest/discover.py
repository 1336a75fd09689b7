"""Discovery of the files below paths.

Every path that is met is accounted for: as a file, as ignored by a rule (see `ignore.py`), as
skipped, or as unreachable. Links are not followed: the target is found at its own path if it lies
in the tree, and was not asked for if it lies outside. A path that is given itself is always taken.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crx.config import Settings
from crx.errors import InputError, UsageError
from crx.ingest.found_file import FoundFile
from crx.ingest.ignore import FolderPatterns, IgnoreRules
from crx.ingest.path_selection import PathSelection
from crx.ingest.paths import describe_os_error, escape_path, path_of, uri_of
from crx.ingest.report import Failure, Skipped

DEFAULT_SKIPPED_FOLDERS = FolderPatterns.parse(Settings().skip_folders)
# The last time that the store can hold, in nanoseconds since 1970: in the year 2262.
_LATEST_NS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that is indexed, and patterns as in a `.gitignore` of what is left out."""

    uri: str
    exclude: tuple[str, ...] = ()

    @staticmethod
    def at(path: str | os.PathLike[str], *, exclude: Sequence[str] = ()) -> Root:
        """Return the root at a path, which need not exist."""
        return Root(uri_of(path), tuple(exclude))


@dataclass(slots=True)
class Discovery:
    """What lies below some roots.

    `ignored` is what a rule leaves out, `skipped` what is neither a file nor a folder.
    `unreachable` are folders and roots that could not be listed: what they hold is not known.
    `vanished` are roots that do not exist and of which nothing is known any more. `mounts` are the
    mount points among the folders.
    """

    files: list[FoundFile] = field(default_factory=list)
    ignored: list[Skipped] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unreachable: list[Failure] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    mounts: list[str] = field(default_factory=list)


def discover(
    roots: Sequence[Root],
    *,
    skip_folders: FolderPatterns = DEFAULT_SKIPPED_FOLDERS,
    only: PathSelection | None = None,
) -> Discovery:
    """Return what lies at and under the roots: root by root, by name within a folder.

    A file that several roots hold is found once. A root that does not exist is unreachable. With
    `only`, only what it covers is found.
    """
    discovery = Discovery()
    seen: set[str] = set()
    for root in roots:
        _Walk(root, skip_folders, discovery, seen, only).run()
    return discovery


def require_paths(paths: Sequence[Path]) -> None:
    """Raise `UsageError` for a path that does not exist, or is neither a file nor a folder."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"{escape_path(path)}: no such file or folder")
        if not (path.is_file() or path.is_dir()):
            raise UsageError(f"{escape_path(path)}: neither a file nor a folder")


def read_content(found: FoundFile, *, max_file_mb: int) -> bytes:
    """Return the bytes of a file that was found.

    Raises `InputError` for more than `max_file_mb` million bytes, and for a path at which there is
    a link, a pipe or a device by now; `OSError`.
    """
    # A pipe would block until somebody writes. A root may be a link: it was named.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        handle = os.open(found.location, flags | (0 if found.uri == found.root else os.O_NOFOLLOW))
    except OSError as failed:
        if failed.errno == errno.ELOOP:
            raise InputError("is a link by now; links are not followed") from failed
        raise
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise InputError("is not a file any more")
        size = max(found.size, status.st_size)
        most = max_file_mb * 1_000_000
        data = b"" if size > most else file.read(most + 1)
    if max(size, len(data)) > most:
        raise InputError(
            f"{size / 1e6:.0f} MB, more than max_file_mb = {max_file_mb}; "
            f"--set max_file_mb={-(-size // 1_000_000)} reads it"
        )
    return data


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to list: its path, the device and the entries of its parent, and its rules.

    `moved_ns` is when it or a folder above was last moved, 0 if that is not known. `taken_back` is
    true if an ignore file includes it explicitly, `is_whole` if all that is in it is to be found.
    """

    path: str
    parent_device: int
    beside: Sequence[str]
    rules: IgnoreRules
    taken_back: bool
    is_whole: bool
    moved_ns: int = 0


@dataclass(frozen=True, slots=True)
class _Listed:
    """A folder that is being listed: its device, and when it or a folder above was last moved."""

    device: int
    moved_ns: int


class _Walk:
    """The walk below one root. Not recursive, since a tree may be deeper than Python's stack."""

    def __init__(
        self,
        root: Root,
        skip_folders: FolderPatterns,
        discovery: Discovery,
        seen: set[str],
        only: PathSelection | None,
    ) -> None:
        self._root = root
        self._path = path_of(root.uri)
        self._skip_folders = skip_folders
        self._discovery = discovery
        self._seen = seen
        self._only = only
        # Folders, and files with the time when their folder was moved.
        self._stack: list[_Folder | tuple[os.DirEntry[str], int]] = []

    def run(self) -> None:
        """Add what lies at and under the root to the discovery."""
        is_whole = self._only is None or self._only.covers(self._path)
        if not (is_whole or self._leads_to_touched(self._path)):
            return
        try:
            status = os.stat(self._path)
            if stat.S_ISREG(status.st_mode):
                self._add_file(self._path, status)
                return
            if not stat.S_ISDIR(status.st_mode):
                self._skip(self._path, _describe_mode(status.st_mode))
                return
            # A link is no mount point, whatever device its target is on.
            beside = self._path if os.path.islink(self._path) else os.path.dirname(self._path)
            parent_device = os.stat(beside).st_dev
            rules = IgnoreRules.at_root(self._path, self._root.exclude)
        except OSError as error:
            self._add_unreachable(self._path, error)
            return
        self._stack.append(
            _Folder(self._path, parent_device, (), rules, taken_back=True, is_whole=is_whole)
        )
        while self._stack:
            item = self._stack.pop()
            if isinstance(item, _Folder):
                self._list(item)
            else:
                self._stat_file(*item)

    def _list(self, folder: _Folder) -> None:
        try:
            status = os.stat(folder.path)
            with os.scandir(folder.path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name, reverse=True)
            names = [entry.name for entry in entries]
            rules = folder.rules.enter(folder.path, names)
        except (FileNotFoundError, NotADirectoryError):
            return  # removed since its parent was listed
        except OSError as error:
            self._add_unreachable(folder.path, error)
            return
        if status.st_dev != folder.parent_device:
            self._discovery.mounts.append(uri_of(folder.path))
        name = os.path.basename(folder.path)
        if not folder.taken_back and (
            pattern := self._skip_folders.match(name, inside=names, beside=folder.beside)
        ):
            self._ignore(folder.path, f"holds no documents: skip_folders has {pattern}")
            return
        here = _Listed(status.st_dev, max(folder.moved_ns, _moved_ns(status)))
        for entry in entries:
            is_whole = folder.is_whole or self._only is None or self._only.includes(entry.path)
            if not (is_whole or self._leads_to_touched(entry.path)):
                continue
            try:
                self._add(entry, here, names, rules, is_whole=is_whole)
            except FileNotFoundError:
                continue  # removed since its folder was listed
            except OSError as error:
                self._add_unreachable(entry.path, error)

    def _leads_to_touched(self, path: str) -> bool:
        return self._only is None or self._only.leads_to(path)

    def _add(
        self,
        entry: os.DirEntry[str],
        here: _Listed,
        beside: Sequence[str],
        rules: IgnoreRules,
        *,
        is_whole: bool,
    ) -> None:
        is_folder = entry.is_dir(follow_symlinks=False)
        verdict = rules.judge(entry, folder=is_folder)
        if verdict.reason:
            self._ignore(entry.path, verdict.reason)
        elif is_folder:
            self._stack.append(
                _Folder(
                    entry.path, here.device, beside, rules,
                    taken_back=verdict.taken_back, is_whole=is_whole, moved_ns=here.moved_ns,
                )
            )  # fmt: skip
        elif not is_whole:
            return
        elif entry.is_file(follow_symlinks=False):
            self._stack.append((entry, here.moved_ns))
        else:
            self._skip(entry.path, _describe_special(entry))

    def _stat_file(self, entry: os.DirEntry[str], moved_ns: int) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return  # removed since its folder was listed
        except OSError:  # the attempt to read it fails, too, and says why
            status = None
        self._add_file(entry.path, status, moved_ns=moved_ns)

    def _add_file(self, path: str, status: os.stat_result | None, *, moved_ns: int = 0) -> None:
        if path in self._seen:
            return
        self._seen.add(path)
        size = status.st_size if status else 0
        mtime_ns, changed_ns = (
            (_storable(status.st_mtime_ns), _storable(status.st_ctime_ns)) if status else (0, 0)
        )
        self._discovery.files.append(
            FoundFile(
                path, uri_of(path), self._root.uri, size, mtime_ns,
                max(changed_ns, moved_ns),
            )
        )  # fmt: skip

    def _add_unreachable(self, path: str, error: OSError) -> None:
        named = error.filename if isinstance(error.filename, str) else path
        inner = f"{os.path.basename(named)}: " if named != path else ""
        reason = f"{inner}{describe_os_error(error)}"
        self._discovery.unreachable.append(Failure(uri_of(path), reason))

    def _skip(self, path: str, reason: str) -> None:
        self._discovery.skipped.append(Skipped(uri_of(path), reason))

    def _ignore(self, path: str, reason: str) -> None:
        self._discovery.ignored.append(Skipped(uri_of(path), reason, is_ignored=True))


def _moved_ns(status: os.stat_result) -> int:
    """Return when a folder was last moved, 0 if it is not known.

    A new or deleted entry sets both time stamps of a folder, a move one alone. Other changes, like
    that of its mode, look like a move: its files are then read once more than they need be.
    """
    is_moved = status.st_ctime_ns > status.st_mtime_ns
    return _storable(status.st_ctime_ns) if is_moved else 0


def _storable(nanoseconds: int) -> int:
    """Return a file's time, or the nearest that the store can hold: a file may be dated 2300."""
    return max(-_LATEST_NS - 1, min(nanoseconds, _LATEST_NS))


def _describe_special(entry: os.DirEntry[str]) -> str:
    """Return what an entry is that is neither a file nor a folder."""
    if entry.is_symlink():
        target = escape_path(os.readlink(entry.path))
        broken = "" if os.path.exists(entry.path) else "broken "
        return f"is a {broken}link to {target}; links are not followed"
    return _describe_mode(entry.stat(follow_symlinks=False).st_mode)


def _describe_mode(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "is a pipe"
    return "is a socket" if stat.S_ISSOCK(mode) else "is a device"
