"""Documents that are ZIP archives of XML: Office Open XML, OpenDocument and EPUB.

A part is decompressed in memory and never written to a file, so its path cannot lead anywhere. What
is decompressed is counted, whatever sizes the archive declares. XML with entity declarations is
refused: none of these formats needs them, and they are how a small file expands without bound.
"""

from __future__ import annotations

import lzma
import posixpath
import struct
import zlib
from collections.abc import Container, Iterator
from copy import copy
from dataclasses import dataclass
from io import BytesIO
from xml.etree.ElementTree import Element, ParseError, XMLParser
from zipfile import BadZipFile, ZipFile, ZipInfo

from crx.errors import InputError
from crx.ingest.readers.file_title import squeeze, written_title
from crx.types import Scalar

# Bytes of all parts that are read; an XML tree takes about ten times the memory of its text.
_MAX_BYTES = 64_000_000
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
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the name of a stream, in the directory
_PIECE_BYTES = 1 << 18
_ENTITIES = tuple("<!ENTITY".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


class Archive:
    """The parts of one archive, of which at most `max_bytes` are read in total."""

    def __init__(self, data: bytes, *, max_bytes: int = _MAX_BYTES) -> None:
        if is_encrypted(data):
            raise InputError("is encrypted; save a copy without its password")
        if data.startswith(_OLD_OFFICE):
            raise InputError("is in an old Office format; save it anew, or as PDF")
        try:
            self._zip = ZipFile(BytesIO(data))
            # Names of parts are compared without case; some programs write backslashes.
            self._parts = {_part_name(part.filename): part for part in self._zip.infolist()}
        except _DAMAGES as failed:
            raise InputError("is damaged: not a readable ZIP archive") from failed
        self._left = self._most = max_bytes

    def __contains__(self, path: str) -> bool:
        return _part_name(path) in self._parts

    def read(self, path: str) -> bytes:
        """Return a part's bytes; raise `InputError` if it is missing, damaged or too large."""
        part = self._parts.get(_part_name(path))
        if part is None:
            raise InputError(f"is damaged: has no part {path}")
        try:
            with self._zip.open(part) as file:
                data = file.read(self._limit(part) + 1)
        except _DAMAGES as failed:
            raise InputError(f"is damaged: part {path} cannot be decompressed") from failed
        if len(data) > self._limit(part):
            raise self._too_large(path)
        self._left -= len(data)
        return data

    def stream(self, path: str) -> Iterator[bytes]:
        """Yield a part's bytes in pieces; raises `InputError` as `read` does.

        For readers that keep none of them, so that it may be compressed more than others.
        """
        part = self._parts.get(_part_name(path))
        if part is None:
            raise InputError(f"is damaged: has no part {path}")
        try:
            with self._zip.open(part) as file:
                while piece := file.read(min(_PIECE_BYTES, self._left + 1)):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise self._too_large(path)
                    yield piece
        except _DAMAGES as failed:
            raise InputError(f"is damaged: part {path} cannot be decompressed") from failed

    def refuse_large(self, limit: int) -> None:
        """Raise `InputError` if the parts contain more bytes, or cannot be decompressed.

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

    def _too_large(self, path: str) -> InputError:
        limit = self._most // 1_000_000
        return InputError(f"expands too much: part {path}, at most {limit} MB are read")

    def _limit(self, part: ZipInfo) -> int:
        return min(self._left, max(_MIN_SUSPECT, _MAX_RATIO * part.compress_size))


def _part_name(path: str) -> str:
    return path.replace("\\", "/").lower()


def is_encrypted(data: bytes) -> bool:
    """Return whether bytes are an Office Open XML document with a password, in a compound file."""
    return data.startswith(_OLD_OFFICE) and _ENCRYPTED in data


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


def walk(root: Element, *, skip: Container[str] = ()) -> Iterator[tuple[Element, bool]]:
    """Yield each element twice, before and after its children, with True the second time.

    Elements whose local name is in `skip` are left out with all they contain. Not recursive, since
    a file may nest deeper than Python's stack.
    """
    stack = [(root, False)]
    while stack:
        element, closing = stack.pop()
        yield element, closing
        if not closing:
            stack.append((element, True))
            stack.extend((e, False) for e in reversed(element) if local_name(e) not in skip)


def local_name(element: Element) -> str:
    """Return an element's name without its namespace; "" for a processing instruction."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """Return the attribute of a local name, or ""."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return value
    return ""


def children(element: Element, name: str) -> Iterator[Element]:
    """Yield the children of a local name."""
    return (child for child in element if local_name(child) == name)


def find(element: Element, *path: str) -> Element | None:
    """Return the first descendant at a path of local names, or None."""
    for name in path:
        child = next(children(element, name), None)
        if child is None:
            return None
        element = child
    return element


def all_text(element: Element) -> str:
    """Return the text of an element and of all it contains, as one line."""
    return " ".join("".join(element.itertext()).split())


def number(written: str, *, default: int = 0) -> int:
    """Return a whole number, or the default if it is none."""
    return int(written) if written.isdecimal() and len(written) < 9 else default


# Elements that are not part of the text: deletions that are tracked, fallbacks that repeat it.
NOT_TEXT = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText"))
_PROPERTIES = {"creator": "author", "keywords": "keywords", "description": "description"}


@dataclass(frozen=True, slots=True)
class Relationship:
    """A link from one part to another: its id, the last word of its type, and the path."""

    id: str
    type: str
    path: str


def relationships(archive: Archive, part: str) -> list[Relationship]:
    """Return the links of a part to other parts of the archive; "" is the archive itself."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if path not in archive:
        return []
    return [
        Relationship(
            attribute(link, "Id"),
            attribute(link, "Type").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, attribute(link, "Target"))).lstrip("/"),
        )
        for link in children(archive.read_xml(path), "Relationship")
        if attribute(link, "TargetMode") != "External"
    ]


def related(archive: Archive, part: str, type_: str) -> str:
    """Return the path of the first part of a type that a part links to, or ""."""
    links = relationships(archive, part)
    return next((link.path for link in links if link.type == type_), "")


def properties(archive: Archive) -> tuple[str, dict[str, Scalar | list[Scalar]]]:
    """Return the title that the document's properties give, and its metadata."""
    path = related(archive, "", "core-properties")
    if path not in archive:
        return "", {}
    title, metadata = "", dict[str, Scalar | list[Scalar]]()
    for element in archive.read_xml(path):
        name, value = local_name(element), all_text(element)
        if name == "title":
            title = written_title(value)
        elif name == "modified" and value:
            metadata["date"] = value[:10]
        elif name in _PROPERTIES and value:
            metadata[_PROPERTIES[name]] = squeeze(value)
    return title, metadata
