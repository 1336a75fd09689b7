"""Parts of an archive that are parsed while they are decompressed, and never held as a whole."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Protocol
from xml.parsers.expat import ExpatError, ParserCreate

from crx.errors import InputError


class _XmlHandler(Protocol):
    """The receiver of a part's elements and texts; names have their prefixes."""

    def start(self, name: str, attributes: dict[str, str]) -> None: ...

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


def as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of an XML text in UTF-8, whose other encoding has a byte order mark."""
    decoder = None
    for at, piece in enumerate(pieces):
        if at == 0 and piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        yield decoder.decode(piece).encode() if decoder else piece


def stream_xml(pieces: Iterable[bytes], handler: _XmlHandler, *, part: str) -> None:
    """Parse an XML text piece by piece; raise `InputError` if it is malformed or has entities."""

    def refuse_entity(*_: object) -> None:
        raise InputError(f"declares XML entities in {part}, which crx does not expand")

    parser = ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    parser.EntityDeclHandler = refuse_entity
    try:
        for piece in pieces:
            parser.Parse(piece)
        parser.Parse(b"", True)  # noqa: FBT003 - the end; the parser has no keyword for it
    except (ExpatError, LookupError) as failed:
        raise InputError(f"is damaged: part {part} is not well-formed XML") from failed
