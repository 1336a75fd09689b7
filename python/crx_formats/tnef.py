"""Reader of TNEF, which Outlook sends as `winmail.dat`: the text and the attached files.

The format is a row of attributes with checksums (MS-OXTNEF); newer programs write the body and the
long names of files as properties (MAPI) within two of them. The text is the plain one, else that
of the HTML, else that of the compressed Rich Text (MS-OXRTFCP).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from crx.errors import InputError
from crx.ingest.readers import html, load_reader
from crx.ingest.readers.binary import TNEF
from crx.ingest.readers.decode import decode
from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.normal_text import normalize

# Attributes.
_BODY, _CODE_PAGE = 0x0002800C, 0x00069007
_MESSAGE_PROPERTIES, _FILE_PROPERTIES = 0x00069003, 0x00069005
_FILE_BEGIN, _FILE_NAME, _FILE_DATA = 0x00069002, 0x00018010, 0x0006800F
# Properties.
_PLAIN, _RICH, _HTML = 0x1000, 0x1009, 0x1013
_LONG_NAME, _OBJECT = 0x3707, 0x3701
# Bytes of a property's value by its type; values of other types tell their size.
_FIXED = {1: 4, 2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 0xA: 4, 0xB: 4, 0x14: 8, 0x40: 8, 0x48: 16}
_SIZED = frozenset((0xD, 0x1E, 0x1F, 0x102))
_UNICODE, _MANY, _FIRST_NAMED = 0x1F, 0x1000, 0x8000
# What a compressed text may refer to from its beginning.
_RTF_OPENING = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript "
    rb"\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_WINDOW = 4096
# Bytes that a compressed text may decompress to; one byte gives at most nine.
_MOST_RTF = 32_000_000


def parse(data: bytes) -> tuple[str, list[tuple[str, bytes]]]:
    """Return the text of a message and the attached files by name, a message as TNEF again.

    Raises `InputError` for damaged data.
    """
    try:
        return _parse(data)
    except (struct.error, IndexError) as failed:
        raise InputError("is a damaged TNEF file: it ends too early") from failed


def _parse(data: bytes) -> tuple[str, list[tuple[str, bytes]]]:
    if not data.startswith(TNEF):
        raise InputError("is no TNEF file")
    plain = b""
    code_page = ""
    properties: dict[int, bytes] = {}
    files: list[_File] = []
    for attribute, value in _attributes(data):
        if attribute == _CODE_PAGE:
            code_page = f"cp{struct.unpack_from('<I', value)[0]}"
        elif attribute == _BODY:
            plain = value
        elif attribute == _MESSAGE_PROPERTIES:
            properties = dict(_properties(value))
        elif attribute == _FILE_BEGIN:
            files.append(_File())
        elif files:
            files[-1].add(attribute, value)
    text = _text(plain, properties, code_page)
    return text, [file.named(code_page) for file in files if file.content]


class _File:
    """An attached file whose attributes are being read."""

    def __init__(self) -> None:
        self.content = b""
        self._name = b""
        self._properties: dict[int, bytes] = {}

    def add(self, attribute: int, value: bytes) -> None:
        if attribute == _FILE_NAME:
            self._name = value
        elif attribute == _FILE_DATA:
            self.content = value
        elif attribute == _FILE_PROPERTIES:
            self._properties = dict(_properties(value))
            inner = self._properties.get(_OBJECT, b"")[16:]  # after the id of its kind
            if inner.startswith(TNEF):
                self.content = inner

    def named(self, code_page: str) -> tuple[str, bytes]:
        name = squeeze(_decode(self._properties.get(_LONG_NAME, b"") or self._name, code_page))
        return name.replace("\\", "/").rpartition("/")[2] or "file", self.content


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes: a level, a number, the size, the value and its checksum."""
    at = 6
    while at + 9 <= len(data):
        _, attribute, size = struct.unpack_from("<BII", data, at)
        at += 9
        if at + size > len(data):
            raise InputError("is a damaged TNEF file: it ends too early")
        yield attribute, data[at : at + size]
        at += size + 2


def _properties(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the properties that have a size, the first value of each; texts as UTF-8 or bytes."""
    (count,) = struct.unpack_from("<I", data)
    at = 4
    for _ in range(count):
        kind, number = struct.unpack_from("<HH", data, at)
        at += 4
        if number >= _FIRST_NAMED:
            at = _skip_name(data, at)
        base = kind & ~_MANY
        values = 1
        if kind & _MANY or base in _SIZED:
            (values,) = struct.unpack_from("<I", data, at)
            at += 4
        if base not in _SIZED:
            at += values * _FIXED[base] if base in _FIXED else len(data)
            continue
        for each in range(min(values, len(data))):
            (size,) = struct.unpack_from("<I", data, at)
            value = data[at + 4 : at + 4 + size]
            at += 4 + size + -size % 4
            if each == 0:
                yield number, _utf8(value) if base == _UNICODE else value


def _skip_name(data: bytes, at: int) -> int:
    (kind, size) = struct.unpack_from("<II", data, at + 16)
    return at + 24 + (size + -size % 4 if kind else 0)


def _utf8(value: bytes) -> bytes:
    return value.decode("utf-16-le", "replace").encode("utf-8", "replace")


def _text(plain: bytes, properties: dict[int, bytes], code_page: str) -> str:
    for source in (plain, properties.get(_PLAIN, b"")):
        if text := _decode(source, code_page).strip():
            return text
    if page := properties.get(_HTML, b"").rstrip(b"\0"):
        return html.read_page(page).text
    if rich := properties.get(_RICH, b""):
        documents = load_reader("rtf").read(_decompress(rich), name="body.rtf")
        return "\n\n".join(document.text for document in documents)
    return ""


def _decode(value: bytes, code_page: str) -> str:
    value = value.rstrip(b"\0")
    return normalize(decode(value, declared=code_page).text) if value.strip() else ""


def _decompress(data: bytes) -> bytes:
    """Return Rich Text that is compressed by references to the last 4,096 bytes, or stored."""
    _, size, kind = struct.unpack_from("<II4s", data)
    if kind == b"MELA":
        return data[16 : 16 + size]
    window = bytearray(_WINDOW)
    window[: len(_RTF_OPENING)] = _RTF_OPENING
    position = len(_RTF_OPENING)
    found = bytearray()
    at = 16
    while at < len(data) and len(found) < min(size, _MOST_RTF):
        flags = data[at]
        at += 1
        for bit in range(8):
            if not flags >> bit & 1:
                run = data[at : at + 1]
                at += 1
            else:
                reference = int.from_bytes(data[at : at + 2], "big")
                at += 2
                offset, length = reference >> 4, (reference & 15) + 2
                if at > len(data) or offset == position % _WINDOW:
                    return bytes(found)
                run = b""
                for step in range(length):  # what is written just now may be referred to
                    byte = window[(offset + step) % _WINDOW]
                    window[(position + step) % _WINDOW] = byte
                    run += bytes((byte,))
            for byte in run:
                window[position % _WINDOW] = byte
                position += 1
            found += run
    return bytes(found)
