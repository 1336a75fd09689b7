"""The files of an archive of 7-Zip, with their content one after the other.

The format is that of 7zFormat.txt in the LZMA SDK (Igor Pavlov, public domain).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crx.ingest.sevenzip.decode import Block, BlockReader, DamagedArchive
from crx.ingest.sevenzip.header import (
    END,
    FILES,
    MAIN_STREAMS,
    PROPERTIES,
    Entry,
    read_entries,
    read_header,
    read_streams,
)

SIGNATURE = b"7z\xbc\xaf\x27\x1c"


@dataclass(frozen=True, slots=True)
class SevenZipFile:
    """A file of an archive.

    `end` is how much of its block is decompressed with it, and `packed` is the size of the block.
    `read` decompresses what was not read before and returns the content; it raises `UnreadBlock`
    for a method that is not read and `DamagedArchive`. Files are read in the order of the archive.
    """

    path: str
    size: int
    end: int
    packed: int
    read: Callable[[], bytes]


def list_files(data: bytes) -> Iterator[SevenZipFile]:
    """Yield the files of an archive without folders and links.

    Raises `DamagedArchive`, and `UnreadBlock` if the list itself cannot be read.
    """
    header = read_header(data)
    blocks: list[Block] = []
    entries: list[Entry] = []
    kind = header.number()
    if kind == PROPERTIES:
        while header.number() != END:
            header.take(header.number())
        kind = header.number()
    if kind == MAIN_STREAMS:
        blocks = read_streams(header, data)
        kind = header.number()
    if kind == FILES:
        entries = read_entries(header)
    contents = _contents(blocks)
    for entry in entries:
        content = None
        if entry.has_content:
            content = next(contents, None)
            if content is None:
                raise DamagedArchive("a file has no content")
        if entry.is_file:
            yield content(entry.path) if content else _empty(entry.path)


def _empty(path: str) -> SevenZipFile:
    return SevenZipFile(path, size=0, end=0, packed=0, read=bytes)


def _contents(blocks: list[Block]) -> Iterator[Callable[[str], SevenZipFile]]:
    """Yield for each content, in order, what gives the file of a path with it."""
    for block in blocks:
        reader = BlockReader(block)
        start = 0
        for size, crc in zip(block.sizes, block.crcs, strict=True):

            def file(
                path: str, start: int = start, size: int = size, crc: int | None = crc,
                reader: BlockReader = reader, packed: int = len(block.packed),
            ) -> SevenZipFile:  # fmt: skip
                def read() -> bytes:
                    return reader.read(start, size, crc=crc)

                return SevenZipFile(path, size=size, end=start + size, packed=packed, read=read)

            yield file
            start += size
