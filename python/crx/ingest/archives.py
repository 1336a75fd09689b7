"""Archives, ZIP and tar: each file within is read as a file of its own.

A document's URI is that of the archive with `#` and the path within, such as `a.zip#docs/guide.md`.
Nothing is written to the disk, so that no path within leads anywhere; a path that would leave the
archive is refused all the same, as are links and devices, since what they mean is not what they
name. What is decompressed is counted, whatever sizes an archive declares, over all archives within
one file.

The documents that can be read are yielded first; then one `InputError` names the files that cannot.
"""

from __future__ import annotations

import lzma
import stat
import struct
import tarfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Protocol
from zipfile import BadZipFile, ZipFile, ZipInfo

from crx.errors import InputError, NotText
from crx.types import Document

# Extensions of archives, each with that of the compression around a tar file.
EXTENSIONS = {".zip": "", ".tar": "", ".tgz": ".gz", ".tbz2": ".bz2", ".txz": ".xz"}

# Files of one archive, those of the archives in it included.
MOST_FILES = 10_000
# An archive in an archive is read, one in that is not.
MOST_LEVELS = 2
# Seconds of the CPU for all files of one archive; the limits of a file hold for each.
MOST_SECONDS = 600.0
# A larger file than this may not be compressed more than so many times; text is, about 3 to 20.
_MIN_SUSPECT = 4_000_000
_MAX_RATIO = 200
_LONGEST_PATH = 1000
_NAMED = 5  # bad files that the error names; the others are counted
# `zipfile` raises NotImplementedError for a compression method or an encryption that it lacks, and
# RuntimeError for a file with a password.
_DAMAGES = (
    BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError,
    NotImplementedError, RuntimeError, ValueError, OverflowError,
)  # fmt: skip


class ReadMember(Protocol):
    """A function that yields the documents of a file in an archive."""

    def __call__(self, data: bytes, *, name: str) -> Iterator[Document]: ...


@dataclass(slots=True)
class ArchiveBudget:
    """What may still be read of one file with archives in it, and how many are around.

    `most_bytes` is what one compressed file may hold, and all files of an archive together.
    """

    most_bytes: int
    bytes_left: int = field(init=False)
    files_left: int = field(default_factory=lambda: MOST_FILES)
    level: int = 0
    deadline: float = field(default_factory=lambda: time.process_time() + MOST_SECONDS)

    def __post_init__(self) -> None:
        self.bytes_left = self.most_bytes

    def take(self, size: int) -> None:
        """Count a file of so many bytes; raises `InputError` if that is too much."""
        self.bytes_left -= size
        self.files_left -= 1
        if self.bytes_left < 0:
            raise InputError("the archive expands too much; --set max_file_mb=MB allows more")
        if self.files_left < 0:
            raise InputError(f"the archive has more than {MOST_FILES:,} files")
        if time.process_time() > self.deadline:
            raise InputError(f"the archive takes more than {MOST_SECONDS:.0f} s to read")


@dataclass(frozen=True, slots=True)
class _Member:
    """A file of an archive: its path, and its bytes or why there are none."""

    path: str
    data: bytes = b""
    refused: str = ""


def read_archive(
    data: bytes, *, name: str, budget: ArchiveBudget, read: ReadMember
) -> Iterator[Document]:
    """Yield the documents of an archive's files, then raise `InputError` if any was bad.

    Raises `NotText` if there is no document in it.
    """
    if budget.level == MOST_LEVELS:
        raise InputError("is an archive in an archive in an archive, which is not read")
    bad: list[str] = []
    count = 0
    paths: set[str] = set()
    budget.level += 1
    try:
        for member in _members(data, budget):
            refused = member.refused or ("was there before" if member.path in paths else "")
            if refused:
                bad.append(f"{member.path}: {refused}")
                continue
            paths.add(member.path)
            try:
                for document in read(member.data, name=member.path):
                    count += 1
                    metadata = {**document.metadata, "as_written": False}
                    yield replace(document, uri=f"{name}#{document.uri}", metadata=metadata)
            except NotText:
                continue
            except InputError as why:
                bad.append(f"{member.path} {why}")
    except InputError as why:
        bad.append(str(why))
    finally:
        budget.level -= 1
    if bad:
        more = f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
        read_count = f" ({count} documents were read)" if count else ""
        raise InputError(f"{'; '.join(bad[:_NAMED])}{more}{read_count}")
    if not count:
        raise NotText("is an archive without documents")


def _members(data: bytes, budget: ArchiveBudget) -> Iterator[_Member]:
    """Yield the files of an archive, without hidden ones; raises `InputError` for a bad archive."""
    try:
        if data.startswith(b"PK"):
            with ZipFile(BytesIO(data)) as archive:
                for info in archive.infolist():
                    if not info.is_dir() and not _is_hidden(info.filename):
                        yield _zip_member(archive, info, budget)
        else:
            with tarfile.open(fileobj=BytesIO(data), mode="r:") as tar:
                for entry in tar:
                    if not entry.isdir() and not _is_hidden(entry.name):
                        yield _tar_member(tar, entry, budget)
    except _DAMAGES as failed:
        raise InputError(f"is a damaged archive: {failed}".lower()) from failed


def _zip_member(archive: ZipFile, info: ZipInfo, budget: ArchiveBudget) -> _Member:
    path = info.filename
    mode = info.external_attr >> 16
    if refused := _refuse_path(path) or ("" if _is_file(mode) else "is a link or a device"):
        return _Member(_shown(path), refused=refused)
    # Nothing is left if an archive within took more than there was.
    left = max(0, budget.bytes_left)
    limit = min(left, max(_MIN_SUSPECT, _MAX_RATIO * info.compress_size))
    try:
        with archive.open(info) as file:
            content = file.read(limit + 1)
    except _DAMAGES as failed:
        reason = "is encrypted" if info.flag_bits & 1 else f"is damaged: {failed}"
        return _Member(path, refused=reason)
    if limit < len(content) and limit < left:
        return _Member(path, refused="expands too much")
    budget.take(len(content))
    return _Member(path, content)


def _tar_member(tar: tarfile.TarFile, entry: tarfile.TarInfo, budget: ArchiveBudget) -> _Member:
    path = entry.name.removeprefix("./")
    if refused := _refuse_path(path) or ("" if entry.isfile() else "is a link or a device"):
        return _Member(_shown(path), refused=refused)
    budget.take(entry.size)
    file = tar.extractfile(entry)
    return _Member(path, file.read() if file else b"")


def _is_file(mode: int) -> bool:
    """Return whether the mode that a ZIP archive gives is that of a file; many give none."""
    return not mode or stat.S_IFMT(mode) in (0, stat.S_IFREG)


def _is_hidden(path: str) -> bool:
    """Return whether a file is hidden, as files of a folder are that are not indexed."""
    parts = _parts(path)
    return any(part.startswith(".") and part != ".." for part in parts) or "__MACOSX" in parts


def _refuse_path(path: str) -> str:
    """Return why a path is refused, "" if it is not."""
    if path.startswith(("/", "\\")) or ".." in _parts(path):
        return "leads out of the archive"
    if len(path) > _LONGEST_PATH or not path.isprintable():
        return "has a name that cannot be cited"
    return ""


def _parts(path: str) -> list[str]:
    return path.removeprefix("./").replace("\\", "/").split("/")


def _shown(path: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in path[:100])
