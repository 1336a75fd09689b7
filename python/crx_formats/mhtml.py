"""Reader of web pages that browsers save as one file (MHTML): the text of the page, decoded.

The file is a MIME message. Its first page is the document; pages in frames follow it. Pictures and
styles are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crx.errors import InputError
from crx.ingest.readers import html
from crx.ingest.readers.decode import decode
from crx.ingest.readers.mime import (
    MALFORMED,
    content_of,
    decode_header,
    page_text,
    parse_message,
)
from crx.types import Document

extensions = (".mht", ".mhtml")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the page with the text of its frames."""
    try:
        message = parse_message(data)
        parts = [part for part in message.walk() if part.get_content_type() == "text/html"]
        pages = [(content_of(part), part.get_content_charset() or "") for part in parts]
        subject = decode_header(message.get("subject") or "")
    except MALFORMED as failed:
        raise InputError(f"is malformed: {type(failed).__name__}") from failed
    if not pages:
        raise InputError("has no web page in it")
    content, charset = pages[0]
    if charset:
        content = decode(content, declared=charset).text.encode("utf-8")
    frames = [text for page in pages[1:] if (text := page_text(*page))]
    for document in html.read(content, name=name):
        yield replace(
            document,
            text="\n\n".join((document.text, *frames)),
            title=document.title or subject,
            metadata={**document.metadata, "format": "mhtml"},
        )
