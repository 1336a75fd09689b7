"""Decoders of the blocks in an archive of 7-Zip: files that are compressed together.

They are those of the standard library: LZMA, LZMA2, Deflate, BZip2 and stored, and before LZMA2 the
filters of liblzma. PPMd, BCJ2 and Deflate64 are not read.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from crx.ingest.archives import DamagedArchive, UnreadBlock

# Bytes of the window of a decoder.
_MOST_WINDOW = 256_000_000
_STEP = 1 << 16

_COPY, LZMA2, _LZMA, _DEFLATE, _BZIP2 = b"\0", b"\x21", b"\3\1\1", b"\4\1\x08", b"\4\2\2"
_AES = b"\6\xf1\7\1"
_NAMED = {
    _COPY: "Copy", LZMA2: "LZMA2", _LZMA: "LZMA", _DEFLATE: "Deflate", _BZIP2: "BZip2",
    b"\3\4\1": "PPMd", b"\3\3\1\3": "BCJ", b"\3\3\1\x1b": "BCJ2", b"\4\1\x09": "Deflate64",
}  # fmt: skip
_DELTA = b"\3"
_FILTERS: Mapping[bytes, int] = {
    b"\3\3\1\3": lzma.FILTER_X86, b"\4": lzma.FILTER_X86,
    b"\3\3\2\5": lzma.FILTER_POWERPC, b"\5": lzma.FILTER_POWERPC,
    b"\3\3\4\1": lzma.FILTER_IA64, b"\6": lzma.FILTER_IA64,
    b"\3\3\5\1": lzma.FILTER_ARM, b"\7": lzma.FILTER_ARM,
    b"\3\3\7\1": lzma.FILTER_ARMTHUMB, b"\x08": lzma.FILTER_ARMTHUMB,
    b"\3\3\x08\5": lzma.FILTER_SPARC, b"\x09": lzma.FILTER_SPARC,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Coder:
    method: bytes
    properties: bytes


@dataclass(slots=True)
class Block:
    """Files that are compressed together: the coders, outermost last, and the sizes of the files.

    `refused` says why it is not read, "" if it is.
    """

    coders: list[Coder]
    refused: str = ""
    packed: memoryview = field(default_factory=lambda: memoryview(b""))
    unpacked: int = 0
    crc: int | None = None
    sizes: list[int] = field(default_factory=list)
    crcs: list[int | None] = field(default_factory=list)


class _Decoder(Protocol):
    """A decoder as those of `lzma` and `bz2` are."""

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Inflate:
    """The decoder of Deflate."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)


class _Stored:
    """The decoder of what is not compressed."""

    def __init__(self) -> None:
        self._data = b""

    @property
    def needs_input(self) -> bool:
        return not self._data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        self._data += data
        taken, self._data = self._data[:max_length], self._data[max_length:]
        return taken


class BlockReader:
    """Decompresses a block from its beginning to its end."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._decoder: _Decoder | None = None
        self._at = 0
        self._taken = 0

    def read(self, start: int, size: int, *, crc: int | None) -> bytes:
        """Return bytes of the block that stand behind all that was read before."""
        if self._block.refused:
            raise UnreadBlock(self._block.refused)
        if self._decoder is None:
            self._decoder = make_decoder(self._block.coders)
        while self._at < start:
            self._at += len(self._next(self._decoder, min(_STEP, start - self._at)))
        content = bytearray()
        while len(content) < size:
            content += self._next(self._decoder, min(_STEP, size - len(content)))
        self._at += size
        if crc is not None and zlib.crc32(content) != crc:
            raise DamagedArchive("its checksum is another")
        return bytes(content)

    def _next(self, decoder: _Decoder, most: int) -> bytes:
        """Return the next bytes, at least one."""
        while True:
            data = b""
            if decoder.needs_input:
                data = bytes(self._block.packed[self._taken : self._taken + _STEP])
                self._taken += len(data)
            try:
                content = decoder.decompress(data, most)
            except (lzma.LZMAError, zlib.error, OSError, EOFError) as failed:
                raise DamagedArchive(str(failed)) from failed
            if content:
                return content
            if not data and self._taken >= len(self._block.packed):
                raise DamagedArchive("it ends too early")


def make_decoder(coders: list[Coder]) -> _Decoder:
    """Return the decoder of a chain of coders; raises `UnreadBlock` for another one."""
    if any(coder.method == _AES for coder in coders):
        raise UnreadBlock(describe_methods(coders))
    *filters, last = coders
    chain: list[dict[str, Any]] = []
    for coder in filters:
        if coder.method == _DELTA:
            distance = 1 + int.from_bytes(coder.properties[:1], "little")
            chain.append({"id": lzma.FILTER_DELTA, "dist": distance})
        elif coder.method in _FILTERS:
            chain.append({"id": _FILTERS[coder.method]})
        else:
            raise UnreadBlock(describe_methods(coders))
    if last.method in (_LZMA, LZMA2):
        # The last bytes behind a filter are lost where LZMA has no mark of its end.
        if last.method == _LZMA and chain:
            raise UnreadBlock(describe_methods(coders))
        chain.append(_lzma_filter(last))
        try:
            return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=chain)
        except (lzma.LZMAError, ValueError, MemoryError) as failed:
            raise UnreadBlock(f"is damaged: {failed}") from failed
    if not chain and last.method == _BZIP2:
        return bz2.BZ2Decompressor()
    if not chain and last.method == _DEFLATE:
        return _Inflate()
    if not chain and last.method == _COPY:
        return _Stored()
    raise UnreadBlock(describe_methods(coders))


def describe_methods(coders: list[Coder]) -> str:
    """Return why what these coders give is not read."""
    methods = list(dict.fromkeys(coder.method for coder in coders))
    if _AES in methods:
        return "is encrypted"
    names = " and ".join(_NAMED.get(method, method.hex()) for method in methods)
    return f"is compressed with {names}, which is not read"


def _lzma_filter(coder: Coder) -> dict[str, Any]:
    properties = coder.properties
    if coder.method == LZMA2 and len(properties) == 1 and properties[0] < 40:
        window = (2 | properties[0] & 1) << (properties[0] // 2 + 11)
        options: dict[str, Any] = {"id": lzma.FILTER_LZMA2}
    elif coder.method == _LZMA and len(properties) == 5 and properties[0] < 9 * 5 * 5:
        rest, lc = divmod(properties[0], 9)
        pb, lp = divmod(rest, 5)
        window = int.from_bytes(properties[1:], "little")
        options = {"id": lzma.FILTER_LZMA1, "lc": lc, "lp": lp, "pb": pb}
    else:
        raise UnreadBlock("is damaged: the properties of LZMA are none")
    if window > _MOST_WINDOW:
        raise UnreadBlock(f"needs a window of more than {_MOST_WINDOW // 1_000_000} MB")
    return {**options, "dict_size": max(window, 4096)}
