"""Parts of documents that are ZIP archives of XML: Office Open XML, OpenDocument and EPUB.

A part is decompressed in memory and never written to a file, so its path cannot lead anywhere. What
is decompressed is counted, whatever sizes the archive declares. XML with entity declarations is
refused: none of these formats needs them, and they are how a small file expands without bound.
"""

from __future__ import annotations

import lzma
import struct
import zlib
from copy import copy
from io import BytesIO
from xml.etree.ElementTree import Element, ParseError, XMLParser
from zipfile import BadZipFile, ZipFile, ZipInfo

from crx.errors import InputError

# Bytes of all parts that are read; an XML tree takes about ten times the memory of its text.
MAX_BYTES = 64_000_000
# A larger part than this may not be compressed more than so many times. XML is, about 10 to 50.
_MIN_SUSPECT = 4_000_000
_MAX_RATIO = 200
# `zipfile` raises NotImplementedError for a compression method or an encryption that it lacks, and
# RuntimeError for a part with a password.
_DAMAGES = (
    BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, NotImplementedError,
    RuntimeError, ValueError, OverflowError,
)  # fmt: skip
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_ENTITIES = tuple("<!ENTITY".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


class Archive:
    """The parts of one archive, of which at most `MAX_BYTES` are read in total."""

    def __init__(self, data: bytes) -> None:
        if data.startswith(_OLD_OFFICE):
            raise InputError("is encrypted, or in an old Office format; save it anew, or as PDF")
        try:
            self._zip = ZipFile(BytesIO(data))
            self._parts = {part.filename: part for part in self._zip.infolist()}
        except _DAMAGES as failed:
            raise InputError("is damaged: not a readable ZIP archive") from failed
        self._left = MAX_BYTES

    def __contains__(self, path: str) -> bool:
        return path in self._parts

    def read(self, path: str) -> bytes:
        """Return a part's bytes; raise `InputError` if it is missing, damaged or too large."""
        part = self._parts.get(path)
        if part is None:
            raise InputError(f"is damaged: has no part {path}")
        try:
            with self._zip.open(part) as file:
                data = file.read(self._limit(part) + 1)
        except _DAMAGES as failed:
            raise InputError(f"is damaged: part {path} cannot be decompressed") from failed
        if len(data) > self._limit(part):
            limit = MAX_BYTES // 1_000_000
            raise InputError(f"expands too much: part {path}, at most {limit} MB are read")
        self._left -= len(data)
        return data

    def refuse_large(self, limit: int) -> None:
        """Raise `InputError` if the parts hold more bytes, or cannot be decompressed.

        For readers that decompress them by other means. The sizes that the archive declares are
        not trusted.
        """
        left = limit
        for part in self._zip.infolist():
            left -= part.file_size
        for part in self._zip.infolist() if left >= 0 else ():
            declared = part.file_size
            part = copy(part)
            part.file_size = declared + 1  # by default, no more than is declared is decompressed
            try:
                with self._zip.open(part) as file:
                    while piece := file.read(1 << 20):
                        declared -= len(piece)
            except _DAMAGES as failed:
                reason = f"is damaged: part {part.filename} cannot be decompressed"
                raise InputError(reason) from failed
            if declared < 0:
                left = -1
        if left < 0:
            raise InputError(f"expands too much: at most {limit // 1_000_000} MB are read")

    def read_xml(self, path: str) -> Element:
        """Return the root element of a part."""
        return parse_xml(self.read(path), part=path)

    def _limit(self, part: ZipInfo) -> int:
        return min(self._left, max(_MIN_SUSPECT, _MAX_RATIO * part.compress_size))


def parse_xml(data: bytes, *, part: str) -> Element:
    """Return the root of an XML text; raise `InputError` if it is malformed or has entities."""
    if any(entity in data for entity in _ENTITIES):
        raise InputError(f"declares XML entities in {part}, which crx does not expand")
    parser = XMLParser()
    try:
        parser.feed(data)
        root: Element = parser.close()
    except (ParseError, ValueError, LookupError) as failed:
        raise InputError(f"is damaged: part {part} is not well-formed XML") from failed
    return root
