"""Files attached to a PDF, as a portfolio's are: each is read by the reader of its extension."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import pypdfium2.raw as pdfium_c  # type: ignore[import-untyped]

from crx.errors import NotText
from crx.ingest.formats import suffix
from crx.ingest.readers import reader_for
from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.left_out import LeftOut
from crx.types import Document, Scalar

# Files of one PDF that are read, and their bytes: they may expand to any size.
_MOST_FILES = 1000
_MOST_BYTES = 64_000_000

# A file's name and its bytes.
Attached = tuple[str, bytes]


class _ReadAttached(Protocol):
    """A function that yields the documents of bytes."""

    def __call__(self, data: bytes, *, name: str) -> Iterator[Document]: ...


def attached_files(pdf: Any, left_out: LeftOut) -> list[Attached]:
    """Return the attached files that a reader claims."""
    found: list[Attached] = []
    left = _MOST_BYTES
    count = pdf.count_attachments()
    if count > _MOST_FILES:
        left_out.add("attached files", f"more than {_MOST_FILES:,}")
    for number in range(min(count, _MOST_FILES)):
        attachment = pdf.get_attachment(number)
        file = squeeze(attachment.get_name().replace("\\", "/").rpartition("/")[2]) or "file"
        if reader_for(suffix(file)) is None:
            continue
        left -= _size(attachment)
        if left < 0:
            left_out.add(file, f"more than {_MOST_BYTES // 1_000_000} MB are attached")
            break
        if content := left_out.attempt(file, partial(_content, attachment), plain=b""):
            found.append((file, content))
    return found


def _content(attachment: Any) -> bytes:
    return bytes(attachment.get_data())


def _size(attachment: Any) -> int:
    size = ctypes.c_ulong()
    pdfium_c.FPDFAttachment_GetFile(attachment, None, 0, size)
    return size.value


def read_attached(
    files: Sequence[Attached], *, name: str, part_of: str, read: _ReadAttached, left_out: LeftOut
) -> list[Document]:
    """Return the documents of attached files, whose URIs are the PDF's with `#` and their name."""
    found: list[Document] = []
    for ordinal, (file, content) in enumerate(files, start=1):
        uri = f"{name}#{ordinal}-{file}"
        own: dict[str, Scalar] = {"as_written": False, "ext": suffix(file).removeprefix(".")}
        if part_of:
            own["part_of"] = part_of
        found += [
            replace(document, metadata={**document.metadata, **own})
            for document in left_out.attempt(
                file, partial(_read_text, read, content, uri), plain=[]
            )
        ]
    return found


def _read_text(read: _ReadAttached, content: bytes, uri: str) -> list[Document]:
    """Return the documents of a file, none if it is no text."""
    try:
        return [*read(content, name=uri)]
    except NotText:
        return []
