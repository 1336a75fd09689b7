"""The list of files in an archive of 7-Zip, and the blocks that hold their content."""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from crx.ingest.archives import DamagedArchive
from crx_formats.sevenzip.decode import Block, BlockReader, Coder, describe_methods

# Bytes of the list of files, and coders of a block.
_MOST_HEADER = 8_000_000
_MOST_CODERS = 4
# Entries of the list, folders and hidden files among them, and blocks: each takes memory.
_MOST_ENTRIES = 200_000
_MOST_BLOCKS = 20_000
_START = struct.Struct("<IQQI")
_HEADER_AT = 32

END, _HEADER, PROPERTIES, MAIN_STREAMS, FILES = 0, 1, 2, 4, 5
_PACK_INFO, _UNPACK_INFO, _SUBSTREAMS, _SIZE, _CRC = 6, 7, 8, 9, 10
_FOLDER, _UNPACK_SIZES, _STREAM_COUNTS = 11, 12, 13
_EMPTY_STREAM, _EMPTY_FILE, _ANTI, _NAMES, _ATTRIBUTES, _ENCODED = 14, 15, 16, 17, 21, 23
_PADDING = 25
_IS_UNIX, _IS_FOLDER, _IS_LINK = 0x8000, 0x10, 0x400


class HeaderBytes:
    """The bytes of a list of files, read from the beginning to the end."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        self._at = 0

    def __len__(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def take(self, size: int) -> memoryview:
        """Return the next bytes."""
        if size > len(self):
            raise DamagedArchive("its list of files ends too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """Return a number of one to nine bytes; the first one tells how many follow."""
        first = self.byte()
        value, mask = 0, 0x80
        for byte in range(8):
            if not first & mask:
                return value | (first & (mask - 1)) << 8 * byte
            value |= self.byte() << 8 * byte
            mask >>= 1
        return value

    def count(self, most: int) -> int:
        """Return a number of things, each of which takes a byte of the list or more."""
        number = self.number()
        if number > len(self._data):
            raise DamagedArchive("its list of files ends too early")
        if number > most:
            raise DamagedArchive(f"it has {number:,} files or blocks, more than {most:,}")
        return number

    def numbers(self, count: int) -> list[int]:
        return [self.number() for _ in range(count)]

    def bits(self, count: int) -> list[bool]:
        data = self.take((count + 7) // 8)
        return [bool(data[each // 8] & 0x80 >> each % 8) for each in range(count)]

    def defined(self, count: int) -> list[bool]:
        """Return which of so many things have a value."""
        return [True] * count if self.byte() else self.bits(count)

    def values(self, defined: list[bool]) -> list[int | None]:
        """Return numbers of four bytes, None for what has none."""
        return [int.from_bytes(self.take(4), "little") if each else None for each in defined]

    def expect(self, kind: int) -> None:
        if self.number() != kind:
            raise DamagedArchive("its list of files is out of order")


def read_header(data: bytes) -> HeaderBytes:
    """Return the list of files, decompressed and after its first byte."""
    if len(data) < _HEADER_AT:
        raise DamagedArchive("it ends too early")
    start_crc, offset, size, crc = _START.unpack(data[8:_HEADER_AT])
    if zlib.crc32(data[12:_HEADER_AT]) != start_crc:
        raise DamagedArchive("the checksum of its first bytes is another")
    if not size:
        return HeaderBytes(b"\0")
    content: bytes | memoryview = memoryview(data)[_HEADER_AT + offset :][:size]
    if len(content) < size or zlib.crc32(content) != crc:
        raise DamagedArchive("it ends too early, or is one part of several")
    for _ in range(_MOST_CODERS):
        header = HeaderBytes(content)
        kind = header.number()
        if kind == _HEADER:
            return header
        if kind != _ENCODED:
            break
        blocks = read_streams(header, data)
        if len(blocks) != 1 or blocks[0].unpacked > _MOST_HEADER:
            raise DamagedArchive("its list of files is too long")
        content = BlockReader(blocks[0]).read(0, blocks[0].unpacked, crc=blocks[0].crc)
    raise DamagedArchive("it has no list of files")


def read_streams(header: HeaderBytes, data: bytes) -> list[Block]:
    """Return the blocks of an archive, with the sizes of what each of them holds."""
    packed: list[memoryview] = []
    blocks: list[Block] = []
    kind = header.number()
    if kind == _PACK_INFO:
        packed = _read_packed(header, data)
        kind = header.number()
    if kind == _UNPACK_INFO:
        blocks = _read_blocks(header, packed)
        kind = header.number()
    for block in blocks:
        block.sizes, block.crcs = [block.unpacked], [block.crc]
    if kind == _SUBSTREAMS:
        _read_substreams(header, blocks)
        kind = header.number()
    if kind != END:
        raise DamagedArchive("its list of files is out of order")
    return blocks


def _read_packed(header: HeaderBytes, data: bytes) -> list[memoryview]:
    """Return the compressed streams."""
    at = _HEADER_AT + header.number()
    count = header.count(_MOST_BLOCKS * _MOST_CODERS)
    packed = []
    for kind in _kinds(header):
        if kind == _SIZE:
            for size in header.numbers(count):
                packed.append(memoryview(data)[at : at + size])
                at += size
        elif kind == _CRC:
            header.values(header.defined(count))
        else:
            raise DamagedArchive("its list of files is out of order")
    return packed


def _kinds(header: HeaderBytes) -> Iterator[int]:
    """Yield what each part of the list is, up to its end. A part is there once, but for padding."""
    seen = set()
    while (kind := header.number()) != END:
        if kind in seen and kind != _PADDING:
            raise DamagedArchive("its list of files is out of order")
        seen.add(kind)
        yield kind


def _read_blocks(header: HeaderBytes, packed: list[memoryview]) -> list[Block]:
    header.expect(_FOLDER)
    count = header.count(_MOST_BLOCKS)
    if header.byte():
        raise DamagedArchive("a part of its list of files is elsewhere")
    streams = iter(packed)
    folders = [_read_folder(header) for _ in range(count)]
    header.expect(_UNPACK_SIZES)
    blocks = []
    for coders, order, inputs in folders:
        sizes = header.numbers(len(coders))
        own = [next(streams, memoryview(b"")) for _ in range(inputs)]
        chain = [coders[each] for each in order]
        refused = "" if chain else describe_methods(coders)
        block = Block(chain, refused, unpacked=sizes[order[0] if order else 0])
        block.packed = own[0] if len(own) == 1 else memoryview(b"")
        blocks.append(block)
    kind = header.number()
    if kind == _CRC:
        for block, crc in zip(blocks, header.values(header.defined(count)), strict=True):
            block.crc = crc
        kind = header.number()
    if kind != END:
        raise DamagedArchive("its list of files is out of order")
    return blocks


def _read_folder(header: HeaderBytes) -> tuple[list[Coder], list[int], int]:
    """Return the coders of a block, the order of their chain, and how many streams it takes.

    The chain begins with the coder that gives the content. It is empty where coders take several
    streams.
    """
    count = header.number()
    if not 1 <= count <= _MOST_CODERS:
        raise DamagedArchive("a block has no coders, or too many")
    coders, inputs = [], 0
    is_simple = True
    for _ in range(count):
        flags = header.byte()
        method = bytes(header.take(flags & 0x0F))
        taken, given = (header.number(), header.number()) if flags & 0x10 else (1, 1)
        if taken > _MOST_CODERS or given != 1:
            raise DamagedArchive("a coder has too many streams")
        properties = bytes(header.take(header.number())) if flags & 0x20 else b""
        coders.append(Coder(method, properties))
        inputs += taken
        is_simple &= taken == 1
    takes_from = {header.number(): header.number() for _ in range(count - 1)}
    packed = inputs - (count - 1)
    if packed > 1:
        header.numbers(packed)
    if not is_simple or packed != 1:
        return coders, [], max(packed, 0)
    order = [next(each for each in range(count) if each not in takes_from.values())]
    while (following := takes_from.get(order[-1])) is not None:
        if following >= count or following in order:
            raise DamagedArchive("the coders of a block are no chain")
        order.append(following)
    if len(order) != count:
        raise DamagedArchive("the coders of a block are no chain")
    return coders, order, packed


def _read_substreams(header: HeaderBytes, blocks: list[Block]) -> None:
    """Read the sizes and the checksums of the files in each block."""
    counts = [1] * len(blocks)
    kind = header.number()
    if kind == _STREAM_COUNTS:
        counts = [header.count(_MOST_ENTRIES) for _ in blocks]
        if sum(counts) > _MOST_ENTRIES:
            raise DamagedArchive(f"it has more than {_MOST_ENTRIES:,} files")
        kind = header.number()
    for block, count in zip(blocks, counts, strict=True):
        sizes = header.numbers(count - 1) if kind == _SIZE and count > 1 else []
        left = block.unpacked - sum(sizes)
        if left < 0 or (count > 1 and kind != _SIZE):
            raise DamagedArchive("the files of a block are larger than the block")
        block.sizes = [*sizes, left] if count else []
        known = count == 1 and block.crc is not None
        block.crcs = [block.crc] if known else [None] * count
    if kind == _SIZE:
        kind = header.number()
    if kind == _CRC:
        unknown = [
            (block, each) for block in blocks for each, crc in enumerate(block.crcs) if crc is None
        ]
        values = header.values(header.defined(len(unknown)))
        for (block, each), crc in zip(unknown, values, strict=True):
            block.crcs[each] = crc
        kind = header.number()
    if kind != END:
        raise DamagedArchive("its list of files is out of order")


@dataclass(slots=True)
class Entry:
    """An entry of the list of files."""

    path: str = ""
    has_content: bool = True
    is_file: bool = True


def read_entries(header: HeaderBytes) -> list[Entry]:
    entries = [Entry() for _ in range(header.count(_MOST_ENTRIES))]
    without: list[Entry] = []
    for kind in _kinds(header):
        part = HeaderBytes(header.take(header.number()))
        if kind == _NAMES:
            if part.byte():
                raise DamagedArchive("a part of its list of files is elsewhere")
            for entry, name in zip(entries, _names(part, len(entries)), strict=True):
                entry.path = name
        elif kind == _EMPTY_STREAM:
            for entry, is_empty in zip(entries, part.bits(len(entries)), strict=True):
                entry.has_content = not is_empty
                entry.is_file = not is_empty
            without = [entry for entry in entries if not entry.has_content]
        elif kind == _EMPTY_FILE:
            for entry, is_file in zip(without, part.bits(len(without)), strict=True):
                entry.is_file = is_file
        elif kind == _ANTI:
            for entry, is_anti in zip(without, part.bits(len(without)), strict=True):
                entry.is_file &= not is_anti
        elif kind == _ATTRIBUTES:
            defined = part.defined(len(entries))
            if part.byte():
                raise DamagedArchive("a part of its list of files is elsewhere")
            for entry, value in zip(entries, part.values(defined), strict=True):
                entry.is_file &= value is None or _is_regular(value)
    return entries


def _names(part: HeaderBytes, count: int) -> list[str]:
    """Return the names of files, each of which ends with a zero."""
    data = bytes(part.take(len(part)))
    names = data.decode("utf-16-le", errors="replace").split("\0", count + 1)
    if len(names) != count + 1 or names[-1]:
        raise DamagedArchive("a file has no name")
    return names[:-1]


def _is_regular(attributes: int) -> bool:
    """Return whether an entry is a file by its attributes: no folder, link or device."""
    mode = stat.S_IFMT(attributes >> 16) if attributes & _IS_UNIX else 0
    return not attributes & (_IS_FOLDER | _IS_LINK) and mode in (0, stat.S_IFREG)
