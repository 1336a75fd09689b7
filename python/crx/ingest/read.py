"""Read: paths to documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from crx.errors import InputError
from crx.ingest.discover import Found, uri_of, walk
from crx.ingest.readers import Reader, built_in, reader_for
from crx.ingest.readers.decode import decode
from crx.ingest.readers.structure import structure, suffix
from crx.types import Document

__all__ = [
    "Found",
    "is_fault",
    "read_bytes",
    "read_file",
    "refuse_large",
    "structure",
    "uri_of",
    "walk",
]

# Formats that people keep texts in and crx has no reader for: worth a word, where other binary
# files are passed over.
_UNREAD = frozenset(
    (
        ".doc",
        ".docx",
        ".ppt",
        ".pptx",
        ".xls",
        ".xlsx",
        ".odt",
        ".ods",
        ".odp",
        ".epub",
        ".rtf",
        ".pages",
    )
)


def read_file(path: Path, *, uri: str | None = None) -> Iterator[Document]:
    """Yield the documents of a file: one, or those of JSON lines.

    Their URI is `uri`, by default the absolute path with forward slashes, followed by `#<id>` for
    JSON lines. Raises `InputError` (`NotText` for a binary file) with the reason; for JSON lines
    after the good lines' documents.
    """
    try:
        data = path.read_bytes()
    except OSError as failed:
        listed = "is a folder that cannot be listed" if path.is_dir() else ""
        raise InputError(
            listed or f"cannot be read: {(failed.strerror or str(failed)).lower()}"
        ) from failed
    name = uri_of(path)
    for document in read_bytes(data, name=name):
        if uri is None:
            yield document
        else:
            yield replace(document, uri=uri + document.uri.removeprefix(name))


def read_bytes(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the documents that bytes hold; the format is told by the name's extension, or by them.

    Each document's metadata says its `format` and, where the name has one, its `ext`.
    """
    extension = suffix(name)
    for document in _reader(data, extension).read(data, name=name):
        said = {"ext": extension.removeprefix(".")} if extension else {}
        yield replace(document, metadata={**said, **document.metadata})


def refuse_large(found: Found, max_file_mb: int) -> None:
    """Raise `InputError` for a file of more megabytes than are read."""
    if found.size > max_file_mb * 1_000_000:
        raise InputError(
            f"{found.size / 1e6:.0f} MB, more than max_file_mb = {max_file_mb}; "
            f"--set max_file_mb={-(-found.size // 1_000_000)} reads it"
        )


def is_fault(found: Found, data: bytes) -> bool:
    """Is it worth a word that a file holds no text? Where it was named, or its name promises one.

    Other binary files, and empty ones, are passed over.
    """
    promised = reader_for(suffix(found.uri)) is not None
    return found.path == found.root or bool(data.strip() and promised)


def _reader(data: bytes, extension: str) -> Reader:
    if reader := reader_for(extension):
        return reader
    opening = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if opening.startswith(b"%pdf-"):
        return built_in("pdf")
    if opening.startswith((b"<!doctype html", b"<html")):
        return built_in("html")
    if extension in _UNREAD:
        raise InputError(f"has no reader for {extension}; save it as PDF, HTML or text")
    return _Unnamed()


class _Unnamed:
    """Reads what no reader claims: a text, or nothing."""

    extensions = ()

    def read(self, data: bytes, *, name: str) -> Iterator[Document]:
        decoded = decode(data)
        # An extension that nobody knows names a format of its own: its structure is not guessed.
        format_, marks = ("text", ()) if suffix(name) else structure(decoded.text)
        yield Document(
            uri=name,
            text=decoded.text,
            metadata={**decoded.metadata(), "format": format_},
            marks=marks,
        )
