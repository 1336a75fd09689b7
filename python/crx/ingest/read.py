"""Reading of files and bytes into documents."""

from __future__ import annotations

import gzip
import lzma
import zlib
from bz2 import BZ2File
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Protocol

from crx.errors import InputError, NotText
from crx.ingest import archives
from crx.ingest.archives import ArchiveBudget
from crx.ingest.file_kinds import DEFAULT_MAX_BYTES, failure_reason, is_archive, is_empty
from crx.ingest.formats import ARCHIVES, COMPRESSIONS, LANGUAGES, suffix
from crx.ingest.paths import uri_of
from crx.ingest.readers import is_claimed, load_reader, scan
from crx.ingest.readers.binary import LFS_POINTER, describe_binary
from crx.ingest.readers.decode import BinaryFile
from crx.ingest.readers.file_title import name_title
from crx.ingest.readers.find_reader import find_reader
from crx.ingest.readers.scan import Recognize
from crx.types import Document, Mark

# Bytes that the decompression of one .xz file may take: its preset -9 takes 65 million.
_XZ_MEMORY = 256_000_000
# Bytes of the window of a .zst file; `zstd --ultra -22` takes 128 million.
_ZSTD_WINDOW = 1 << 27
# Bytes that are decompressed at once: they hold at most 350 blocks of 128 kB.
_ZSTD_STEP = 1 << 10
# What every answer repeats of a document: a file may have a title of megabytes, and each answer
# with one of its chunks would be as large.
_TITLE_CHARS = 1000
_LABEL_CHARS = 1000
# Characters of one value of the metadata.
_VALUE_CHARS = 100_000


def decompress(data: bytes, extension: str, *, max_bytes: int) -> bytes:
    """Return what a compressed file holds.

    Raises `InputError` for a damaged file and for one that holds more than `max_bytes`, of which
    no more is decompressed.
    """
    content = _expand(data, extension, size=max_bytes + 1)
    if len(content) > max_bytes:
        limit = max_bytes // 1_000_000
        raise InputError(
            f"more than max_file_mb = {limit} when decompressed; --set max_file_mb=MB raises it"
        )
    return content


def _decompress_counted(
    data: bytes, extension: str, *, max_bytes: int, budget: ArchiveBudget
) -> bytes:
    """Return what a compressed file holds; in an archive, that is taken from the budget."""
    if not budget.level:
        return decompress(data, extension, max_bytes=max_bytes)
    # Nothing is left if an archive within took more than there was.
    content = _expand(data, extension, size=max(0, budget.bytes_left) + 1)
    budget.take(len(content))
    return content


def _expand(data: bytes, extension: str, *, size: int) -> bytes:
    """Return the first bytes that a compressed file holds, `size` of them at most."""
    try:
        return FORMATS[extension](data, size)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as failed:
        raise InputError(f"is a damaged {extension} file: {failed}".lower()) from failed


def _gunzip(data: bytes, size: int) -> bytes:
    with gzip.GzipFile(fileobj=BytesIO(data)) as file:
        return file.read(size)


def _bunzip2(data: bytes, size: int) -> bytes:
    with BZ2File(BytesIO(data)) as file:
        return file.read(size)


def _unxz(data: bytes, size: int) -> bytes:
    content = b""
    while data and len(content) < size:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        content += stream.decompress(data, size - len(content))
        if not stream.eof and len(content) < size:
            raise EOFError("it ends too early")
        data = stream.unused_data.lstrip(b"\0")  # streams may be padded
    return content


def _unzstd(data: bytes, size: int) -> bytes:
    try:
        zstandard = import_module("zstandard")
    except ImportError:
        raise InputError(
            'is compressed with Zstandard, which is read after pip install "crx[zstd]"'
        ) from None
    content = bytearray()
    at = 0
    try:
        while at < len(data) and len(content) < size:
            frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
            while not frame.eof and at < len(data) and len(content) < size:
                content += frame.decompress(data[at : at + _ZSTD_STEP])
                at = min(len(data), at + _ZSTD_STEP)
            at -= len(frame.unused_data)
            if not frame.eof and len(content) < size:
                raise EOFError("it ends too early")
    except zstandard.ZstdError as failed:
        raise OSError(str(failed)) from failed
    return bytes(content[:size])


# In the order of the extensions.
FORMATS: dict[str, Callable[[bytes, int], bytes]] = dict(
    zip(COMPRESSIONS, (_gunzip, _bunzip2, _unxz, _unzstd), strict=True)
)
_PROGRAMS = frozenset(LANGUAGES.values())


def read_bytes(
    data: bytes,
    *,
    name: str,
    max_bytes: int = DEFAULT_MAX_BYTES,
    recognize: Recognize | None = None,
    budget: ArchiveBudget | None = None,
) -> Iterator[Document]:
    """Yield the documents that bytes hold, decompressed if the name says that they are compressed.

    The format is that of the bytes if they are PDF, RTF, a document in an archive or HTML where
    the name's extension says otherwise; else that of the extension.
    Each document's metadata holds its `format` and, if the name has one, its `ext`. `recognize`
    reads images, and pages of a PDF without text. `budget` is what is left of the archive that the
    bytes are from, `max_bytes` by default. Raises `InputError` for bytes that cannot be read or
    decompress to more than `max_bytes`, `NotText` for a file of another kind than text.
    """
    budget = budget or ArchiveBudget(max_bytes)
    compression = suffix(name)
    if data.startswith(LFS_POINTER):
        is_read = compression in FORMATS or is_archive(compression) or is_claimed(compression)
        raise (InputError if is_read else NotText)(f"is {describe_binary(data)}")
    if compression not in FORMATS:
        yield from _read_content(data, name, recognize, budget)
        return
    inner = name[: -len(compression)]
    metadata = {"compression": compression.removeprefix(".")}
    content = _decompress_counted(data, compression, max_bytes=max_bytes, budget=budget)
    for document in _read_content(content, inner, recognize, budget):
        yield replace(
            document,
            uri=name + document.uri.removeprefix(inner),
            metadata={**document.metadata, **metadata},
        )


class _ReadBytes(Protocol):
    """A function that yields the documents of bytes, as `read_bytes` does."""

    def __call__(self, data: bytes, *, name: str) -> Iterator[Document]: ...


def read_file(
    path: Path, *, uri: str | None = None, read: _ReadBytes = read_bytes
) -> Iterator[Document]:
    """Yield the documents of a file, as `read` finds them in its bytes.

    Their URI is `uri`, by default the absolute path with forward slashes, followed by `#<id>` for
    JSON lines. Raises `InputError` (`NotText` for a binary file) with the reason; for JSON lines
    after the documents of the good lines.
    """
    try:
        data = path.read_bytes()
    except OSError as failed:
        unlisted = "is a folder that cannot be listed" if path.is_dir() else ""
        raise InputError(unlisted or f"cannot be read: {failure_reason(failed)}") from failed
    name = uri_of(path)
    for document in read(data, name=name):
        if uri is None:
            yield document
        else:
            yield replace(document, uri=uri + document.uri.removeprefix(name))


def _read_content(
    data: bytes, name: str, recognize: Recognize | None, budget: ArchiveBudget
) -> Iterator[Document]:
    if is_empty(data):
        raise NotText("is empty")
    extension = suffix(name)
    if is_archive(extension):
        yield from _read_archive(data, name, recognize, budget)
        return
    ext = {"ext": extension.removeprefix(".")} if extension else {}
    try:
        for document in _choose_reading(data, name, recognize)(data, name=name):
            bounded = _bound_document(_with_title(document, name))
            yield replace(bounded, metadata={**ext, **bounded.metadata})
    except BinaryFile:
        raise NotText(f"is {describe_binary(data)}") from None


def _bound_document(document: Document) -> Document:
    """Return a document with a title, labels and metadata that are cut where they are too long."""
    return replace(
        document,
        title=document.title[:_TITLE_CHARS],
        metadata={
            name: value[:_VALUE_CHARS] if isinstance(value, str) else value
            for name, value in document.metadata.items()
        },
        marks=tuple(map(_bound_mark, document.marks)),
    )


def _bound_mark(mark: Mark) -> Mark:
    if len(mark.label) <= _LABEL_CHARS:
        return mark
    return replace(mark, label=mark.label[:_LABEL_CHARS])


def _with_title(document: Document, name: str) -> Document:
    """Return a document whose title is the name of its file, if it is prose and has no other."""
    is_file = document.uri == name and document.metadata.get("format") not in _PROGRAMS
    if document.title or not is_file or not (title := name_title(name)):
        return document
    return replace(document, title=title, metadata={**document.metadata, "title_from": "name"})


def _read_archive(
    data: bytes, name: str, recognize: Recognize | None, budget: ArchiveBudget
) -> Iterator[Document]:
    if compression := ARCHIVES[suffix(name)]:
        data = _decompress_counted(data, compression, max_bytes=budget.most_bytes, budget=budget)

    def read(data: bytes, *, name: str) -> Iterator[Document]:
        yield from read_bytes(
            data, name=name, max_bytes=budget.most_bytes, recognize=recognize, budget=budget
        )

    yield from archives.read_archive(
        data, name=name, budget=budget, read=read, scans=recognize is not None
    )


def _choose_reading(data: bytes, name: str, recognize: Recognize | None) -> _ReadBytes:
    """Return the function that reads bytes of this kind."""
    extension = suffix(name)
    if recognize is not None and extension in scan.extensions and not is_claimed(extension):
        return partial(scan.read_image, recognize=recognize)
    reader = find_reader(data, name=name)
    if recognize is not None and reader is load_reader("pdf"):
        from crx.ingest.readers.pdf import read_scanned  # PDFium is loaded for a PDF alone

        return partial(read_scanned, recognize=recognize)
    return reader.read
