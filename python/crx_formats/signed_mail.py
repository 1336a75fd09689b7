"""The content of messages that S/MIME signs (CMS, RFC 5652); signatures are not verified."""

from __future__ import annotations

from collections.abc import Iterator

from crx.errors import InputError

_SIGNED = bytes.fromhex("2a864886f70d010702")
_ENCRYPTED = (bytes.fromhex("2a864886f70d010703"), bytes.fromhex("2a864886f70d0109100117"))
_SEQUENCE, _OCTETS, _CONSTRUCTED_OCTETS, _EXPLICIT = 0x30, 0x04, 0x24, 0xA0
# Values within values whose length is not given.
_DEEPEST = 16


def signed_content(data: bytes) -> bytes:
    """Return the content of a signed message.

    Raises `InputError` for one that is encrypted or of another type, and `LookupError` for a
    damaged one.
    """
    tag, start, end, _ = _value(data, 0)
    children = list(_values(data, start, end)) if tag == _SEQUENCE else []
    kind = data[slice(*children[0][1:])] if children else b""
    if kind in _ENCRYPTED:
        raise InputError("is encrypted for its recipients; save a decrypted copy")
    if kind != _SIGNED:
        raise InputError("is no signed message")
    signed = _only(data, children[1:], _EXPLICIT, _SEQUENCE)
    content = _only(data, signed, _SEQUENCE, _EXPLICIT)
    return b"".join(
        data[first:last]
        for tag, start, end in content
        for first, last in (
            [(start, end)]
            if tag == _OCTETS
            else [(first, last) for _, first, last in _values(data, start, end)]
        )
        if tag in (_OCTETS, _CONSTRUCTED_OCTETS)
    )


def _only(
    data: bytes, values: list[tuple[int, int, int]], *path: int
) -> list[tuple[int, int, int]]:
    """Return what the first values of each tag in turn consist of, nothing if one is missing."""
    for tag in path:
        found = next((value for value in values if value[0] == tag), None)
        values = list(_values(data, found[1], found[2])) if found else []
    return values


def _values(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the tag, the start and the end of each value in a range."""
    while at < end:
        tag, start, stop, at = _value(data, at)
        yield tag, start, stop


def _value(data: bytes, at: int, *, depth: int = 0) -> tuple[int, int, int, int]:
    """Return the tag of a value, the start and the end of its content, and where the next is."""
    tag, length = data[at], data[at + 1]
    start = at + 2
    if depth > _DEEPEST or tag & 0x1F == 0x1F:
        raise LookupError("a value of an unknown form")
    if length == 0x80:  # its end is marked
        end = start
        while data[end] or data[end + 1]:
            *_, end = _value(data, end, depth=depth + 1)
        return tag, start, end, end + 2
    if length > 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[at + 2 : start], "big")
    if start + length > len(data):
        raise LookupError("a value without an end")
    return tag, start, start + length, start + length
