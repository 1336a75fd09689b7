"""Archives of 7-Zip as tests need them: stored, with any names and sizes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

SIGNATURE = b"7z\xbc\xaf\x27\x1c\0\4"


def sevenzip(files: Mapping[str, bytes], *, sizes: Mapping[str, int] | None = None) -> bytes:
    """Return an archive with the files as one block, without checksums.

    `sizes` are those that it declares for some files.
    """
    content = b"".join(files.values())
    declared = [(sizes or {}).get(name, len(data)) for name, data in files.items()]
    names = b"\0" + "".join(f"{name}\0" for name in files).encode("utf-16-le")
    header = b"\1\4"
    header += b"\6" + number(0) + number(1) + b"\x09" + number(len(content)) + b"\0"
    header += b"\7\x0b" + number(1) + b"\0" + number(1) + b"\1\0"
    header += b"\x0c" + number(sum(declared)) + b"\0"
    header += b"\x08\x0d" + number(len(files))
    header += b"\x09" + b"".join(map(number, declared[:-1])) if len(files) > 1 else b""
    header += b"\0\0"
    header += b"\5" + number(len(files)) + b"\x11" + number(len(names)) + names + b"\0\0"
    return with_header(content, header)


def with_header(content: bytes, header: bytes) -> bytes:
    """Return the archive of a content and a list of files."""
    start = struct.pack("<QQI", len(content), len(header), zlib.crc32(header))
    return SIGNATURE + struct.pack("<I", zlib.crc32(start)) + start + content + header


def number(value: int) -> bytes:
    """Return a number as a list of files has it."""
    for extra in range(8):
        if value < 1 << 7 * (extra + 1):
            first = (0xFF00 >> extra) & 0xFF | value >> 8 * extra
            return bytes([first]) + (value & (1 << 8 * extra) - 1).to_bytes(extra, "little")
    return b"\xff" + value.to_bytes(8, "little")
