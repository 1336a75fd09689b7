"""Decompression of single compressed files: `.gz`, `.bz2` and `.xz`."""

from __future__ import annotations

import gzip
import lzma
import zlib
from bz2 import BZ2File
from collections.abc import Callable
from io import BytesIO

from crx.errors import InputError

# Bytes that the decompression of one .xz file may take: its preset -9 takes 65 million.
_XZ_MEMORY = 256_000_000


def decompress(data: bytes, extension: str, *, max_bytes: int) -> bytes:
    """Return what a compressed file holds.

    Raises `InputError` for a damaged file and for one that holds more than `max_bytes`, of which
    no more is decompressed.
    """
    try:
        content = FORMATS[extension](data, max_bytes + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as failed:
        raise InputError(f"is a damaged {extension} file: {failed}".lower()) from failed
    if len(content) > max_bytes:
        limit = max_bytes // 1_000_000
        raise InputError(
            f"more than max_file_mb = {limit} when decompressed; --set max_file_mb=MB raises it"
        )
    return content


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


FORMATS: dict[str, Callable[[bytes, int], bytes]] = {
    ".gz": _gunzip,
    ".bz2": _bunzip2,
    ".xz": _unxz,
}
