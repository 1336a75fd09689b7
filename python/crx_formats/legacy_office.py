"""Reader of Word and PowerPoint files of before 2007, which LibreOffice converts.

A document becomes one of Word (LibreOffice loses numbers of paragraphs in OpenDocument), slides
become OpenDocument; their readers find the text, headings and slides. Plain text with one of the
suffixes is read as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crx.ingest.formats import suffix
from crx.ingest.readers import docx, text
from crx.ingest.readers.binary import OLE
from crx.types import Document
from crx_formats import odf
from crx_formats.libreoffice.convert import convert

# What each format becomes: a text document or a presentation.
_TARGETS = {".doc": "docx", ".dot": "docx", ".ppt": "odp", ".pps": "odp", ".pot": "odp"}
extensions = (".doc", ".ppt", ".pps")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document."""
    extension = suffix(name)
    if not data.startswith(OLE):
        yield from text.read(data, name=name)
        return
    target = _TARGETS[extension]
    converted = convert(data, suffix=extension, target=target)
    for document in (docx if target == "docx" else odf).read(converted, name=name):
        metadata = {**document.metadata, "format": extension.removeprefix(".")}
        yield replace(document, metadata=metadata)
