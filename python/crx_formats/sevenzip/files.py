"""The files of an archive of 7-Zip, with their content one after the other.

The format is that of 7zFormat.txt in the LZMA SDK (Igor Pavlov, public domain).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from crx.ingest.archives import DamagedArchive, PackedFile
from crx_formats.sevenzip.decode import Block, BlockReader
from crx_formats.sevenzip.header import (
    END,
    FILES,
    MAIN_STREAMS,
    PROPERTIES,
    Entry,
    read_entries,
    read_header,
    read_streams,
)


def list_files(data: bytes) -> Iterator[PackedFile]:
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


def _empty(path: str) -> PackedFile:
    return PackedFile(path, size=0, end=0, packed=0, read=bytes)


def _contents(blocks: list[Block]) -> Iterator[Callable[[str], PackedFile]]:
    """Yield for each content, in order, what gives the file of a path with it."""
    for block in blocks:
        reader = BlockReader(block)
        start = 0
        for size, crc in zip(block.sizes, block.crcs, strict=True):

            def file(
                path: str, start: int = start, size: int = size, crc: int | None = crc,
                reader: BlockReader = reader, packed: int = len(block.packed),
            ) -> PackedFile:  # fmt: skip
                def read() -> bytes:
                    return reader.read(start, size, crc=crc)

                return PackedFile(path, size=size, end=start + size, packed=packed, read=read)

            yield file
            start += size
