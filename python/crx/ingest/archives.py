"""Archives, ZIP, 7-Zip and tar: each file within is read as a file of its own.

A document's URI is that of the archive with `#` and the path within, such as `a.zip#docs/guide.md`.
Nothing is written to the disk, so that no path within leads anywhere; a path that would leave the
archive is refused all the same. Symbolic links and devices are skipped, as they are in folders; a
hard link of a tar is read as the file of the archive that it names. What is decompressed is
counted, whatever sizes an archive declares, over all archives within one file.

The documents that can be read are yielded first; then one `InputError` names the files that cannot.
It is `PartlyRead` if the archive was listed to its end.
"""

from __future__ import annotations

import lzma
import re
import stat
import struct
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Protocol
from zipfile import BadZipFile, ZipFile, ZipInfo

from crx.errors import InputError, NotText
from crx.ingest.outside_seconds import waited_seconds
from crx.ingest.unread_parts import SCANS_READ, PartlyRead, describe_unread
from crx.plugins import load_format
from crx.types import Document, Scalar

# Files of one archive, those of the archives in it included.
MOST_FILES = 10_000
# An archive in an archive is read, one in that is not.
_MOST_LEVELS = 2
# Seconds of the CPU for all files of one archive; the limits of a file hold for each.
_MOST_SECONDS = 600.0
# A larger file than this may not be compressed more than so many times; text is, about 3 to 20.
_MIN_SUSPECT = 4_000_000
_MAX_RATIO = 200
_LONGEST_PATH = 1000
# What a ZIP archive starts with: a file, the end of an empty archive or the mark of one in parts.
_ZIP_STARTS = (b"PK\3\4", b"PK\5\6", b"PK\7\x08")
_SEVENZIP_START = b"7z\xbc\xaf\x27\x1c"
# A number in an extended header of a tar that no program writes.
_LONG_NUMBER = re.compile(rb"[0-9]{1000}")
# `zipfile` raises NotImplementedError for a compression method or an encryption that it lacks, and
# RuntimeError for a file with a password.
_DAMAGES = (
    BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError,
    NotImplementedError, RuntimeError, ValueError, OverflowError,
)  # fmt: skip


class DamagedArchive(ValueError):
    """The archive is not as its format says."""


class UnreadBlock(Exception):
    """A block is not read; the message gives the reason for each of its files."""


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file of an archive of 7-Zip.

    `end` is how much of its block is decompressed with it, and `packed` is the size of the block.
    `read` decompresses what was not read before and returns the content; it raises `UnreadBlock`
    for a method that is not read and `DamagedArchive`. Files are read in the order of the archive.
    """

    path: str
    size: int
    end: int
    packed: int
    read: Callable[[], bytes]


class _ReadMember(Protocol):
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
    deadline: float = field(default_factory=lambda: _seconds_spent() + _MOST_SECONDS)

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
        if _seconds_spent() > self.deadline:
            raise InputError(f"the archive takes more than {_MOST_SECONDS:.0f} s to read")


def _seconds_spent() -> float:
    """Return the seconds of the CPU that this process used, and of other programs it waited for."""
    return time.process_time() + waited_seconds()


@dataclass(frozen=True, slots=True)
class _Member:
    """A file of an archive: its path, and its bytes or why there are none."""

    path: str
    data: bytes = b""
    refused: str = ""


def read_archive(
    data: bytes, *, name: str, budget: ArchiveBudget, read: _ReadMember, scans: bool = False
) -> Iterator[Document]:
    """Yield the documents of an archive's files, then raise `InputError` if any was bad.

    `scans` says that pictures are read, which the metadata records: it is not known of an archive
    which files have no document because they are not.

    Raises `PartlyRead` for bad files of an archive that was listed to its end, and `NotText` if
    there is no document in it.
    """
    if budget.level == _MOST_LEVELS:
        raise InputError("is an archive in an archive in an archive, which is not read")
    bad: list[str] = []
    refused: dict[str, str] = {}
    is_listed = False
    count = 0
    noted: dict[str, Scalar] = {SCANS_READ: True} if scans else {}
    paths: set[str] = set()
    budget.level += 1
    try:
        for member in _members(data, budget):
            reason = member.refused or ("was there before" if member.path in paths else "")
            if reason:
                bad.append(f"{member.path}: {reason}")
                refused[f"#{member.path}"] = reason
                continue
            paths.add(member.path)
            try:
                for document in read(member.data, name=member.path):
                    count += 1
                    metadata = {**document.metadata, "as_written": False, **noted}
                    yield replace(document, uri=f"{name}#{document.uri}", metadata=metadata)
            except NotText:
                continue
            except PartlyRead as why:
                bad.append(f"{member.path} {why}")
                refused |= {f"#{member.path}{each}": why.refused[each] for each in why.refused}
            except InputError as why:
                bad.append(f"{member.path} {why}")
                refused[f"#{member.path}"] = str(why)
        is_listed = True
    except InputError as why:
        bad.append(str(why))
    finally:
        budget.level -= 1
    if bad:
        reason = describe_unread(bad, read=f"{count} documents" if count else "")
        raise PartlyRead(reason, refused) if is_listed else InputError(reason)
    if not count:
        raise NotText("is an archive without documents")


def _members(data: bytes, budget: ArchiveBudget) -> Iterator[_Member]:
    """Yield the files of an archive, without hidden ones, links and devices.

    Raises `InputError` for a damaged archive.
    """
    try:
        if data.startswith(_ZIP_STARTS):
            with ZipFile(BytesIO(data)) as archive:
                for info in archive.infolist():
                    if _is_zip_file(info) and not _is_hidden(info.filename):
                        yield _zip_member(archive, info, budget)
        elif data.startswith(_SEVENZIP_START):
            for file in load_format("crx.archives", "7z")(data):
                if not _is_hidden(file.path):
                    yield _sevenzip_member(file, budget)
        else:
            with tarfile.open(fileobj=BytesIO(data), mode="r:", tarinfo=_TarInfo) as tar:
                for path, entry in _tar_files(tar):
                    if not _is_hidden(path):
                        yield _tar_member(tar, entry, budget, path=path)
                # At a bad header `tarfile` ends as at the block of zeros that ends an archive.
                end = data[tar.offset : tar.offset + tarfile.BLOCKSIZE]
                if not end or end.strip(b"\0"):
                    raise InputError("is a damaged archive: it ends too early")
    except UnreadBlock as why:
        raise InputError(str(why)) from why
    except _DAMAGES as failed:
        raise InputError(f"is a damaged archive: {failed}".lower()) from failed


def _zip_member(archive: ZipFile, info: ZipInfo, budget: ArchiveBudget) -> _Member:
    path = info.filename
    if refused := _refuse_path(path):
        budget.take(0)
        return _Member(_shown(path), refused=refused)
    # Nothing is left if an archive within took more than there was.
    left = max(0, budget.bytes_left)
    limit = min(left, max(_MIN_SUSPECT, _MAX_RATIO * info.compress_size))
    try:
        with archive.open(info) as file:
            content = file.read(limit + 1)
    except _DAMAGES as failed:
        if info.flag_bits & 1:
            budget.take(0)
            return _Member(path, refused="is encrypted")
        budget.take(min(limit, info.file_size))  # `zipfile` reads no more than is declared
        return _Member(path, refused=f"is damaged: {failed}")
    budget.take(len(content))
    if limit < len(content):
        return _Member(path, refused="expands too much")
    return _Member(path, content)


def _sevenzip_member(file: PackedFile, budget: ArchiveBudget) -> _Member:
    if refused := _refuse_path(file.path):
        budget.take(0)
        return _Member(_shown(file.path), refused=refused)
    if file.end > max(_MIN_SUSPECT, _MAX_RATIO * file.packed):
        budget.take(0)
        return _Member(file.path, refused="expands too much")
    budget.take(file.size)
    try:
        return _Member(file.path, file.read())
    except UnreadBlock as why:
        return _Member(file.path, refused=str(why))
    except DamagedArchive as why:
        return _Member(file.path, refused=f"is damaged: {why}".lower())


class _TarInfo(tarfile.TarInfo):
    """An entry of a tar, whose extended header is looked at before `tarfile` reads it.

    Before Python 3.11.10 and 3.12.6, `tarfile` searches a long number in it in quadratic time
    (CVE-2024-6232).
    """

    def _proc_pax(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        assert tar.fileobj is not None
        start = tar.fileobj.tell()
        if _LONG_NUMBER.search(tar.fileobj.read(self.size)):
            raise InputError("is a damaged archive: a header has a number of 1,000 digits")
        tar.fileobj.seek(start)
        return super()._proc_pax(tar)  # type: ignore[misc,no-any-return]


def _tar_files(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    """Yield the path of each file of a tar, and the entry that has its content.

    That of a hard link stands before it. One that names no file of the archive is skipped.
    """
    files: dict[str, tarfile.TarInfo] = {}
    for entry in tar:
        # `tarfile` would go back to what stands before it, again and again.
        if entry.size < 0:
            raise InputError("is a damaged archive: a size is negative")
        content = files.get(entry.linkname.removeprefix("./")) if entry.islnk() else entry
        if content is not None and content.isfile():
            path = entry.name.removeprefix("./")
            files[path] = content
            yield path, content


def _tar_member(
    tar: tarfile.TarFile, entry: tarfile.TarInfo, budget: ArchiveBudget, *, path: str
) -> _Member:
    if refused := _refuse_path(path):
        budget.take(0)
        return _Member(_shown(path), refused=refused)
    budget.take(entry.size)
    file = tar.extractfile(entry)
    return _Member(path, file.read() if file else b"")


def _is_zip_file(info: ZipInfo) -> bool:
    """Return whether an entry is a file by its mode, which many ZIP archives do not give."""
    # `is_dir` fails for an empty name.
    is_folder = info.filename.endswith("/")
    return not is_folder and stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)


def _is_hidden(path: str) -> bool:
    """Return whether a file is hidden, as files of a folder are that are not indexed."""
    parts = _parts(path)
    hidden = (part.startswith(".") and part not in (".", "..") for part in parts)
    return any(hidden) or "__MACOSX" in parts


def _refuse_path(path: str) -> str:
    """Return why a path is refused, "" if it is not."""
    if path.startswith(("/", "\\")) or ".." in _parts(path):
        return "leads out of the archive"
    if not path.strip("./\\"):
        return "has no name"
    if len(path) > _LONGEST_PATH or not path.isprintable():
        return "has a name that cannot be cited"
    return ""


def _parts(path: str) -> list[str]:
    return path.removeprefix("./").replace("\\", "/").split("/")


def _shown(path: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in path[:100]) or "?"
